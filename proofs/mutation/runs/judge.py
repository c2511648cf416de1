"""Evaluates observers on a run, event by event."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from proofs.model.auditor import BELIEFS
from proofs.model.theorems import CLAUSES
from proofs.mutation.runs.faithful import faithful
from proofs.mutation.runs.functions import (
    ARGUMENTS,
    CLAIM_REGISTERS,
    REQUEST_REGISTERS,
    expression,
    following,
    function,
    step_of,
)
from proofs.mutation.runs.lines import read_run
from spec.claims.states import Mode
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.contract.modes import MODES
from spec.contract.obligations import OBLIGATIONS
from spec.language.terms import Scope
from spec.language.verdicts import Verdict
from spec.stream.generate import CLAIM, REQUEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from proofs.model.theorems import Clause
    from spec.language.machine import Observer

__all__ = [
    "Breach",
    "Judge",
    "alike",
    "breaches",
    "constants_of",
    "is_faithful",
    "judged",
    "received",
    "trail",
]

Received = tuple[Any, ...]  # event, constants, and the ledgers before and after it


class Breach(NamedTuple):
    """A clause of the theorem fails at an event, counted from 1."""

    number: int
    clause: Clause


@cache
def alike(mode: Mode) -> str:
    """The constants by which observers distinguish modes; modes with equal ones give equal
    verdicts.
    """
    return "+".join(name for name, value in MODES[mode].constants.items() if value) or "plain"


@cache
def _of(constants: str) -> Mode:
    return next(mode for mode in Mode if alike(mode) == constants)


@cache
def received(constants: str, line: str) -> tuple[Received, ...]:
    """The events of a run as observers receive them."""
    run, found = read_run(line), []
    c = constants_of(constants, run.threshold)
    was: tuple[Any, ...] = tuple(register.initial for register in CLAIM)
    asked: tuple[Any, ...] = tuple(register.initial for register in REQUEST)
    claim, request = _ledgers()
    for event in run.events:
        now = claim(event, c, was)
        asks = request(event, c, was, now, asked)
        found.append((event, c, was, now, asked, asks))
        was, asked = now, asks
    return tuple(found)


@cache
def constants_of(constants: str, threshold: int) -> Mapping[str, int]:
    """The constants of a claim, with those by which observers distinguish modes."""
    return {"threshold": threshold, **MODES[_of(constants)].constants}


@cache
def _ledgers() -> tuple[Callable[..., tuple[Any, ...]], Callable[..., tuple[Any, ...]]]:
    terms = {**CLAIM_FACTS.following, **DECLARED.following}
    return (
        following(CLAIM_REGISTERS, terms, Scope.NOW, "e, c, w"),
        following(REQUEST_REGISTERS, REQUEST_FACTS.following, Scope.REQ, "e, c, w, n, r"),
    )


@cache
def is_faithful(constants: str, line: str) -> bool:
    """Whether a faithful stream may contain a run."""
    return all(_faithful()(*step) for step in received(constants, line))


@cache
def _faithful() -> Callable[..., bool]:
    return function(ARGUMENTS, expression(faithful()))


class Judge:
    """An observer as a function."""

    def __init__(self, observer: Observer) -> None:
        self._step = step_of(observer)
        self._own = tuple(register.initial for register in observer.registers)
        self._says = [state.verdict for state in observer.states]

    def verdicts(self, steps: Iterable[Received]) -> list[Verdict]:
        """The verdict after each event."""
        state, own, found = 0, self._own, []
        for step in steps:
            state, own = self._step(state, own, *step)
            found.append(self._says[state])
        return found


@cache
def judged(constants: str, name: str, line: str) -> tuple[Verdict, ...]:
    """The verdicts of an obligation as the specification has it."""
    return tuple(_original(name).verdicts(received(constants, line)))


@cache
def _original(name: str) -> Judge:
    return Judge(OBLIGATIONS[name])


def trail(found: Iterable[Verdict]) -> str:
    """Verdicts as their changes, each by its initial: `3p 5v` is unexercised up to the second
    event, pending from the third and violated from the fifth on.
    """
    last, changes = Verdict.UNEXERCISED, []
    for number, verdict in enumerate(found, start=1):
        if verdict is not last:
            changes.append(f"{number}{verdict[0]}")
            last = verdict
    return " ".join(changes)


@cache
def breaches(mode: Mode, line: str) -> tuple[Breach, ...]:
    """Where clauses of the mode's theorem fail in a run, regardless of verdicts."""
    steps = received(alike(mode), line)
    before, found = tuple(r.initial for r in BELIEFS.registers), []
    for number, step in enumerate(steps, start=1):
        after = _beliefs()(step[0], before)
        found += [
            Breach(number, clause)
            for clause, holds in _clauses(mode)
            if not holds(*step, before, after)
        ]
        before = after
    return tuple(found)


_BELIEVED = {(Scope.BELIEVED, r.name): f"before[{i}]" for i, r in enumerate(BELIEFS.registers)}
_BELIEVES = {(Scope.BELIEVES, r.name): f"after[{i}]" for i, r in enumerate(BELIEFS.registers)}


@cache
def _beliefs() -> Callable[..., tuple[Any, ...]]:
    terms = (expression(BELIEFS.following[r.name], _BELIEVED) for r in BELIEFS.registers)
    return function("e, before", f"({', '.join(terms)},)")


@cache
def _clauses(mode: Mode) -> tuple[tuple[Clause, Callable[..., bool]], ...]:
    return tuple(
        (
            clause,
            function(
                f"{ARGUMENTS}, before, after", expression(clause.holds, _BELIEVED | _BELIEVES)
            ),
        )
        for clause in CLAUSES.get(mode, ())
    )
