"""Models a toy runtime: a cache of one block, and a pin that it forgets when it needs the block.

Left out: everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Final, NamedTuple

from models.framework.model import Action, Model, Next, fact, signal
from spec.events.alphabet import Kind

__all__ = ["VARIANTS", "State", "ToyCache"]


class State(NamedTuple):
    """What is cached, what is pinned, and the requests so far."""

    cached: str = ""
    pinned: bool = False
    waiting: str = ""
    ended: tuple[str, ...] = ()


class ToyCache(Model[State]):
    """A cache of one block. Each request computes a block of its own prefix."""

    name: ClassVar = "toy_cache"
    about: ClassVar = "A cache of one block with pins."
    source: ClassVar = "made up"
    left_out: ClassVar = "everything else"

    prefixes: ClassVar[Mapping[str, str]] = {"r1": "a", "r2": "b"}
    requests = ("r1", "r2")
    holders = ("a",)

    def initial(self) -> Iterator[State]:
        """Nothing is cached."""
        yield State()

    def actions(self, state: State) -> Iterator[Action]:
        """The owner pins what is cached; requests arrive one after another, and are served."""
        if state.cached == "a" and not state.pinned:
            yield Action("pin", ("a",))
        if state.waiting:
            yield Action("serve", (state.waiting,))
        else:
            for name in self.requests[len(state.ended) : len(state.ended) + 1]:
                yield Action("arrive", (name,))

    def apply(self, state: State, action: Action) -> Next[State]:
        """The cache after an action."""
        name = str(action.what[0])
        match action.name:
            case "pin":
                asked = {"predicate": "leading_prefix_at_least(1)", "footprint": 1}
                said = signal("pin", name, object_id=name, owner_scope=f"owner:{name}", **asked)
                return Next(state._replace(pinned=True), (said,))
            case "arrive":
                came = fact(Kind.REQUEST_ARRIVED, request_id=name, needed=1, usable=1)
                return Next(state._replace(waiting=name), (came,))
        evicted = fact(Kind.BLOCK_EVICTED, request_id=name, block_ids=(0,))
        prefix = self.prefixes[name]
        cached = fact(
            Kind.BLOCK_CACHED, request_id=name, object_id=prefix, block_ids=(0,), positions=(0,)
        )
        done = fact(Kind.REQUEST_FINISHED, request_id=name)
        after = State(prefix, False, "", (*state.ended, name))
        return Next(after, (*((evicted,) if state.cached else ()), cached, done))

    @property
    def reachable(self) -> Mapping[str, Callable[[State], bool]]:
        """A block can be pinned."""
        return {"a block is pinned": lambda state: state.pinned}


VARIANTS: Final[Mapping[str, Callable[[], Model[Any]]]] = {"one_block": ToyCache}
