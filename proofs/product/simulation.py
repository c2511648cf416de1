"""Checks a runtime's model by random runs, where there is too much to visit.

What such runs break is broken. What they do not break is not shown to be kept: how much of the
observers they reached says how little it means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from models.framework.explore import check_facts, simulate
from models.framework.shims import claim_of
from models.framework.stepper import Stepper
from proofs.product.graph import Run
from spec.contract.modes import MODES, Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.language.verdicts import Verdict
from spec.stream.breaks import line_of
from spec.stream.judge import Judge

if TYPE_CHECKING:
    from collections.abc import Callable

    from proofs.product.subject import Subject
    from spec.stream.claim import Claim

__all__ = ["SCHEMA", "STEPS", "Simulated", "simulated"]

SCHEMA: Final = "resident-claims/simulation/1"
STEPS: Final = 60
"""Actions of a run, at most."""


class Simulated(msgspec.Struct, frozen=True):
    """What random runs of a model came to.

    `broken` has for each obligation that some run broke the actions of the shortest such run.
    `states` are the states of the model that were visited; of the observers' `rules` and
    `observer_states` the first number was reached, of so many. Where the runs were interrupted,
    `complete` is false, and `runs` are those that had ended until then.
    """

    schema: str
    runtime: str
    mode: str
    inference: str | None
    runs: int
    events: int
    states: int
    rules: tuple[int, int]
    observer_states: tuple[int, int]
    broken: dict[str, tuple[str, ...]]
    complete: bool = True


class _Found:
    """What the runs so far came to."""

    def __init__(self) -> None:
        self.runs = self.events = 0
        self.states: set[object] = set()
        self.rules: set[tuple[str, int]] = set()
        self.broken: dict[str, tuple[str, ...]] = {}

    def take(self, subject: Subject, seed: int, facts: Stepper) -> None:
        """Judge one random run."""
        steps = list(simulate(subject.model, seed, STEPS, facts))
        run = Run(None, tuple((step.action, step.emits) for step in steps))
        stream, judge = run.events(subject.shim), Judge(subject.mode)
        for number, event in enumerate(stream, 1):
            judge.take(line_of(event, number))
            self.rules |= _rules(judge.claims.get(claim_of(subject.tracked)))
        self.runs += 1
        self.events += len(stream)
        self.states |= {step.state for step in steps}
        claim = judge.claims.get(claim_of(subject.tracked))
        for name, finding in () if claim is None else claim.findings().items():
            if finding.verdict is Verdict.VIOLATED:
                end = run.until(subject.shim, int(str(finding.at)))
                actions = tuple(map(str, end.actions))
                self.broken[name] = min(self.broken.get(name, actions), actions, key=len)


def _rules(claim: Claim | None) -> set[tuple[str, int]]:
    """The rules by which the observers of a claim came to stand where they stand."""
    return {
        (name, stand.rule)
        for _, scope in (() if claim is None else claim.scopes())
        for name, stand in zip(claim.names, scope.stands, strict=True)  # type: ignore[union-attr]
        if stand is not None and stand.rule is not None
    }


def simulated(
    subject: Subject, runs: int, seed: int = 0, progress: Callable[[int], None] | None = None
) -> Simulated:
    """Judge so many random runs.

    An interrupt (Ctrl-C) ends it with the runs that had ended until then.

    Args:
        seed: that of the first run; the next has the next one.
        progress: receives the number of runs that are done.

    Raises:
        SpecError: an action emits what is no event, or facts that contradict each other.
    """
    read = subject.model, subject.shim, subject.mode
    facts = Stepper(*read)
    found, complete = _Found(), True
    try:
        check_facts(*read)
        for number in range(runs):
            found.take(subject, seed + number, facts)
            if progress is not None:
                progress(found.runs)
    except KeyboardInterrupt:
        complete = False
    names = MODES[subject.mode].names(Bundle.CONTRACT)
    reached = {(name, OBLIGATIONS[name].rules[rule].to) for name, rule in found.rules}
    reached |= {(name, OBLIGATIONS[name].initial) for name in names}
    return Simulated(
        SCHEMA,
        subject.runtime,
        str(subject.mode),
        subject.inference,
        found.runs,
        found.events,
        len(found.states),
        (len(found.rules), sum(len(OBLIGATIONS[name].rules) for name in names)),
        (len(reached), sum(len(OBLIGATIONS[name].states) for name in names)),
        {name: found.broken[name] for name in names if name in found.broken},
        complete,
    )
