"""Makes a `transitions` machine of an observer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from transitions import Machine

if TYPE_CHECKING:
    from spec.language.machine import Observer

__all__ = ["Automaton", "Move"]


class Move(NamedTuple):
    """A transition of a machine: a trigger leads from one state to another."""

    trigger: str
    source: str
    dest: str


class Automaton:
    """An observer as a machine. It holds no state of its own."""

    def __init__(self, observer: Observer) -> None:
        self.observer = observer
        self._machine = Machine(
            model=None,
            states=[state.name for state in observer.states],
            initial=observer.initial,
            auto_transitions=False,
        )
        for rule in observer.rules:
            self._machine.add_transition(rule.name, list(observer.sources(rule)), rule.to)

    @property
    def initial(self) -> str:
        """The state before any event."""
        return str(self._machine.initial)

    @property
    def moves(self) -> tuple[Move, ...]:
        """The transitions of the machine: for each rule, in order, one from each of its states."""
        return tuple(
            Move(trigger, each.source, each.dest or each.source)
            for trigger, event in self._machine.events.items()
            for from_one in event.transitions.values()
            for each in from_one
        )
