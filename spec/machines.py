"""Makes `transitions` machines: of an observer, and of a mode, whose observers run in parallel."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from transitions import Machine
from transitions.extensions.nesting import HierarchicalMachine, NestedState

from spec.contract.obligations import ALIASES, OBLIGATIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spec.language.machine import Observer

__all__ = ["Automaton", "ModeMachine", "Move", "mode_machine"]

_MODE: Final = "mode"


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
        return _moves(self._machine.events)


class _State(NestedState):
    separator = "/"  # names of states have underscores


class _ParallelMachine(HierarchicalMachine):
    state_cls = _State


class ModeMachine:
    """The observers of several obligations as the parallel regions of one machine.

    A region has the states and the moves of one observer. All regions are active at once: an event
    may move each of them, and none depends on another.

    Args:
        names: the obligations, or aliases of them.
    """

    def __init__(self, names: Sequence[str]) -> None:
        machine = _ParallelMachine(
            model=None,
            states=[{"name": _MODE, "parallel": [_region(name) for name in names]}],
            initial=_MODE,
            auto_transitions=False,
        )
        self._regions: Mapping[str, NestedState] = machine.states[_MODE].states

    @property
    def initial(self) -> dict[str, str]:
        """The state of each region before any event."""
        return {name: str(region.initial) for name, region in self._regions.items()}

    @property
    def states(self) -> dict[str, tuple[str, ...]]:
        """The states of each region, in the order of its observer."""
        return {name: tuple(region.states) for name, region in self._regions.items()}

    @property
    def moves(self) -> dict[str, tuple[Move, ...]]:
        """The transitions of each region."""
        return {name: _moves(region.events, f"{name}.") for name, region in self._regions.items()}


@cache
def mode_machine(names: tuple[str, ...]) -> ModeMachine:
    """The machine of a bundle, made once for each."""
    return ModeMachine(names)


def _moves(events: Mapping[str, Any], prefix: str = "") -> tuple[Move, ...]:
    return tuple(
        Move(trigger.removeprefix(prefix), each.source, each.dest or each.source)
        for trigger, event in events.items()
        for from_one in event.transitions.values()
        for each in from_one
    )


def _region(name: str) -> dict[str, object]:
    observer = OBLIGATIONS[ALIASES.get(name, name)]
    return {
        "name": name,
        "children": [state.name for state in observer.states],
        "initial": observer.initial,
        "transitions": [
            [f"{name}.{rule.name}", source, rule.to]
            for rule in observer.rules
            for source in observer.sources(rule)
        ],
    }
