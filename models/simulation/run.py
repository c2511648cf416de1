"""A request while an engine serves it."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from models.simulation.request import Request

__all__ = ["Run"]


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
