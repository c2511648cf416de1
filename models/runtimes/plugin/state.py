"""Defines what the model of the plugin keeps: vLLM's pool, the claims, the unfinished requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from models.framework.blocks import Content
from models.framework.claims import Claim

__all__ = ["Bounded", "Instance", "Prompt", "Running", "State", "Waiting"]


class Prompt(NamedTuple):
    """A request: `shared` whole blocks of an object, `own` ones, and `tail` that are not whole.

    `between` are blocks between the shared and the own ones that it has in common with the own
    parts of other prompts: the request, and how many of the first blocks of its own part.
    `claims` are the holders whose claims come with it; the claim of one that the instance does not
    know cannot be read, and is rejected without a registration. It can reuse all whole blocks if it
    has a tail, and else all but the last, because one token is to be computed. Where it is not
    `admitted` nothing that it computes is cached. `least` are the fewest blocks with which it can
    be served, if its output has no limit of its own; else 0.
    """

    name: str
    object_id: str = ""
    shared: int = 0
    own: int = 0
    tail: int = 0
    claims: tuple[str, ...] = ()
    admitted: bool = True
    between: tuple[tuple[str, int], ...] = ()
    least: int = 0

    @property
    def contents(self) -> tuple[Content, ...]:
        """The contents of its whole blocks."""
        parts, found, at = (*self.between, (self.name, self.own)), [], self.shared
        for name, size in parts:
            found += [(name, place) for place in range(at, at + size)]
            at += size
        return (*((self.object_id, place) for place in range(self.shared)), *found)

    @property
    def before(self) -> int:
        """How many blocks are before its own part."""
        return self.shared + sum(size for _, size in self.between)

    @property
    def blocks(self) -> int:
        """The most blocks that it comes to use."""
        return self.before + self.own + self.tail

    @property
    def reusable(self) -> int:
        """How many of its first blocks it can find in the cache."""
        return self.before + self.own - (not self.tail)


class Instance(Protocol):
    """What an instance of the model is made of; see `models.runtimes.plugin.Plugin`."""

    usable: int
    defer: bool
    enforce: bool
    tier: bool
    claims: Mapping[str, Claim]
    prompts: Mapping[str, Prompt]


class Waiting(NamedTuple):
    """A request without blocks: it `runs` as soon as it gets some, `waits`, or is `refused`.

    `needed` is what it stated. `changed` says that the claims changed since it was last reported.
    """

    name: str
    needed: int
    how: str
    changed: bool = False


class Running(NamedTuple):
    """A request that has blocks. It `loads`, `waits` for the rest of its blocks, `runs`, is `done`.

    `start` is the first position that it computes or loads, `claims` those that are being restored.
    """

    name: str
    needed: int
    blocks: tuple[int, ...]
    how: str
    start: int
    claims: tuple[str, ...] = ()


class Bounded(NamedTuple):
    """A request that was bounded to so many `blocks`.

    `needed` is what it stated. `changed` says that the claims changed since it was last reported.
    """

    name: str
    needed: int
    blocks: int
    changed: bool = False


class State(NamedTuple):
    """The engine.

    `free` are the blocks that no request uses, the next victim first; `cached` says of each block
    what it is filed under, and `again` has those that were filed under what another one was, in
    that order. `held` are the blocks that are excluded from eviction, the oldest first. `owned` are
    the blocks of claims that are kept, `watched` those of watched ones, in the order in which they
    came to be. `copies` says of an object how many of its first blocks the tier has. `bounded` are
    the unfinished requests that were bounded.
    """

    free: tuple[int, ...]
    cached: tuple[Content | None, ...]
    again: tuple[int, ...] = ()
    held: tuple[int, ...] = ()
    owned: tuple[int, ...] = ()
    watched: tuple[int, ...] = ()
    live: tuple[str, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    running: tuple[Running, ...] = ()
    copies: tuple[tuple[str, int], ...] = ()
    bounded: tuple[Bounded, ...] = ()
    arrived: int = 0
    closed: bool = False
