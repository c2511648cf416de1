"""Lays out the verdict on one mode and one line for each check behind it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from proofs.report.results import NOT_FOUND
from proofs.report.verdict import by, sentence, verdict
from spec.cli.layout import Styled
from spec.contract.modes import Bundle
from spec.events.alphabet import Kind
from spec.language.prose import counted, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from proofs.checks.results import Lacking, Leaned, Paper
    from proofs.report.results import Check, Consistent
    from proofs.traces.narrative import Line
    from spec.cli.layout import Page

__all__ = ["NO_CERTIFICATE", "STYLES", "put_run", "put_summary", "rows"]

NO_CERTIFICATE = "not written: some part of it is not shown (-v)"
STYLES = {"holds": "bold green", "refuted": "bold red", "undecided": "bold yellow"}


def put_summary(out: Page, check: Check, *, certified: bool = False) -> None:
    """One mode in at most sixteen lines, and the counterexample if there is one.

    Args:
        certified: whether a certificate was requested.
    """
    said = verdict(check)
    out.put(Styled(said, STYLES[said]).append(sentence(check).removeprefix(said)))
    put_run(out, check.sound.story)
    named = ((Styled(name, "bold"), text) for name, text in rows(check, certified=certified))
    out.grid(named, indent=2, gap=2)


def put_run(out: Page, story: Sequence[Line]) -> None:
    """Each event, the claim's state if it changed, the changes, and the clauses that fail."""
    laid, stood = [], list[str]()
    digits = len(str(max((line.number for line in story), default=0)))
    for line in story:
        what, stands = Styled(line.about), [str(claim) for claim in line.claims]
        for claim in stands:
            if claim not in stood:
                what.append(f"\n= {claim}", "dim")
        for change in line.changes:
            what.append(f"\n-> {change}", "dim")
        for ending in line.fails:
            what.append(f"\nbreaks {ending.clause}: {ending.why}", "red")
        deed = Styled("fact" if line.fact else "report", "dim")
        laid.append((f"{line.number:>{digits}}", deed, Styled(line.kind, "bold"), what))
        stood = stands
    out.grid(laid, indent=4)


def rows(check: Check, *, certified: bool = False) -> Iterator[tuple[str, str]]:
    """What was asked of a mode, each with the result in a sentence.

    Args:
        certified: whether a certificate was requested.
    """
    yield "statement", _statement(check.statement)
    yield "theorem", _theorem(check)
    if check.lemmas:
        yield "lemmas", _lemmas(check.lemmas)
    if check.receptive is not None:
        yield "receptive", _receptive(check.receptive.result, check.receptive.failed)
    yield "witness", _witness(check.consistent, len(check.obligations))
    if check.consistent.scenarios is not None:
        lengths = [str(x.depth) for x in check.consistent.scenarios if x.result == "found"]
        of = f"{len(lengths)} of {len(check.consistent.scenarios)} found"
        yield "scenarios", f"{of}, in {' and '.join(lengths)} events" if lengths else of
    if check.consistent.reached is not None:
        yield "coverage", _coverage(check.consistent)
    of = "" if check.bundle == Bundle.CONTRACT else " of the contract"
    yield "obligations", _needed(check.necessary, list(check.redundancy.known), of)
    if check.guards is not None:
        yield "guards", _counts(check.guards)
    if check.paper is not None:
        yield "paper", _paper(check, check.paper)
    if certified:
        yield "certificate", printable(check.certificate or NO_CERTIFICATE)
    yield "assumed", _assumed(check)
    if check.guards is None:
        asked = "receptiveness, " if check.receptive is None else ""
        yield "not checked", f"{asked}scenarios, coverage, guards, cores, paper (--full)"


def _theorem(check: Check) -> str:
    sound, clauses = check.sound, list(check.sound.clauses)
    match sound.result:
        case "proved":
            said = f"{', '.join(clauses)}: proved by {by(sound)}"
            stated = all(each.result == "proved" for each in check.statement)
            return said if stated else f"{said}, of a system that is not shown to be the stated one"
        case "refuted":
            rest = [name for name in clauses if name not in sound.failed]
            said = f"refuted by {by(sound)}: a run breaks {', '.join(sound.failed) or 'a clause'}"
            return f"{said}; it keeps {', '.join(rest)}" if sound.failed and rest else said
    return f"{', '.join(clauses)}: not proved, by {by(sound)}"


def _statement(checks: Sequence[Leaned]) -> str:
    failing = [f"{each.name} {each.result}" for each in checks if each.result != "proved"]
    if failing:
        return f"not shown: {', '.join(failing)} (-v)"
    held = counted(len(checks), "check")
    return f"{held} hold: the system follows its terms and its records"


def _lemmas(lemmas: Sequence[Leaned]) -> str:
    proved = sum(lemma.result == "proved" for lemma in lemmas)
    rest = ", ".join(f"{x.name} {x.result}" for x in lemmas if x.result != "proved")
    said = f"{proved} of {len(lemmas)} proved; the theorem depends on them"
    return f"{said}; {rest}" if rest else said


def _receptive(result: str, failed: Sequence[str]) -> str:
    if result == "proved":
        return "proved: a runtime can always keep every obligation"
    return f"{result}: {', '.join(failed)}"


def _witness(found: Consistent, obligations: int) -> str:
    if found.result == "witnessed":
        length = counted(len(found.story), "event")
        return f"{length} exercise and satisfy all {obligations} obligations; none shorter"
    depth = counted(found.depth, "event")
    if found.result == NOT_FOUND:
        return f"none of up to {depth}; a longer one may exist (--depth)"
    return f"{found.result}: none of up to {depth}"


def _coverage(found: Consistent) -> str:
    reached = found.reached
    if reached is None:
        return ""
    every = len(reached.fewest) + len(reached.dead) + len(reached.missing)
    compared = len(reached.compared)
    return (
        f"{len(reached.fewest)} of {every} states and rules reached, {len(reached.dead)} proved "
        f"unreachable; {compared} of {compared + len(reached.uncompared)} comparisons made"
    )


def _needed(found: Mapping[str, Lacking], known: Sequence[str], of: str) -> str:
    lengths = [each.length for each in found.values() if each.length is not None]
    said = _counts(found, of)
    if lengths:
        said += f": without one, {counted(max(lengths), 'event')} or fewer break a clause"
    return f"{said}; known to be redundant: {', '.join(known)}" if known else said


def _counts(found: Mapping[str, Lacking], of: str = "") -> str:
    results = Counter(each.result for each in found.values())
    rest = "".join(
        f", {number} {result}" for result, number in results.items() if result != "necessary"
    )
    return f"{results['necessary']} of {len(found)}{of} necessary{rest}"


def _paper(check: Check, paper: Paper) -> str:
    left = [
        f"{n} {clause.result}" for n, clause in paper.clauses.items() if clause.result != "proved"
    ]
    if not left:
        same = "it is the contract" if paper.is_contract else "every clause is proved"
        return f"proved as printed: {same}"
    return f"{', '.join(left)}; added: {', '.join(added.obligation for added in check.added)}"


def _assumed(check: Check) -> str:
    kinds = f"{len(check.environment)} of {len(Kind)} kinds of events"
    if left := sorted({*Kind} - {*check.environment}):
        kinds += f", not {', '.join(left)}"
    return f"faithful hooks; {kinds}; {counted(len(check.interpretations), 'interpretation')} (-v)"
