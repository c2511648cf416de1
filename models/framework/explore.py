"""Walks a model: all its reachable states, one random run, or a part that is checked for facts.

A model that emits facts which contradict each other is refused. The rule is that of the judge
(`spec.stream`): what breaks a stream. It is applied by one reader, because a shim decides which
claims facts are about.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar

from models.framework.model import Action, Emitted, Model, fault, step
from models.framework.shims import PLAIN, Shim
from models.framework.stepper import FIRST, Names, Stepper
from spec.claims.states import Mode
from spec.language.errors import SpecError

__all__ = ["LIMIT", "LOADED", "Reach", "Step", "check_facts", "reach", "walk"]

State = TypeVar("State", bound=Hashable)

LIMIT: Final = 1_000_000

LOADED: Final = 500
"""States, each with what was emitted before, in which a model is checked when it is loaded."""


@dataclass(frozen=True)
class Reach:
    """What can be reached: states and transitions, and what holds there.

    `broken` are properties of every state that some state does not have, `missed` those of some
    state that none has. `ends` are the states without an enabled action.
    """

    states: int
    transitions: int
    depth: int
    ends: int
    actions: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()


class Step(NamedTuple):
    """A step of a run: what was done, the state after it, and what it emitted."""

    action: Action
    state: Any
    emits: tuple[Emitted, ...]


def reach(model: Model[Any], limit: int = LIMIT, *, symmetric: bool = False) -> Reach:
    """Every reachable state of a model, breadth first.

    Args:
        symmetric: states that differ in the names of blocks alone are one.

    Raises:
        SpecError: there are more states than the limit.
    """
    one_of = model.canonical if symmetric else _itself
    level: deque[Any] = deque(dict.fromkeys(one_of(state)[0] for state in model.initial()))
    seen = set(level)
    always, missed = model.always, dict(model.reachable)
    broken: dict[str, None] = {}
    done: dict[str, None] = {}
    transitions = depth = ends = 0
    while level:
        found: deque[Any] = deque()
        for state in level:
            broken |= dict.fromkeys(name for name, holds in always.items() if not holds(state))
            for name in [name for name, holds in missed.items() if holds(state)]:
                del missed[name]
            actions = list(model.actions(state))
            ends += not actions
            for action in actions:
                transitions += 1
                done[action.name] = None
                after, _ = one_of(step(model, state, action).state)
                if after not in seen:
                    seen.add(after)
                    found.append(after)
        if len(seen) > limit:
            raise SpecError(f"{model.name} has more than {limit} states", "make it smaller")
        depth += bool(found)
        level = found
    return Reach(
        len(seen), transitions, depth, ends, tuple(sorted(done)), tuple(broken), tuple(missed)
    )


def _itself(state: State) -> tuple[State, tuple[int, ...]]:
    return state, ()


def walk(model: Model[Any], seed: int, steps: int, facts: Stepper | None = None) -> Iterator[Step]:
    """A random run of at most so many actions; the same seed makes the same run.

    Args:
        facts: who reads it; a fact that contradicts those before it is refused.
    """
    chance = random.Random(seed)
    state = chance.choice(list(model.initial()))
    known = FIRST
    for _ in range(steps):
        actions = list(model.actions(state))
        if not actions:
            return
        action = chance.choice(actions)
        after, emits = step(model, state, action)
        if facts is not None:
            known = _known(model, facts, known, state, action, emits)
        state = after
        yield Step(action, state, emits)


def check_facts(
    model: Model[Any], shim: Shim = PLAIN, mode: Mode | None = None, limit: int = LOADED
) -> None:
    """Follow a model breadth first, until so many states are known, before anything is concluded.

    Raises:
        SpecError: an action emits what is no event, or what `Stepper.path` refuses; it is named.
    """
    facts = Stepper(model, shim, mode)
    todo = deque((state, FIRST) for state in dict.fromkeys(model.initial()))
    found = set(todo)
    while todo and len(found) <= limit:
        state, known = todo.popleft()
        for action in model.actions(state):
            reached, emits = step(model, state, action)
            following = _known(model, facts, known, state, action, emits)
            reached, blocks = model.canonical(reached)
            if blocks:
                following = facts.renamed(following, Names(blocks))
            if (reached, following) not in found:
                found.add((reached, following))
                todo.append((reached, following))


def _known(
    model: Model[Any],
    facts: Stepper,
    known: int,
    state: object,
    action: Action,
    emits: tuple[Emitted, ...],
) -> int:
    """What is known after what an action in a state emitted."""
    try:
        return facts.path(known, emits)[-1]
    except SpecError as error:
        raise fault(model, state, action, error) from None
