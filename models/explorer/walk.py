"""Replays a run of a model from its first state, and judges it after each action.

Nothing is kept between two calls: the numbers of the actions are all that a state needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from models.framework.explore import Step
from models.framework.model import Action, step
from models.framework.shims import events_of
from models.report.view import trace_of
from spec.contract.obligations import OBLIGATIONS
from spec.language.errors import SpecError
from spec.language.verdicts import Verdict
from spec.stream.breaks import line_of
from spec.stream.claim import outcome_of
from spec.stream.judge import Judge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from models.explorer.starts import Start
    from spec.events.canonical import Event
    from spec.stream.outcome import ClaimOutcome, Finding

__all__ = ["LONGEST", "Lost", "Move", "Turn", "Walk", "replay", "why"]

LONGEST: Final = 100
"""Actions of a run that is shown, at most."""


class Lost(SpecError):
    """No run of the model takes these actions."""


class Move(NamedTuple):
    """An obligation to a claim whose verdict changes."""

    claim: str
    obligation: str
    before: Verdict
    after: Verdict


class Turn(NamedTuple):
    """An action, by its number among those that are enabled, with the events that a reader writes
    of it, and the verdicts that these change.
    """

    number: int
    step: Step
    events: tuple[Event, ...]
    moves: tuple[Move, ...]


@dataclass(frozen=True)
class Walk:
    """A run, the state that it leads to, and what can be done next.

    `claims` are the verdicts so far; `broken` is why the judge gave up on the stream, if it did.
    There are no `choices` where the run has `LONGEST` actions.
    """

    start: Start
    taken: tuple[Turn, ...]
    states: tuple[Any, ...]
    claims: Mapping[str, ClaimOutcome]
    broken: str
    choices: tuple[Turn, ...]

    @property
    def numbers(self) -> tuple[int, ...]:
        """The actions by their numbers."""
        return tuple(turn.number for turn in self.taken)

    @property
    def events(self) -> list[Event]:
        """The trace so far."""
        return [event for turn in self.taken for event in turn.events]


def replay(start: Start, numbers: Sequence[int]) -> Walk:
    """The run that takes the actions of these numbers.

    Raises:
        Lost: there is no such action, or there are more than `LONGEST`.
        SpecError: the model emits what is no event.
    """
    if len(numbers) > LONGEST:
        raise Lost(f"a run has {LONGEST} actions at most")
    states, steps = [next(iter(start.model.initial()))], list[Step]()
    for at, number in enumerate(numbers):
        actions = list(start.model.actions(states[-1]))
        if number >= len(actions):
            raise Lost(f"after {at} actions there are {len(actions)}, so none has number {number}")
        steps.append(_step(start, states[-1], actions[number]))
        states.append(steps[-1].state)
    enabled = list(start.model.actions(states[-1])) if len(numbers) < LONGEST else []
    choices = [_step(start, states[-1], action) for action in enabled]
    found = _judged(start, steps)
    return Walk(
        start,
        tuple(map(_turn, numbers, steps, found, found[1:])),
        tuple(states),
        found[-1].claims,
        found[-1].broken,
        tuple(
            _turn(number, each, found[-1], _judged(start, [*steps, each])[-1])
            for number, each in enumerate(choices)
        ),
    )


def why(name: str, found: Finding) -> str:
    """Why an obligation has its verdict; empty where no rule decided it."""
    if found.reason is not None:
        return found.reason.text
    return "" if found.rule is None else OBLIGATIONS[name].rules[found.rule].why


class _Judged(NamedTuple):
    """What the judge knows after a step, with the events of that step."""

    events: tuple[Event, ...]
    claims: Mapping[str, ClaimOutcome]
    broken: str


def _step(start: Start, state: Any, action: Action) -> Step:
    after, emits = step(start.model, state, action)
    return Step(action, after, emits)


def _judged(start: Start, steps: Sequence[Step]) -> list[_Judged]:
    """What the judge knows at first, and after each step."""
    judge, events, at = Judge(start.mode), trace_of(steps, start.shim), 0
    found = [_Judged((), {}, "")]
    for each in steps:
        new = tuple(events[at : at + len(events_of(start.shim, each.emits))])
        for event in new:
            at += 1
            judge.take(line_of(event, at))
        claims = {name: outcome_of(claim) for name, claim in judge.claims.items()}
        found.append(_Judged(new, claims, "" if judge.broken is None else judge.broken.text))
    return found


def _turn(number: int, taken: Step, before: _Judged, after: _Judged) -> Turn:
    moves = []
    for claim, outcome in after.claims.items():
        known = before.claims[claim].findings if claim in before.claims else {}
        for name, finding in outcome.findings.items():
            was = known[name].verdict if name in known else Verdict.UNEXERCISED
            if was is not finding.verdict:
                moves.append(Move(claim, name, was, finding.verdict))
    return Turn(number, taken, after.events, tuple(moves))
