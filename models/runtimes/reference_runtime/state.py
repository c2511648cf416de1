"""Defines what the reference runtime keeps: blocks, claims, requests and copies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

from models.framework.model import Emitted, fact
from models.framework.shims import claim_of
from spec.claims.claim import Mode
from spec.events.alphabet import Kind

__all__ = [
    "Events",
    "Prompt",
    "Request",
    "State",
    "Wanted",
    "blocks_of",
    "ids_of",
    "of_request",
    "said",
    "usual",
    "with_request",
]

Events: TypeAlias = tuple[Emitted, ...]


class Wanted(NamedTuple):
    """A claim that an owner will ask for: the first `size` blocks of an object."""

    name: str
    object_id: str
    size: int
    priority: int = 0

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of its contents."""
        return tuple(f"{self.object_id}:{position}" for position in range(self.size))

    def terms(self, mode: Mode) -> dict[str, Any]:
        """The fields of the events that introduce it."""
        return {
            "object_id": self.object_id,
            "predicate": f"leading_prefix_at_least({self.size})",
            "mode": str(mode),
            "owner_scope": f"owner:{self.name}",
            "footprint": self.size,
            "duration": "9 steps" if mode is Mode.EXPIRING else None,
            "priority": self.priority if mode is Mode.SOFT_PRIORITY else None,
        }


class Prompt(NamedTuple):
    """A request: how many blocks of an object it begins with, and how many of its own it needs."""

    name: str
    object_id: str
    shared: int
    own: int


class Request(NamedTuple):
    """An unfinished request: its stated need, its worker, and its blocks once it has them."""

    prompt: Prompt
    needed: int
    worker: int | None = None
    blocks: tuple[int, ...] = ()


class State(NamedTuple):
    """What blocks cache, the live claims, unfinished requests, and the objects with a copy.

    `came` counts the claims and requests so far.
    """

    cached: tuple[tuple[str, int] | None, ...]
    live: tuple[Wanted, ...] = ()
    requests: tuple[Request, ...] = ()
    copies: tuple[str, ...] = ()
    came: int = 0

    def of(self, name: str) -> Request:
        """The unfinished request of this name."""
        return next(each for each in self.requests if each.prompt.name == name)

    def on(self, name: str) -> list[Wanted]:
        """The live claims on an object."""
        return [each for each in self.live if each.object_id == name]

    def holds(self, claim: Wanted) -> bool:
        """Whether the predicate of a claim is true."""
        return blocks_of([claim]) <= set(self.cached)

    def away(self, request: Request) -> list[Wanted]:
        """The claims that have to come back from the tier before a request may run."""
        on = self.on(request.prompt.object_id)
        return [each for each in on if each.object_id in self.copies and not self.holds(each)]

    def rank(self, block: int) -> int:
        """The highest priority of a claim on a block; 0 if unclaimed, -1 if empty."""
        on = (each.priority for each in self.live if self.cached[block] in blocks_of([each]))
        return max(on, default=0) if self.cached[block] else -1


def blocks_of(claims: Iterable[Wanted], name: str | None = None) -> set[Any]:
    """The object and position of each block that claims are on, of one object if it is named."""
    on = (each for each in claims if name in (None, each.object_id))
    return {(each.object_id, position) for each in on for position in range(each.size)}


def ids_of(claims: Iterable[Wanted]) -> tuple[str, ...]:
    """The ids of claims."""
    return tuple(claim_of(each.name) for each in claims)


def said(claim: Wanted, *kinds: Kind, **fields: Any) -> Events:
    """Events that name a claim."""
    return tuple(fact(kind, claim_id=claim_of(claim.name), **fields) for kind in kinds)


def of_request(request: Request, kind: Kind, **fields: Any) -> Events:
    """An event of a request."""
    return (fact(kind, request_id=request.prompt.name, **fields),)


def with_request(state: State, request: Request) -> State:
    """The state with this request in the place of the one of its name."""
    name = request.prompt.name
    requests = (request if each.prompt.name == name else each for each in state.requests)
    return state._replace(requests=tuple(requests))


def usual(mode: Mode) -> tuple[Wanted | Prompt, ...]:
    """What comes to the instance of a mode: three claims, two of them on one object, and pressure.

    An order of victims shows where one block of several has to go, a restore where a request comes
    back to what was evicted.
    """
    a, first, also_a = Wanted("c1", "a", 1, 1), Prompt("r1", "a", 1, 0), Wanted("c3", "a", 1, 3)
    known = a, first, also_a, Wanted("c2", "b", 1, 5)
    if mode is Mode.SOFT_PRIORITY:
        return (*known, Prompt("r2", "b", 1, 0), Prompt("r3", "", 0, 1))
    if mode is Mode.OFFLOADABLE:
        return (*known, Prompt("r2", "", 0, 2), Prompt("r3", "a", 1, 0))
    return (*known, Prompt("r2", "b", 1, 1))
