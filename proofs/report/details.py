"""Lays out all results of a check: what was shown, within which bounds, by which engine."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from proofs.report.results import NOT_FOUND
from proofs.report.summary import put_run
from proofs.report.verdict import how, sentence
from spec.cli.layout import Styled
from spec.contract.modes import Bundle
from spec.language.prose import counted, printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from proofs.checks.coverage import Reached
    from proofs.checks.redundancy import Redundancy
    from proofs.checks.results import Lacking, Leaned, Paper, PaperClause, Sound
    from proofs.receptiveness.check import Receptive
    from proofs.report.results import Check, Consistent
    from proofs.traces.scenario_search import FoundScenario
    from spec.cli.layout import Page

__all__ = ["put_check"]

_STYLE = {
    "proved": "green",
    "witnessed": "green",
    "found": "green",
    "necessary": "green",
    "refuted": "red",
    NOT_FOUND: "red",
    "failed": "red",
}
_PAPER = "Paper's bundle"
_INDENT = 4
_SIGNS = {"proved": "holds", "refuted": "not broken", "bounded": "so far"}


def put_check(out: Page, check: Check, *, story: bool = False, certified: bool = False) -> None:
    """Print all results for one mode.

    Args:
        certified: whether a certificate was requested.
        story: print every run that breaks a clause of the paper's bundle, or that an obligation
            prevents.
    """
    out.put(sentence(check), "bold")
    stated = "whether the system is the one of docs/theorem.md:"
    _put_each(out, "Statement", check.statement, stated)
    _put_sound(out, check.sound)
    if check.certificate is not None:
        out.put(f"Certificate: {printable(check.certificate)}", indent=2)
    elif certified:
        why = "theorem, lemmas, frame, witness or receptiveness is not shown"
        out.put(f"Certificate: not written, because {why}.", "red", indent=2)
    _put_each(out, "Lemmas", check.lemmas, "the theorem depends on them (docs/theorem.md):")
    _put_consistent(out, check.consistent, len(check.obligations))
    if check.bundle == Bundle.CONTRACT:
        _put_scenarios(out, check.consistent.scenarios or [], story=story)
        if check.consistent.reached is not None:
            _put_reached(out, check.consistent.reached)
        if check.receptive is not None:
            _put_receptive(out, check.receptive)
    if check.paper is not None:
        _put_paper(out, check, check.paper, story=story)
    _put_lacking(out, "Necessary", "obligations", check.necessary, story=story)
    _put_redundancy(out, check.redundancy)
    if check.guards is not None:
        if story:
            _put_lacking(out, "Guards", "guards", check.guards, story=story)
        else:
            _put_guards(out, check.guards)
    if check.core:
        _put_cores(out, check)
    out.put("Assumed: the instrumentation is faithful (docs/theorem.md).", indent=2)
    names = ", ".join(check.interpretations)
    out.put(f"Interpretations: {names} (docs/interpretations.md).", indent=2)
    out.put()


def _put_consistent(out: Page, found: Consistent, obligations: int) -> None:
    if found.result == "witnessed":
        text = (
            f"{len(found.story)} events are the fewest in which all {obligations} obligations "
            "are exercised and satisfied:"
        )
    elif found.result == NOT_FOUND:
        length = counted(found.depth, "event")
        text = f"no run of up to {length} exercises and satisfies every obligation."
    else:
        text = f"the work limit was reached after {found.depth} events."
    _headline(out, "Consistent", found.result, text)
    put_run(out, found.story)


def _put_scenarios(out: Page, scenarios: Sequence[FoundScenario], *, story: bool) -> None:
    for scenario in scenarios:
        text = "; ".join(scenario.episodes.values())
        far = f"in up to {scenario.depth} events"
        if scenario.result == "found":
            far = f"{scenario.depth} events are the fewest"
        _headline(out, "Scenario", scenario.result, f"{far}: {text}.")
        if story:
            put_run(out, scenario.lines)


def _put_reached(out: Page, found: Reached) -> None:
    """Print how many states and rules some run reaches, and why the others are unreachable."""
    every = len(found.fewest) + len(found.dead) + len(found.missing)
    text = f"each in at most {max(found.fewest.values(), default=0)} events"
    if found.dead:
        text += f"; {len(found.dead)} proved unreachable for runs of every length:"
    result = f"{len(found.fewest)} of {every} states and rules"
    _headline(out, "Reached", result, text if found.dead else f"{text}.")
    reasons = dict.fromkeys(found.dead.values())
    for why in reasons:
        names = ", ".join(name for name, reason in found.dead.items() if reason == why)
        out.put(f"{why or 'no known reason'}: {names}", indent=4)
    if found.missing:
        out.put(f"neither reached nor proved unreachable: {', '.join(found.missing)}", indent=4)
    every = len(found.compared) + len(found.uncompared)
    text = f"each in at most {max(found.compared.values(), default=0)} events"
    if found.uncompared:
        text += f"; never within {found.depth} events: {', '.join(found.uncompared)}"
    result = f"{len(found.compared)} of {every} ways in which a clause could fail"
    _headline(out, "Compared", result, f"{text}.")


def _put_each(out: Page, name: str, found: Sequence[Leaned], says: str) -> None:
    """What is proved besides the theorem, with the worst result in front."""
    if not found:
        return
    results = {each.result for each in found}
    result = next((r for r in ("failed", "unknown") if r in results), "proved")
    _headline(out, name, result, says)
    rows = []
    for each in found:
        says = f"{each.says} ({'; '.join(each.parts)})" if each.parts else each.says
        sign = "holds" if each.result == "proved" else each.result
        rows.append((_signed(sign, each.result), Styled(each.name, "bold"), says))
    out.grid(rows, indent=_INDENT)


def _put_receptive(out: Page, found: Receptive) -> None:
    if found.result == "proved":
        text = (
            "for runs of every length: no event outside the runtime's control breaks an "
            "obligation, and the runtime can always report what it owes."
        )
    else:
        text = ", ".join(found.failed)
    _headline(out, "Receptiveness", found.result, text)


def _put_sound(out: Page, sound: Sound) -> None:
    _headline(out, "Sound", sound.result, how(sound))
    rows = []
    for name, says in sound.clauses.items():
        failed = name in sound.failed
        sign = _SIGNS.get(sound.result, "?") if not failed else "violated"
        style = "red" if failed else "green" if sound.result == "proved" else ""
        rows.append((Styled(sign, style), Styled(name, "bold"), says))
    out.grid(rows, indent=_INDENT)
    if sound.story:
        out.put("A shortest run that keeps every obligation and breaks the theorem:", indent=2)
        put_run(out, sound.story)


def _put_paper(out: Page, check: Check, paper: Paper, *, story: bool) -> None:
    results = {clause.result for clause in paper.clauses.values()}
    result = next(r for r in ("refuted", "unknown", "proved") if r in results)
    if paper.is_contract and result == "proved":
        _headline(out, _PAPER, result, "as printed, it equals the contract.")
        return
    _headline(out, _PAPER, result, "as printed, each clause separately, for comparison:")
    _put_results(out, {name: (c.result, _length(c), "") for name, c in paper.clauses.items()})
    for added in check.added:
        out.put(f"Added: {added.obligation}, because {added.why}.", indent=2)
    for name, clause in paper.clauses.items():
        if story and clause.story:
            out.put(f"A shortest run that keeps the paper's bundle and breaks {name}:", indent=2)
            put_run(out, clause.story)


def _put_lacking(
    out: Page, title: str, what: str, found: Mapping[str, Lacking], *, story: bool
) -> None:
    needed = sum(each.result == "necessary" for each in found.values())
    _headline(
        out,
        title,
        f"{needed} of {len(found)} {what} of the contract",
        "without which a run keeps all the others and breaks a clause:",
    )
    rows = {n: (each.result, _length(each), _failed(each)) for n, each in found.items()}
    _put_results(out, rows)
    for name, each in found.items():
        if story and each.story:
            out.put(f"Without {name}, {_length(each)} can break {_failed(each)}:", indent=2)
            put_run(out, each.story)


def _put_redundancy(out: Page, found: Redundancy) -> None:
    for name, why in found.known.items():
        out.put(f"Known to be redundant: {name}, because {why}.", indent=2)
    otherwise = [("Redundant, and not listed as such", name) for name in found.unasked]
    otherwise += [("Necessary, and listed as redundant", name) for name in found.needed]
    for says, name in otherwise:
        out.put(f"{says}: {name} (its place in spec/contract/obligations).", "red", indent=2)


def _put_guards(out: Page, found: Mapping[str, Lacking]) -> None:
    """Print how many rules are necessary, and the names of those that are not."""
    counts = Counter(each.result for each in found.values())
    text = f"{counts['necessary']} of {len(found)} guards of the contract"
    rest = [name for name, each in found.items() if each.result == "redundant"]
    others = (
        f"; every clause is proved without any single one of: {', '.join(rest)}" if rest else ""
    )
    _headline(out, "Guards", text, f"without which a run breaks a clause{others}.")
    unknown = [name for name, each in found.items() if each.result == "unknown"]
    if unknown:
        out.put(f"unknown: {', '.join(unknown)}", indent=4)


def _put_cores(out: Page, check: Check) -> None:
    """A numbered column for each clause; nothing if cores were not computed."""
    core, in_every = check.core or {}, check.in_every_core or {}
    numbers = {clause: str(number) for number, clause in enumerate(core, start=1)}
    legend = "each clause is proved from only the obligations marked in its column. X: in every "
    legend += "sufficient set; x: another set suffices without it."
    out.put(f"Cores: {legend}", indent=2)
    rows = [
        (name, *(_mark(name, core[clause], in_every[clause]) for clause in core))
        for name in check.necessary
    ]
    out.grid([("", *numbers.values()), *rows], indent=4)
    out.put(", ".join(f"{n} {clause}" for clause, n in numbers.items()), indent=4)


def _mark(name: str, core: Sequence[str], in_every: Sequence[str]) -> str:
    if name not in core:
        return "."
    return "X" if name in in_every else "x"


def _length(found: PaperClause | Lacking) -> str:
    return found.reason if found.length is None else counted(found.length, "event")


def _failed(found: Lacking) -> str:
    return ", ".join(found.failed)


def _put_results(out: Page, found: Mapping[str, tuple[str, str, str]]) -> None:
    """Result, name, length and clause in one line each, or two if they do not fit."""
    columns = list(zip(*((name, *row) for name, row in found.items()), strict=True))
    wide = sum(max(map(len, column)) + 1 for column in columns) > out.width - _INDENT
    rows = list[tuple[str | Styled, ...]]()
    for name, (result, length, clause) in found.items():
        if wide:
            rows.append((_signed(result), f"{name}\n  {length} {clause}".rstrip()))
        else:
            rows.append((_signed(result), name, length, clause))
    out.grid(rows, indent=_INDENT)


def _headline(out: Page, title: str, result: str, text: str) -> None:
    out.put(Styled(f"{title}: ").append(_signed(result)).append(f", {text}"), indent=2)


def _signed(sign: str, result: str = "") -> Styled:
    """A word in the colour of a result; of the result that it is itself if none is given."""
    return Styled(sign, _STYLE.get(result or sign, "yellow"))
