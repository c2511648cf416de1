"""Requests that run step by step in the tiny engine, and questions about its trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime_hooks.claims.arrivals import Arrival
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.tiny import TinyEngine, TinyTier, claim, in_blocks, keys_of

KEYS = keys_of("p", 60)


class RequestSteps:
    """A request, step by step; `blocks` are those that it uses."""

    def __init__(
        self, engine: TinyEngine, name: str, blocks: int = 61, stated: object = None
    ) -> None:
        self.engine, self.name, self.keys = engine, name, keys_of("p", blocks)
        self.blocks: list[int] = []
        arrival = Arrival(name, self.keys, blocks, blocks - 1, stated)
        self.fits, self.answers = engine.arrive(arrival)

    def look(self) -> int:
        """It uses what it finds; how much that is."""
        usable, pool = self.keys[:-1], self.engine.pool
        for key in usable:
            there = [block for found, block in pool.find([key]) if found == key]
            if not there:
                break
            self.blocks.append(there[0])
        pool.hold(self.blocks)
        self.engine.controller.tracker.look_up(self.name, usable, len(self.blocks))
        return len(self.blocks)

    def allocate(self) -> RequestSteps:
        """It takes the blocks that it does not have, which are computed later."""
        self.blocks += self.engine.take(self.name, len(self.keys) - len(self.blocks))
        return self

    def compute(self, start: int = 0, end: int | None = None) -> RequestSteps:
        """These of its blocks are computed."""
        self.engine.compute(self.name, self.keys, start, self.blocks[start:end])
        return self

    def free(self) -> RequestSteps:
        """Its blocks are free, and keep what they hold; it may be scheduled again."""
        self.engine.pool.release(self.blocks[::-1])
        self.blocks = []
        return self

    def end(self) -> None:
        """It is over."""
        self.free()
        self.engine.finish(self.name)


def on(mode: Mode, name: str = "claim:a", blocks: int = 60, **more: Any) -> dict[str, Any]:
    """A claim in this mode."""
    own: dict[Mode, dict[str, Any]] = {
        Mode.EXPIRING: {"duration": "60 s"},
        Mode.SOFT_PRIORITY: {"priority": 3},
    }
    return claim(name, blocks, mode, **own.get(mode, {}), **more)


def engine_of(usable: int = 200) -> TinyEngine:
    """An engine with an offload tier."""
    return TinyEngine(usable, tier=TinyTier())


def reused(engine: TinyEngine) -> list[str | None]:
    """The requests of which a reuse was reported."""
    return [event.request_id for event in engine.kinds("prefix_reused")]


def looked(engine: TinyEngine, name: str = "claim:a") -> list[tuple[int | None, int | None]]:
    """What look-ups asked for of a claim, and what they found."""
    lines = [event for event in engine.kinds("prefix_lookup") if event.claim_id == name]
    return [(event.asked, event.held) for event in lines]


def verdict(engine: TinyEngine, mode: Mode, name: str) -> ModeVerdict:
    """What the monitor concludes of a claim."""
    (mine,) = (c.verdict for c in engine.judge(mode).claims if c.claim_id == name)
    return mine


def offloaded(engine: TinyEngine, taken: Sequence[bytes] = KEYS) -> None:
    """A claim was computed and copied, and its blocks, or these of them, were taken."""
    RequestSteps(engine, "first", 61, on(Mode.OFFLOADABLE)).allocate().compute().end()
    engine.controller.offloaded.stored(KEYS)
    RequestSteps(engine, "filler", 1).end()
    gone = [block for _, block in engine.pool.find(taken)]
    for block in gone:
        del engine.pool.content[block]
    engine.controller.tracker.evicted(gone, "filler")


def load(engine: TinyEngine, hand: RequestSteps, keys: Sequence[bytes] = KEYS) -> None:
    """What a request waits for, all of the claim or these contents, is back from the tier."""
    hand.allocate()
    blocks = hand.blocks[: len(keys)]
    engine.pool.content.update(zip(blocks, keys, strict=True))
    engine.controller.offloaded.loaded(hand.name, in_blocks(keys, blocks))
    engine.controller.tracker.look_up(hand.name, hand.keys[:-1], len(keys))
