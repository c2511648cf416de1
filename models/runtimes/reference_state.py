"""Defines what the reference runtime keeps: blocks, claims, requests and copies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

__all__ = ["Prompt", "Request", "State", "Wanted", "blocks_of"]


class Wanted(NamedTuple):
    """A claim that an owner will ask for: the first `size` blocks of an object."""

    holder: str
    object_id: str
    size: int
    priority: int = 0


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

    `asked` claims and `arrived` requests came so far.
    """

    cached: tuple[tuple[str, int] | None, ...]
    live: tuple[Wanted, ...] = ()
    requests: tuple[Request, ...] = ()
    copies: tuple[str, ...] = ()
    asked: int = 0
    arrived: int = 0

    def of(self, name: str) -> Request:
        """The unfinished request of this name."""
        return next(each for each in self.requests if each.prompt.name == name)

    def on(self, name: str) -> list[Wanted]:
        """The live claims on an object."""
        return [each for each in self.live if each.object_id == name]

    def holds(self, claim: Wanted) -> bool:
        """Whether the predicate of a claim is true."""
        return blocks_of([claim]) <= set(self.cached)


def blocks_of(claims: Iterable[Wanted], name: str | None = None) -> set[Any]:
    """The object and the position of each block that claims are on, of one object if it is named."""
    on = (each for each in claims if name in (None, each.object_id))
    return {(each.object_id, position) for each in on for position in range(each.size)}
