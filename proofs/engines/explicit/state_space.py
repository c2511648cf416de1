"""Explicit-state search over a small instance, breadth first, without Z3.

Blocks, footprints and counts are bounded, so the answer covers every run, of any length, within the
bounds. Events of a kind with the same effect on a state count as one transition.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from proofs.engines.explicit.finite import Finite
from proofs.engines.explicit.ranked import Ranked
from spec.claims.states import Mode
from spec.contract.vocabulary import EVENT_FIELDS
from spec.language.terms import Sort

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proofs.engines.explicit.finite import Move, State, Value
    from proofs.model.of_mode import Model
    from spec.events.alphabet import Kind

    _Effect = tuple[State, tuple[str, ...]]

__all__ = ["Bounds", "Explored", "Instance", "Machine", "explore", "machine_of"]

Machine = Finite | Ranked
STATES = 200_000
EVENTS = 2_000_000
_OF_PAIRS = ("takeable", "keeps")


@dataclass(frozen=True)
class Bounds:
    """The bounds of the instance (blocks of a claim, of the pool and of other claims; counted
    losses) and of the search (states, and events tried).
    """

    blocks: int = 2
    counted: int = 1
    ranks: int = 1
    states: int = STATES
    events: int = EVENTS

    def values(self, name: str) -> tuple[Value, ...]:
        """The values of a field of an event."""
        field = name.partition("_A")[0].partition("_B")[0]
        if field in _OF_PAIRS or EVENT_FIELDS[field][0] is Sort.BOOL:
            return (False, True)
        name = field
        if name in ("cost", "worker"):
            return tuple(range(self.ranks + 1))
        most = 3 * self.blocks if name.startswith("said_") else self.blocks
        return tuple(range(most + 1))

    def most(self, variable: str) -> int | None:
        """The largest value of a variable of the state, beyond which runs are not followed."""
        name = variable.rpartition(".")[2]
        if name in ("losses", "failures", "harms"):
            return self.counted
        return self.blocks if name == "rest" else None


@dataclass(frozen=True)
class Explored:
    """The result of a search: `complete` unless a limit was reached or a clause failed.

    `cut` counts the transitions that leave the instance, which are not followed. `depth` is the
    length of the longest of the shortest runs to a state or, where clauses failed, of the shortest
    run to a failure.
    """

    states: int
    transitions: int
    cut: int
    depth: int
    complete: bool
    failed: tuple[str, ...] = ()
    seen: tuple[State, ...] = field(default=(), compare=False, repr=False)


def machine_of(model: Model) -> Machine:
    """The same obligations and clauses as a model, as Python functions."""
    clauses = () if model.mode is Mode.SOFT_PRIORITY else model.clauses
    one = Finite(model.mode, model.observers, clauses, model.alphabet)
    return Ranked(one) if model.mode is Mode.SOFT_PRIORITY else one


class Instance:
    """A machine within bounds."""

    def __init__(self, machine: Machine, bounds: Bounds) -> None:
        self._machine, self._bounds = machine, bounds
        self._most = [
            (i, most)
            for i, name in enumerate(machine.names)
            if (most := bounds.most(name)) is not None
        ]
        self._effects: dict[Kind, dict[State, list[_Effect]]] = {k: {} for k in machine.moves}
        self.tried = 0  # events

    def initial(self) -> list[State]:
        """The states before any event."""
        bounds = self._bounds
        return list(self._machine.initial(range(1, bounds.blocks + 1), range(bounds.ranks + 1)))

    def after(self, state: State) -> Iterator[tuple[State, tuple[str, ...]] | None]:
        """Each transition out of a state: the next state with the clauses that the event breaks;
        None for one that leaves the instance.
        """
        for kind, move in self._machine.moves.items():
            read = tuple([state[i] for i in move.reads])
            effects = self._effects[kind].get(read)
            if effects is None:
                outcomes = list(_effects(move, read, self._bounds))
                self.tried += len(outcomes)
                effects = list(dict.fromkeys(o for o in outcomes if o is not None))
                self._effects[kind][read] = effects
            for written, failed in effects:
                new = list(state)
                for place, value in zip(move.writes, written, strict=True):
                    new[place] = value
                outside = any(new[i] > most for i, most in self._most)
                yield None if outside else (tuple(new), failed)


def explore(machine: Machine, bounds: Bounds) -> Explored:
    """Breadth first through everything that can be reached, up to the first clause that fails."""
    instance = Instance(machine, bounds)
    level = instance.initial()
    seen = dict.fromkeys(level)
    transitions = cut = depth = 0
    while level:
        found: list[State] = []
        for state in level:
            for effect in instance.after(state):
                if effect is None:
                    cut += 1
                    continue
                transitions += 1
                after, failed = effect
                fresh = after not in seen
                fails = failed + machine.fails(after) if failed or fresh else ()
                if fails:
                    so_far = (len(seen), transitions, cut, depth + 1)
                    return Explored(*so_far, False, fails, tuple(seen))
                if fresh:
                    seen[after] = None
                    found.append(after)
            if len(seen) > bounds.states or instance.tried > bounds.events:
                return Explored(len(seen), transitions, cut, depth, False, seen=tuple(seen))
        level = found
        depth += bool(found)
    return Explored(len(seen), transitions, cut, depth, True, seen=tuple(seen))


class _Event:
    """A lazy event: only fields that were read have a value.

    `choices` holds, in the order of reading, the values that a field has not had yet; the last of
    each is the one it has now.
    """

    def __init__(self, choices: list[list[Value]], bounds: Bounds) -> None:
        self.__dict__["_guess"] = (choices, bounds)
        self.__dict__["_read"] = 0

    def __getattr__(self, name: str) -> Value:
        own: dict[str, Any] = self.__dict__
        choices, bounds = own["_guess"]
        place = own["_read"]
        own["_read"] = place + 1
        if place == len(choices):
            choices.append(list(bounds.values(name)))
        value: Value = choices[place][-1]
        own[name] = value
        return value


def _effects(move: Move, read: State, bounds: Bounds) -> Iterator[_Effect | None]:
    """The effects of the events of a kind on a state, of which only `read` is read; None if
    impossible.
    """
    choices: list[list[Value]] = []
    while True:
        yield move.step(read, _Event(choices, bounds))
        while choices and len(choices[-1]) == 1:
            choices.pop()
        if not choices:
            return
        choices[-1].pop()
