"""Requests as a workload states them, and as an engine serves them."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FRESH", "Request", "Requests", "Run", "Workload"]

FRESH: Final = -(2**64)
"""Keys of a workload are at least this; lower ones stand for contents that it does not state."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request. Of a session, a turn: it comes after the answer of the turn before.

    `keys` are the content keys of the full blocks of the prompt and then of the answer, as far
    as the workload states them. A key stands for the contents of a block with all that precedes
    it, so equal keys may share a block. `prompt` and `output` count tokens. `arrives` is in
    seconds from the start of the workload; where `after` names a request, in seconds from the end
    of that one (the pause of a tool). `tool` is what the answer calls; the turn after it comes when
    that call has ended.
    """

    id: str
    arrives: float
    prompt: int
    output: int
    keys: tuple[int, ...]
    after: str | None = None
    session: str | None = None
    tool: str | None = None
    owner: str | None = None


class Requests(Protocol):
    """Requests that are read again and again; a tuple has them, and so may a file on disk."""

    def __iter__(self) -> Iterator[Request]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, number: int, /) -> Request: ...


@dataclass(frozen=True, slots=True)
class Workload:
    """Requests in the order of their arrival (turns after their first), with the size of a block.

    `block` is in tokens. `name` says where the requests come from.
    """

    name: str
    block: int
    requests: Requests

    def __iter__(self) -> Iterator[Request]:
        return iter(self.requests)


class Run:
    """A request in an engine.

    Attributes:
        engine: the number of its engine.
        keys: of all its full blocks; those without a stated content have keys of their own.
        needed: blocks that it uses at its end.
        generated: tokens of the answer that a preemption left.
        hit: blocks found in the pool at its first admission; `loaded`: those found in a tier.
        computed: tokens of the prompt that were computed, also those computed again.
        stated: blocks that it needs besides claims, when it was last decided on.
        victims: keys that were evicted for it.
        blockers: claims that kept it out, if it was refused.
    """

    __slots__ = (
        "admitted", "arrived", "blockers", "blocks", "claimed", "computed", "deferred", "ended",
        "engine", "first", "generated", "hit", "keys", "loaded", "needed", "number", "preempted",
        "request", "since", "stated", "step", "stored", "victims",
    )  # fmt: skip

    def __init__(self, request: Request, block: int, arrived: float, fresh: int) -> None:
        tokens = request.prompt + max(request.output, 1) - 1
        full = tokens // block
        keys = request.keys
        if len(keys) < full:
            keys += tuple(range(fresh - full + len(keys), fresh))
        self.request, self.keys, self.arrived = request, keys, arrived
        self.needed = -(-tokens // block)
        self.blocks: list[int] = []
        self.blockers: list[str] = []
        self.victims: list[int] = []
        self.admitted = self.first = self.ended = self.since = inf
        self.generated = self.hit = self.loaded = self.computed = self.stored = 0
        self.engine = 0
        self.number = self.step = self.preempted = self.stated = 0
        self.deferred = self.claimed = False
