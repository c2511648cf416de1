"""Lays out a check of the frame theorem as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from proofs.checks.frame.results import exit_code
from spec.claims.states import Mode
from spec.cli.layout import Styled
from spec.language.prose import counted

if TYPE_CHECKING:
    from proofs.checks.frame.results import Answer, Counterexample, Failure, FrameCheck
    from spec.cli.layout import Page

__all__ = ["put_frame"]

_STYLES: Final = {"proved": "green", "refuted": "red", "unknown": "magenta"}
_PARTS: Final = {
    "frame": "an event that is not delivered to a claim changes nothing of it",
    "translation": "the functions and tables that run equal the terms of the specification",
}
_FEW: Final = 3
_INDENT: Final = 10


def put_frame(out: Page, check: FrameCheck, *, verbose: bool = False) -> None:
    """The verdict, a line for each part, and the lemmas that are not proved.

    Args:
        verbose: each lemma with its statement and questions, and the invariants, too.
    """
    out.put(_headline(check), "bold")
    every = len(check.modes) == len(Mode)
    out.put(f"for {'every mode' if every else ', '.join(check.modes)}, both bundles, all events")
    for each in check.not_checked:
        out.put(f"not checked: {each}")
    for part, title in _PARTS.items():
        lemmas = [lemma for lemma in check.lemmas if lemma.part == part]
        if verbose:
            out.put(f"\n{title[0].upper()}{title[1:]}", "bold")
            for lemma in lemmas:
                _put_whole(out, lemma)
        else:
            _put_part(out, part, title, lemmas)
        for lemma in lemmas:
            _put_failures(out, lemma, None if verbose else _FEW)
    if verbose:
        out.put("\nInvariants that the lemmas use", "bold")
        for invariant in check.invariants:
            out.put(f"{invariant.observer}: {invariant.says}", indent=2)


def _headline(check: FrameCheck) -> str:
    verdict = {0: "proved", 1: "refuted"}.get(exit_code(check), "undecided")
    results = [lemma.result for lemma in check.lemmas]
    others = [f"{results.count(r)} {r}" for r in _STYLES if r != "proved" and r in results]
    proved = f"{results.count('proved')} of {counted(len(results), 'lemma')} proved"
    questions = sum(sum(lemma.questions.values()) for lemma in check.lemmas)
    return f"frame: {verdict}. {', '.join([proved, *others])}, {questions:,} questions"


def _put_part(out: Page, part: str, title: str, lemmas: list[Answer]) -> None:
    proved = sum(lemma.result == "proved" for lemma in lemmas)
    names = ", ".join(lemma.name for lemma in lemmas)
    width = len("translation")
    text = f"{title}: {proved} of {len(lemmas)} lemmas proved"
    name, more = Styled(part, "bold"), Styled(f"{names} (-v)", "bright_black")
    out.grid([(name, Styled(text)), (Styled(), more)], indent=2, gap=2, first=width)


def _put_whole(out: Page, lemma: Answer) -> None:
    questions = counted(sum(lemma.questions.values()), "question")
    head = Styled(f"{lemma.result:<8}  ", _STYLES[lemma.result]).append(lemma.name, "bold")
    out.put(head.append(f"  {questions}, {lemma.seconds:.1f} s of solving"))
    out.put(lemma.says, indent=_INDENT)
    asked = ", ".join(f"{of} {number}" for of, number in lemma.questions.items())
    out.put(asked, "bright_black", indent=_INDENT)


def _put_failures(out: Page, lemma: Answer, most: int | None) -> None:
    shown = lemma.failures[:most]
    if shown:
        out.put(f"\n{lemma.name}: {lemma.says}", "red")
    for failure in shown:
        _put_failure(out, failure)
    if len(lemma.failures) > len(shown):
        more = counted(len(lemma.failures) - len(shown), "other")
        out.put(f"and {more}, see --format json", indent=2)


def _put_failure(out: Page, failure: Failure) -> None:
    head = Styled(f"{failure.result} of {failure.of}", _STYLES[failure.result])
    out.put(head.append(f" {failure.part}" if failure.part else ""), indent=2)
    if failure.says:
        out.put(failure.says, indent=4)
    if failure.counterexample is not None:
        _put_counterexample(out, failure.counterexample)


def _put_counterexample(out: Page, found: Counterexample) -> None:
    for what, values in (("before", found.state), ("event", found.event)):
        text = ", ".join(f"{name} {value}" for name, value in values.items()) or "nothing"
        out.put(f"{what}: {text}", indent=4)
    for change in found.changes:
        says = f"{change.what}: {change.expected} expected, {change.found} found"
        out.put(says, indent=4)
