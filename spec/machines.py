"""Makes `transitions` machines: of an observer, and of a mode, whose observers run in parallel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from transitions import Machine
from transitions.extensions.nesting import HierarchicalMachine, NestedState

from spec.contract.interpret import Look, Truths, Value, at_kind, reading_of, truth_of
from spec.contract.obligations import ALIASES, OBLIGATIONS
from spec.events.alphabet import Kind
from spec.language.machine import Observer, Rule
from spec.language.terms import FALSE, Scope, Term

__all__ = ["Automaton", "ModeMachine", "Move", "Step", "mode_machine"]

_MODE: Final = "mode"


class Move(NamedTuple):
    """A transition of a machine: a trigger leads from one state to another."""

    trigger: str
    source: str
    dest: str


class Step(NamedTuple):
    """What an event makes of an observer: the rule that is taken (None where none applies), and the
    state and the registers after it.
    """

    rule: Rule | None
    state: str
    own: dict[str, Value]


class _Guarded(NamedTuple):
    """A rule as it reads on events of one kind."""

    rule: Rule
    sources: frozenset[str]
    guard: Term
    holds: Truths
    sets: dict[str, Callable[[Look], tuple[Value, ...]]]


class _Model:
    """What a machine moves."""

    state: str
    trigger: Callable[[str], bool]


class Automaton:
    """An observer that interprets its rules. It holds no state of its own: steps begin anywhere."""

    def __init__(self, observer: Observer) -> None:
        self.observer = observer
        self._model = _Model()
        self._machine = Machine(
            self._model,
            states=[state.name for state in observer.states],
            initial=observer.initial,
            auto_transitions=False,
            ignore_invalid_triggers=True,
        )
        for rule in observer.rules:
            self._machine.add_transition(rule.name, list(observer.sources(rule)), rule.to)
        self._rules: dict[Kind, list[_Guarded]] = {}

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

    @property
    def first(self) -> dict[str, Value]:
        """The registers before any event."""
        return {register.name: register.initial for register in self.observer.registers}

    def rules(self, kind: Kind) -> list[_Guarded]:
        """The rules that an event of this kind can take at all, in their order."""
        if kind not in self._rules:
            every = [(rule, at_kind(rule.when, kind)) for rule in self.observer.rules]
            self._rules[kind] = [
                _Guarded(
                    rule,
                    frozenset(self.observer.sources(rule)),
                    guard,
                    truth_of(guard),
                    {n: reading_of(at_kind(term, kind)) for n, term in rule.sets.items()},
                )
                for rule, guard in every
                if guard != FALSE
            ]
        return self._rules[kind]

    def steps(self, state: str, own: Mapping[str, Value], look: Look, kind: Kind) -> list[Step]:
        """What an event may make of the observer, by state and registers.

        It is one step where all that matters is known. Rules are tried in order; one whose guard
        may hold and may not leaves both ways open.
        """

        def inner(scope: Scope, name: str) -> tuple[Value, ...]:
            return (own[name],) if scope is Scope.OWN else look(scope, name)

        found: list[Step] = []
        for rule, sources, _, holds, sets in self.rules(kind):
            surely, possibly = holds(inner) if state in sources else (False, False)
            if not possibly or (to := self._move(state, rule)) is None:
                continue
            after = {name: read(inner)[0] for name, read in sets.items()}
            _add(found, Step(rule, to, {**own, **after}))
            if surely:
                return found
        _add(found, Step(None, state, dict(own)))
        return found

    def _move(self, state: str, rule: Rule) -> str | None:
        """Where a rule leads from a state; None where it leads nowhere from there."""
        self._machine.set_state(state, self._model)
        return self._model.state if self._model.trigger(rule.name) else None


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
        self._machine = _ParallelMachine(
            model=None,
            states=[{"name": _MODE, "parallel": [_region(name) for name in names]}],
            initial=_MODE,
            auto_transitions=False,
        )

    @property
    def initial(self) -> dict[str, str]:
        """The state of each region before any event."""
        return {name: str(region.initial) for name, region in self._regions().items()}

    @property
    def states(self) -> dict[str, tuple[str, ...]]:
        """The states of each region, in the order of its observer."""
        return {name: tuple(region.states) for name, region in self._regions().items()}

    @property
    def moves(self) -> dict[str, tuple[Move, ...]]:
        """The transitions of each region."""
        return {
            name: tuple(
                Move(trigger.removeprefix(f"{name}."), each.source, each.dest or each.source)
                for trigger, event in region.events.items()
                for from_one in event.transitions.values()
                for each in from_one
            )
            for name, region in self._regions().items()
        }

    def _regions(self) -> Mapping[str, NestedState]:
        regions: Mapping[str, NestedState] = self._machine.states[_MODE].states
        return regions


@cache
def mode_machine(names: tuple[str, ...]) -> ModeMachine:
    """The machine of a bundle, made once for each."""
    return ModeMachine(names)


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


def _add(found: list[Step], step: Step) -> None:
    if all(known[1:] != step[1:] for known in found):
        found.append(step)
