"""Interprets terms for which the compiled form is not enough: an event with two ends, and
assumptions after the first that is broken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.evaluate.compile import CLAIM_REGISTERS, REQUEST_REGISTERS
from spec.contract.facts import FACTS_ARE_FACTS
from spec.contract.interpret import at_kind, evaluate
from spec.language.terms import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from monitor.evaluate.constants import Constants
    from monitor.evaluate.event_view import EventView
    from monitor.evaluate.observer_state import ObserverState, Registers
    from spec.contract.facts import Assumption
    from spec.contract.interpret import Look, Value
    from spec.language.machine import Observer

__all__ = ["broken_after", "reaches"]

_REGISTERS = {
    Scope.WAS: CLAIM_REGISTERS,
    Scope.NOW: CLAIM_REGISTERS,
    Scope.REQ_WAS: REQUEST_REGISTERS,
    Scope.REQ: REQUEST_REGISTERS,
}


def reaches(
    observer: Observer,
    watch: ObserverState,
    view: EventView,
    constants: Constants,
    known: Mapping[Scope, Registers],
) -> set[str]:
    """The states in which the observer may be after an event that has another end, `low`.

    Args:
        known: the registers of each scope, but for the observer's own.
    """
    own = dict(zip((each.name for each in observer.registers), watch.own, strict=True))
    look = _look(view, constants, {**_named(known), Scope.OWN: own})
    state, found = observer.states[watch.state].name, set[str]()
    for rule in observer.rules:
        if state in observer.sources(rule):
            surely, possibly = evaluate(at_kind(rule.when, view.kind), look)
            found |= {rule.to} if possibly else set()
            if surely:
                return found
    return found | {state}


def broken_after(
    first: int, view: EventView, constants: Constants, was: Registers
) -> Iterator[Assumption]:
    """The assumptions about facts that an event breaks, the first of which is known."""
    look = _look(view, constants, _named({Scope.WAS: was}))
    for index, assumption in enumerate(FACTS_ARE_FACTS[first:], first):
        if index == first or not evaluate(at_kind(assumption.holds, view.kind), look)[0]:
            yield assumption


def _named(known: Mapping[Scope, Registers]) -> dict[Scope, dict[str, Value]]:
    return {
        scope: dict(zip(_REGISTERS[scope], registers, strict=True))
        for scope, registers in known.items()
    }


def _look(
    view: EventView, constants: Constants, known: Mapping[Scope, Mapping[str, Value]]
) -> Look:
    ends = [view] if view.low is None else [view, view.low]

    def look(scope: Scope, name: str) -> tuple[Value, ...]:
        if scope is Scope.EVENT:
            return tuple(getattr(end, name) for end in ends)
        return (getattr(constants, name) if scope is Scope.CLAIM else known[scope][name],)

    return look
