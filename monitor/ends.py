"""What an observer may come to where fields of an event lie between two ends, by its terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.compile import CLAIM_REGISTERS, REQUEST_REGISTERS
from spec.projection.interpret import at_kind, evaluate
from spec.terms import Scope

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monitor.compile import Registers
    from monitor.view import Constants, View
    from monitor.watch import Watch
    from spec.machine import Observer
    from spec.projection.interpret import Value

__all__ = ["reaches"]

_REGISTERS = {
    Scope.WAS: CLAIM_REGISTERS,
    Scope.NOW: CLAIM_REGISTERS,
    Scope.REQ_WAS: REQUEST_REGISTERS,
    Scope.REQ: REQUEST_REGISTERS,
}


def reaches(
    observer: Observer,
    watch: Watch,
    view: View,
    constants: Constants,
    known: Mapping[Scope, Registers],
) -> set[str]:
    """The states in which the observer may be after an event that has another end, `low`.

    Args:
        known: the registers of each scope, but for the observer's own.
    """
    ends = [view] if view.low is None else [view, view.low]
    own = dict(zip((each.name for each in observer.registers), watch.own, strict=True))

    def look(scope: Scope, name: str) -> tuple[Value, ...]:
        if scope is Scope.EVENT:
            return tuple(getattr(end, name) for end in ends)
        if scope is Scope.CLAIM:
            return (getattr(constants, name),)
        registers = (
            own if scope is Scope.OWN else dict(zip(_REGISTERS[scope], known[scope], strict=True))
        )
        return (registers[name],)

    state, found = observer.states[watch.state].name, set[str]()
    for rule in observer.rules:
        if state in observer.sources(rule):
            surely, possibly = evaluate(at_kind(rule.when, view.kind), look)
            found |= {rule.to} if possibly else set()
            if surely:
                return found
    return found | {state}
