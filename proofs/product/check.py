"""Checks a runtime's model in a mode: each obligation, and the label that follows.

That label is compared with the one of the curated descriptor, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from models.catalog import descriptor
from models.registry import runtime
from proofs.product.evidence import derived
from proofs.product.search import LIMIT, Answer, Outcome, search_each
from proofs.product.subject import subjects
from spec.cli.common import Code
from spec.events.alphabet import REPORTS
from spec.lowering.relation import lower

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from proofs.product.subject import Subject
    from spec.claims.states import Mode

__all__ = [
    "COMPARE",
    "NOT_SUPPLIED",
    "SCHEMA",
    "Checked",
    "Compared",
    "ObligationCheck",
    "check_runtime",
    "code_of",
    "compare",
]

SCHEMA: Final = "resident-claims/runtime-check/1"
COMPARE: Final = "resident-claims/compare/1"

NOT_SUPPLIED: Final = "not supplied"
"""The answer where nothing is broken, and the runtime reports nothing about claims."""

UNDECIDED: Final = "undecided"
"""In the place of a label where the search was interrupted."""


class ObligationCheck(msgspec.Struct, frozen=True):
    """What the model does to an obligation.

    `answer` is kept, broken, never put to the test, not supplied, or what a search could not
    decide. `run` are the actions of a shortest run that breaks it, or that puts it to the test, and
    `events` is the number of events that a reader writes for it. Every run of up to `longest`
    events was visited.
    """

    obligation: str
    answer: str
    states: int
    transitions: int
    longest: int
    run: tuple[str, ...] = ()
    events: int = 0


class Checked(msgspec.Struct, frozen=True):
    """A runtime in a mode: its obligations, and the label by what was found of them.

    Where the search was interrupted, `complete` is false, the label undecided, and the obligations
    are those until then.
    """

    schema: str
    runtime: str
    mode: str
    inference: str | None
    label: str
    missing: tuple[str, ...]
    obligations: tuple[ObligationCheck, ...]
    complete: bool = True


def check_runtime(
    subject: Subject,
    *,
    limit: int = LIMIT,
    progress: Callable[[str, int, int, int], None] | None = None,
) -> tuple[Checked, dict[str, Outcome]]:
    """Search the model for each obligation of the mode, and label the runtime by the answers."""
    outcomes = search_each(
        subject.model,
        subject.shim,
        subject.mode,
        subject.tracked,
        limit=limit,
        progress=progress,
    )
    row = lower(derived(subject, outcomes), subject.mode, subject.model.depth)
    complete = all(each.answer is not Answer.STOPPED for each in outcomes.values())
    checked = Checked(
        SCHEMA,
        subject.runtime,
        str(subject.mode),
        subject.inference,
        str(row.label) if complete else UNDECIDED,
        row.missing if complete else (),
        tuple(_view(subject, each) for each in outcomes.values()),
        complete,
    )
    return checked, outcomes


def _view(subject: Subject, found: Outcome) -> ObligationCheck:
    run, answer = found.run, str(found.answer)
    reports = subject.inference is None or set(subject.shim.means.values()) & REPORTS
    if not reports and found.answer in (Answer.KEPT, Answer.UNTESTED):
        answer = NOT_SUPPLIED  # the only reports are those that the shim makes of a call
    return ObligationCheck(
        found.obligation,
        answer,
        found.states,
        found.transitions,
        found.longest,
        () if run is None else tuple(map(str, run.actions)),
        0 if run is None else len(run.events(subject.shim)),
    )


def code_of(checked: Checked) -> Code:
    """1 where an obligation is broken, 3 where one is not shown to be kept, else 0."""
    answers = {each.answer for each in checked.obligations}
    if not checked.complete:
        return Code.INCONCLUSIVE
    if Answer.BROKEN in answers:
        return Code.VIOLATED
    return Code.OK if answers == {Answer.KEPT} else Code.INCONCLUSIVE


class Compared(msgspec.Struct, frozen=True):
    """The two labels of a runtime in a mode, and what each rests on: without an adapter, or at the
    depth of the one by which it takes claims.

    `lacks` are obligations that the descriptor does not supply, `broken` those that the model
    breaks, with the actions of a shortest run of the first.
    """

    runtime: str
    mode: str
    inference: str | None
    descriptor: str
    derived: str
    curated: str
    agree: bool
    lacks: tuple[str, ...]
    broken: tuple[str, ...]
    run: tuple[str, ...]


def compare(
    names: Iterable[str], progress: Callable[[str, int, int, int], None] | None = None
) -> Iterator[Compared]:
    """The labels of these runtimes, one by one, in each mode that their features tempt to."""
    for name in names:
        found = runtime(name)
        if found.descriptor is None:
            continue
        for mode in _modes(name):
            for subject in subjects(name, mode):
                checked, _ = check_runtime(subject, progress=progress)
                if not checked.complete:
                    raise KeyboardInterrupt
                row = lower(descriptor(found.descriptor), mode, subject.model.depth)
                broken = [each for each in checked.obligations if each.answer == "broken"]
                yield Compared(
                    name,
                    str(mode),
                    subject.inference,
                    found.descriptor,
                    checked.label,
                    str(row.label),
                    checked.label == str(row.label),
                    row.missing,
                    tuple(each.obligation for each in broken),
                    broken[0].run if broken else (),
                )


def _modes(name: str) -> list[Mode]:
    found = runtime(name)
    return list(found.takes or dict.fromkeys(each.mode for each in found.inferences))
