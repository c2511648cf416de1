"""Prints all results of a check: what was shown, within which bounds, by which engine."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.text import Text

from proofs.report.layout import grid, indented, print_run
from proofs.report.results import NOT_FOUND
from proofs.report.verdict import how, sentence
from spec.contract.modes import Bundle
from spec.language.prose import counted, printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from proofs.checks.coverage import Reached
    from proofs.checks.receptiveness import Receptive
    from proofs.checks.redundancy import Redundancy
    from proofs.checks.results import Lacking, Leaned, Paper, PaperClause, Sound
    from proofs.report.results import Check, Consistent
    from proofs.traces.scenario_search import FoundScenario

__all__ = ["print_check"]

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


def print_check(
    console: Console, check: Check, *, story: bool = False, certified: bool = False
) -> None:
    """Print all results for one mode.

    Args:
        certified: whether a certificate was requested.
        story: print every run that breaks a clause of the paper's bundle, or that an obligation
            prevents.
    """
    console.print(Text(sentence(check), style="bold"))
    _print_each(
        console, "Statement", check.statement, "the system is the statement of docs/theorem.md:"
    )
    _print_sound(console, check.sound)
    if check.certificate is not None:
        indented(console, Text(f"Certificate: {printable(check.certificate)}"))
    elif certified:
        why = "theorem, lemmas, frame, witness or receptiveness is not shown"
        indented(console, Text(f"Certificate: not written, because {why}.", style="red"))
    _print_each(console, "Lemmas", check.lemmas, "the theorem depends on them (docs/theorem.md):")
    _print_consistent(console, check.consistent, len(check.obligations))
    if check.bundle == Bundle.CONTRACT:
        _print_scenarios(console, check.consistent.scenarios or [], story=story)
        if check.consistent.reached is not None:
            _print_reached(console, check.consistent.reached)
        if check.receptive is not None:
            _print_receptive(console, check.receptive)
    if check.paper is not None:
        _print_paper(console, check, check.paper, story=story)
    _print_lacking(console, "Necessary", "obligations", check.necessary, story=story)
    _print_redundancy(console, check.redundancy)
    if check.guards is not None:
        if story:
            _print_lacking(console, "Guards", "guards", check.guards, story=story)
        else:
            _print_guards(console, check.guards)
    if check.core:
        _print_cores(console, check)
    indented(console, Text("Assumed: the instrumentation is faithful (docs/theorem.md)."))
    indented(
        console,
        Text(f"Interpretations: {', '.join(check.interpretations)} (docs/interpretations.md)."),
    )
    console.print()


def _print_consistent(console: Console, found: Consistent, obligations: int) -> None:
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
    _headline(console, "Consistent", found.result, text)
    print_run(console, found.story)


def _print_scenarios(console: Console, scenarios: Sequence[FoundScenario], *, story: bool) -> None:
    for scenario in scenarios:
        text = "; ".join(scenario.episodes.values())
        far = f"in up to {scenario.depth} events"
        if scenario.result == "found":
            far = f"{scenario.depth} events are the fewest"
        _headline(console, "Scenario", scenario.result, f"{far}: {text}.")
        if story:
            print_run(console, scenario.lines)


def _print_reached(console: Console, found: Reached) -> None:
    """Print how many states and rules some run reaches, and why the others are unreachable."""
    every = len(found.fewest) + len(found.dead) + len(found.missing)
    text = f"each in at most {max(found.fewest.values(), default=0)} events"
    if found.dead:
        text += f"; {len(found.dead)} proved unreachable for runs of every length:"
    result = f"{len(found.fewest)} of {every} states and rules"
    _headline(console, "Reached", result, text if found.dead else f"{text}.")
    reasons = dict.fromkeys(found.dead.values())
    for why in reasons:
        names = ", ".join(name for name, reason in found.dead.items() if reason == why)
        indented(console, Text(f"{why or 'no known reason'}: {names}"), 4)
    if found.missing:
        indented(
            console, Text(f"neither reached nor proved unreachable: {', '.join(found.missing)}"), 4
        )
    every = len(found.compared) + len(found.uncompared)
    text = f"each in at most {max(found.compared.values(), default=0)} events"
    if found.uncompared:
        text += f"; never within {found.depth} events: {', '.join(found.uncompared)}"
    result = f"{len(found.compared)} of {every} ways in which a clause could fail"
    _headline(console, "Compared", result, f"{text}.")


def _print_each(console: Console, name: str, found: Sequence[Leaned], says: str) -> None:
    """What is proved besides the theorem, with the worst result in front."""
    if not found:
        return
    results = {each.result for each in found}
    result = next((r for r in ("failed", "unknown") if r in results), "proved")
    _headline(console, name, result, says)
    rows = grid(3)
    for each in found:
        says = f"{each.says} ({'; '.join(each.parts)})" if each.parts else each.says
        style = _STYLE.get(each.result, "yellow")
        sign = "holds" if each.result == "proved" else each.result
        rows.add_row(Text(sign, style=style), Text(each.name, style="bold"), Text(says))
    indented(console, rows, 4)


def _print_receptive(console: Console, found: Receptive) -> None:
    if found.result == "proved":
        text = (
            "for runs of every length: no event outside the runtime's control breaks an "
            "obligation, and the runtime can always report what it owes."
        )
    else:
        text = ", ".join(found.failed)
    _headline(console, "Receptiveness", found.result, text)


def _print_sound(console: Console, sound: Sound) -> None:
    _headline(console, "Sound", sound.result, how(sound))
    rows = grid(3)
    for name, says in sound.clauses.items():
        failed = name in sound.failed
        sign = _SIGNS.get(sound.result, "?") if not failed else "violated"
        style = "red" if failed else "green" if sound.result == "proved" else ""
        rows.add_row(Text(sign, style=style), Text(name, style="bold"), Text(says))
    indented(console, rows, 4)
    if sound.story:
        indented(
            console, Text("A shortest run that keeps every obligation and breaks the theorem:")
        )
        print_run(console, sound.story)


def _print_paper(console: Console, check: Check, paper: Paper, *, story: bool) -> None:
    results = {clause.result for clause in paper.clauses.values()}
    result = next(r for r in ("refuted", "unknown", "proved") if r in results)
    if paper.is_contract and result == "proved":
        _headline(console, _PAPER, result, "as printed, it equals the contract.")
        return
    _headline(console, _PAPER, result, "as printed, each clause separately, for comparison:")
    _print_results(console, {name: (c.result, _length(c), "") for name, c in paper.clauses.items()})
    for added in check.added:
        indented(console, Text(f"Added: {added.obligation}, because {added.why}."))
    for name, clause in paper.clauses.items():
        if story and clause.story:
            indented(
                console, Text(f"A shortest run that keeps the paper's bundle and breaks {name}:")
            )
            print_run(console, clause.story)


def _print_lacking(
    console: Console, title: str, what: str, found: Mapping[str, Lacking], *, story: bool
) -> None:
    needed = sum(each.result == "necessary" for each in found.values())
    _headline(
        console,
        title,
        f"{needed} of {len(found)} {what} of the contract",
        "without which a run keeps all the others and breaks a clause:",
    )
    rows = {n: (each.result, _length(each), _failed(each)) for n, each in found.items()}
    _print_results(console, rows)
    for name, each in found.items():
        if story and each.story:
            indented(console, Text(f"Without {name}, {_length(each)} can break {_failed(each)}:"))
            print_run(console, each.story)


def _print_redundancy(console: Console, found: Redundancy) -> None:
    for name, why in found.known.items():
        indented(console, Text(f"Known to be redundant: {name}, because {why}."))
    for name in found.unasked:
        text = (
            f"Redundant, and not listed as such: {name} (its place in spec/contract/obligations)."
        )
        indented(console, Text(text, style="red"))
    for name in found.needed:
        text = (
            f"Necessary, and listed as redundant: {name} (its place in spec/contract/obligations)."
        )
        indented(console, Text(text, style="red"))


def _print_guards(console: Console, found: Mapping[str, Lacking]) -> None:
    """Print how many rules are necessary, and the names of those that are not."""
    counts = Counter(each.result for each in found.values())
    text = f"{counts['necessary']} of {len(found)} guards of the contract"
    rest = [name for name, each in found.items() if each.result == "redundant"]
    others = (
        f"; every clause is proved without any single one of: {', '.join(rest)}" if rest else ""
    )
    _headline(console, "Guards", text, f"without which a run breaks a clause{others}.")
    unknown = [name for name, each in found.items() if each.result == "unknown"]
    if unknown:
        indented(console, Text(f"unknown: {', '.join(unknown)}"), 4)


def _print_cores(console: Console, check: Check) -> None:
    """Print a numbered column for each clause; nothing if cores were not computed."""
    core, in_every = check.core or {}, check.in_every_core or {}
    numbers = {clause: str(number) for number, clause in enumerate(core, start=1)}
    legend = "each clause is proved from only the obligations marked in its column. X: in every "
    legend += "sufficient set; x: another set suffices without it."
    indented(console, Text(f"Cores: {legend}"))
    rows = grid(len(numbers) + 1, whole=len(numbers) + 1)
    rows.add_row("", *numbers.values())
    for name in check.necessary:
        rows.add_row(name, *(_mark(name, core[clause], in_every[clause]) for clause in core))
    indented(console, rows, 4)
    indented(console, Text(", ".join(f"{n} {clause}" for clause, n in numbers.items())), 4)


def _mark(name: str, core: Sequence[str], in_every: Sequence[str]) -> str:
    if name not in core:
        return "."
    return "X" if name in in_every else "x"


def _length(found: PaperClause | Lacking) -> str:
    if found.length is None:
        return found.reason
    return f"{found.length} event{'' if found.length == 1 else 's'}"


def _failed(found: Lacking) -> str:
    return ", ".join(found.failed)


def _print_results(console: Console, found: Mapping[str, tuple[str, str, str]]) -> None:
    """Print result, name, length and clause in one line each, or two if they do not fit."""
    columns = list(zip(*((name, *row) for name, row in found.items()), strict=True))
    wide = sum(max(map(len, column)) + 1 for column in columns) > console.width - _INDENT
    rows = grid(2, whole=2) if wide else grid(4, whole=3)
    for name, (result, length, clause) in found.items():
        first = Text(result, style=_STYLE.get(result, "yellow"))
        if wide:
            rows.add_row(first, Text(name))
            if length or clause:
                rows.add_row("", Text(f"  {length} {clause}".rstrip()))
        else:
            rows.add_row(first, Text(name), Text(length), Text(clause))
    indented(console, rows, _INDENT)


def _headline(console: Console, title: str, result: str, text: str) -> None:
    row = Text(f"{title}: ")
    row.append(result, style=_STYLE.get(result, "yellow"))
    row.append(f", {text}")
    indented(console, row)
