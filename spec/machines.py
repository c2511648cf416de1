"""`transitions` machines made from observers: its states, and one trigger for each rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from transitions import Machine

from spec.contract.interpret import Look, Value, at_kind, evaluate, value_of
from spec.events.alphabet import Kind
from spec.language.machine import Observer, Rule
from spec.language.terms import FALSE, Scope, Term

__all__ = ["Automaton", "Step"]


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
    sets: dict[str, Term]


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
    def first(self) -> dict[str, Value]:
        """The registers before any event."""
        return {register.name: register.initial for register in self.observer.registers}

    def rules(self, kind: Kind) -> list[_Guarded]:
        """The rules that an event of this kind can take at all, in their order."""
        if kind not in self._rules:
            every = [
                _Guarded(
                    rule,
                    frozenset(self.observer.sources(rule)),
                    at_kind(rule.when, kind),
                    {name: at_kind(term, kind) for name, term in rule.sets.items()},
                )
                for rule in self.observer.rules
            ]
            self._rules[kind] = [each for each in every if each.guard != FALSE]
        return self._rules[kind]

    def steps(self, state: str, own: Mapping[str, Value], look: Look, kind: Kind) -> list[Step]:
        """What an event may make of the observer, told apart by state and registers.

        It is one step where all that matters is known. Rules are tried in order; one whose guard
        may hold and may not leaves both ways open.
        """

        def inner(scope: Scope, name: str) -> tuple[Value, ...]:
            return (own[name],) if scope is Scope.OWN else look(scope, name)

        found: list[Step] = []
        for rule, sources, guard, sets in self.rules(kind):
            surely, possibly = evaluate(guard, inner) if state in sources else (False, False)
            if not possibly or (to := self._move(state, rule)) is None:
                continue
            after = {name: value_of(term, inner) for name, term in sets.items()}
            _add(found, Step(rule, to, {**own, **after}))
            if surely:
                return found
        _add(found, Step(None, state, dict(own)))
        return found

    def _move(self, state: str, rule: Rule) -> str | None:
        """Where a rule leads from a state; None where it leads nowhere from there."""
        self._machine.set_state(state, self._model)
        return self._model.state if self._model.trigger(rule.name) else None


def _add(found: list[Step], step: Step) -> None:
    if all(known[1:] != step[1:] for known in found):
        found.append(step)
