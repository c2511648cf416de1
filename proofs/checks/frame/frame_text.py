"""Prints a check of the frame theorem as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from proofs.checks.frame.results import exit_code
from proofs.checks.frame.statements import TABLES
from spec.claims.states import Mode
from spec.language.prose import counted

if TYPE_CHECKING:
    from rich.console import Console

    from proofs.checks.frame.results import Answer, Counterexample, Failure, FrameCheck

__all__ = ["print_frame"]

_STYLES: Final = {"proved": "green", "refuted": "red", "unknown": "magenta"}
_PARTS: Final = {
    "frame": "an event that is not delivered to a claim changes nothing of it",
    "translation": "the functions and tables that run equal the terms of the specification",
}
_FEW: Final = 3
_INDENT: Final = 10


def print_frame(out: Console, check: FrameCheck, *, verbose: bool = False) -> None:
    """Print the verdict, a line for each part, and the lemmas that are not proved.

    Args:
        verbose: print each lemma with its statement and questions, and the invariants, too.
    """
    out.print(Text(_headline(check), "bold"))
    every = len(check.modes) == len(Mode)
    out.print(f"for {'every mode' if every else ', '.join(check.modes)}, both bundles, all events")
    if TABLES not in {lemma.name for lemma in check.lemmas}:
        out.print("the native core is not built (make native-core): its tables are not read")
    for part, title in _PARTS.items():
        lemmas = [lemma for lemma in check.lemmas if lemma.part == part]
        if verbose:
            out.print(Text(f"\n{title[0].upper()}{title[1:]}", "bold"))
            for lemma in lemmas:
                _print_whole(out, lemma)
        else:
            _print_part(out, part, title, lemmas)
        for lemma in lemmas:
            _print_failures(out, lemma, None if verbose else _FEW)
    if verbose:
        out.print(Text("\nInvariants that the lemmas use", "bold"))
        for invariant in check.invariants:
            out.print(Padding(f"{invariant.observer}: {invariant.says}", (0, 0, 0, 2)))


def _headline(check: FrameCheck) -> str:
    verdict = {0: "proved", 1: "refuted"}.get(exit_code(check), "undecided")
    results = [lemma.result for lemma in check.lemmas]
    others = [f"{results.count(r)} {r}" for r in _STYLES if r != "proved" and r in results]
    proved = f"{results.count('proved')} of {counted(len(results), 'lemma')} proved"
    questions = sum(sum(lemma.questions.values()) for lemma in check.lemmas)
    return f"frame: {verdict}. {', '.join([proved, *others])}, {questions:,} questions"


def _print_part(out: Console, part: str, title: str, lemmas: list[Answer]) -> None:
    proved = sum(lemma.result == "proved" for lemma in lemmas)
    names = ", ".join(lemma.name for lemma in lemmas)
    row = Table.grid(padding=(0, 2))
    row.add_column(no_wrap=True, min_width=len("translation"))
    row.add_column(overflow="fold")
    row.add_row(Text(part, "bold"), f"{title}: {proved} of {len(lemmas)} lemmas proved")
    row.add_row("", Text(f"{names} (-v)", "bright_black"))
    out.print(Padding(row, (0, 0, 0, 2), expand=False))


def _print_whole(out: Console, lemma: Answer) -> None:
    questions = counted(sum(lemma.questions.values()), "question")
    head = Text(f"{lemma.result:<8}  ", _STYLES[lemma.result]).append(lemma.name, "bold")
    out.print(head.append(f"  {questions}, {lemma.seconds:.1f} s of solving"))
    out.print(Padding(lemma.says, (0, 0, 0, _INDENT)))
    asked = ", ".join(f"{of} {number}" for of, number in lemma.questions.items())
    out.print(Padding(Text(asked, "bright_black"), (0, 0, 0, _INDENT)))


def _print_failures(out: Console, lemma: Answer, most: int | None) -> None:
    shown = lemma.failures[:most]
    if shown:
        out.print(Text(f"\n{lemma.name}: {lemma.says}", "red"))
    for failure in shown:
        _print_failure(out, failure)
    if len(lemma.failures) > len(shown):
        more = counted(len(lemma.failures) - len(shown), "other")
        out.print(Padding(f"and {more}, see --format json", (0, 0, 0, 2)))


def _print_failure(out: Console, failure: Failure) -> None:
    head = Text(f"{failure.result} of {failure.of}", _STYLES[failure.result])
    out.print(Padding(head.append(f" {failure.part}" if failure.part else ""), (0, 0, 0, 2)))
    if failure.says:
        out.print(Padding(failure.says, (0, 0, 0, 4)))
    if failure.counterexample is not None:
        _print_counterexample(out, failure.counterexample)


def _print_counterexample(out: Console, found: Counterexample) -> None:
    for what, values in (("before", found.state), ("event", found.event)):
        text = ", ".join(f"{name} {value}" for name, value in values.items()) or "nothing"
        out.print(Padding(f"{what}: {text}", (0, 0, 0, 4)))
    for change in found.changes:
        says = f"{change.what}: {change.expected} expected, {change.found} found"
        out.print(Padding(says, (0, 0, 0, 4)))
