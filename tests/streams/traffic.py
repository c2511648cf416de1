"""Long honest streams of many live claims, written fast: what the monitor's speed is measured on.

A stream has so many claims alive at once. Each is entered, used twice by a request, and given up
for the next one; which claim is used goes round in order, or is chosen at random.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import msgspec

from spec.claims.states import Mode
from spec.events.canonical import EVENT_ENCODER, Event

__all__ = ["Traffic", "as_events", "write"]

Line = dict[str, Any]
BLOCKS: Final = 2
USES: Final = 2
NATURAL: Final = 150
"""The mean length of a line that has short names, in bytes."""

NARROW: Final = 16
"""Between two requests that do not fit there are so many that do."""

SHARED: Final = 4
"""So many claims in a row have their first block in common, in a stream of shared prefixes."""

_ENDS: Final = frozenset({Mode.HARD_PROTECTED, Mode.DEMOTABLE, Mode.EXPIRING, Mode.OFFLOADABLE})


class Traffic(NamedTuple):
    """What a stream is made of.

    `width` is the mean length of a line in bytes, about; `narrow` says that requests come that do
    not fit and are refused; `shared` that claims share blocks.
    """

    lines: int
    live: int
    modes: tuple[Mode, ...] = (Mode.OFFLOADABLE,)
    width: int = 150
    shuffled: bool = False
    narrow: bool = False
    shared: bool = False


class _Pool:
    """Claims by number, with what each of them holds."""

    def __init__(self, traffic: Traffic) -> None:
        self.traffic = traffic
        self.pad = "x" * (max(0, traffic.width - NATURAL) * 55 // 100)
        self.usable = (BLOCKS + 1) * (traffic.live + 8)
        self.requests = 0
        self.free = deque(range(BLOCKS * (traffic.live + 1)))

    def name(self, number: int) -> str:
        return f"claim:{number}{self.pad}"

    def mode(self, number: int) -> Mode:
        return self.traffic.modes[number % len(self.traffic.modes)]

    def fresh(self) -> list[int]:
        return [self.free.popleft() for _ in range(BLOCKS)]

    def enter(self, number: int) -> tuple[list[Line], list[int]]:
        """The lines with which a claim begins, and its blocks."""
        mode, claim = self.mode(number), {"claim_id": self.name(number)}
        terms: Line = {
            "cache_identity": "model/16",
            "object_id": f"prefix:{number}{self.pad}",
            "predicate": f"leading_prefix_at_least({BLOCKS})",
            "mode": str(mode),
            "owner_scope": "tenant-a",
        }
        if mode is Mode.EXPIRING:
            terms["duration"] = "100000 s"
        if mode is Mode.SOFT_PRIORITY:
            terms["priority"] = 5
        size = {"footprint": BLOCKS}
        lines: list[Line] = [{"kind": "claim_registered", **claim, **terms, **size}]
        if mode in _ENDS:
            keys = {"content_keys": self.keys(number)} if self.traffic.shared else {}
            lines.append({"kind": "claim_committed", **claim, **size, **keys})
            lines.append({"kind": "claim_accepted", **claim, **size})
        blocks = self.fresh()
        cached = {"block_ids": blocks, "positions": list(range(BLOCKS))}
        lines.append({"kind": "block_cached", **claim, **cached})
        lines.append({"kind": "claim_materialized", **claim})
        if mode is Mode.OFFLOADABLE:
            lines.append({"kind": "store_finished", **claim})
        return lines, blocks

    def keys(self, number: int) -> list[str]:
        return [f"s{number // SHARED}", f"k{number}"]

    def use(self, number: int, blocks: list[int]) -> tuple[list[Line], list[int]]:
        """The lines with which a request uses a claim, and its blocks afterwards."""
        self.requests += 1
        request = {"request_id": f"request:{self.requests}{self.pad}"}
        both = {"claim_id": self.name(number), **request}
        arrived = {"kind": "request_arrived", **request, "needed": 1, "usable": self.usable}
        finished = {"kind": "request_finished", **request}
        found = {"kind": "prefix_lookup", **both, "held": BLOCKS, "asked": BLOCKS}
        match self.mode(number):
            case Mode.OFFLOADABLE if not self.traffic.shared:
                gone = {"kind": "block_evicted", "block_ids": blocks}
                self.free += blocks
                blocks = self.fresh()
                back = {"block_ids": blocks, "positions": list(range(BLOCKS)), "held": BLOCKS}
                return [
                    gone,
                    arrived,
                    {"kind": "prefix_lookup", **both, "held": 0, "asked": BLOCKS},
                    {"kind": "claim_restore_required", **both},
                    {"kind": "load_finished", **both, **back},
                    {"kind": "claim_restored", **both, "from_tier": True},
                    {"kind": "prefix_reused", **both},
                    finished,
                ], blocks
            case Mode.ROUTED_REUSE:
                place = {"worker": f"worker:{self.requests % 8}"}
                cost = {"cost": self.requests % 100}
                return [
                    arrived,
                    {"kind": "request_routed", **both, **cost, **place},
                    {"kind": "route_cost_reported", **both, **cost},
                    {"kind": "route_placement_reported", **both, **place},
                    {"kind": "reuse_served", **both, "hit": True},
                    {"kind": "route_reuse_reported", **both, "hit": True},
                    finished,
                ], blocks
            case _:
                return [arrived, found, {"kind": "prefix_reused", **both}, finished], blocks

    def refuse(self, live: Iterable[int]) -> list[Line]:
        """A request that does not fit beside the claims, and is refused in the name of them all."""
        self.requests += 1
        names = list(live)
        request = {"request_id": f"request:{self.requests}{self.pad}"}
        resident, usable = BLOCKS * len(names), self.usable
        proof = {
            "resident": resident,
            "active": usable,
            "total": resident + usable,
            "usable": usable,
            "shortfall": resident,
        }
        why = {"blocking_claim_ids": [self.name(number) for number in names], "proof": proof}
        return [
            {"kind": "request_arrived", **request, "needed": usable, "usable": usable},
            {"kind": "request_refused", **request, **why},
            {"kind": "request_finished", **request},
        ]

    def leave(self, number: int, blocks: list[int]) -> list[Line]:
        """The lines with which a claim ends, and its blocks are free again."""
        self.free += blocks
        by = {"claim_id": self.name(number), "by": "tenant-a"}
        ended = [{"kind": "claim_retired", **by}]
        if self.mode(number) in _ENDS:
            ended.append({"kind": "claim_released", **by})
        return [*ended, {"kind": "block_evicted", "block_ids": blocks}]


def turns(traffic: Traffic) -> Iterator[list[Line]]:
    """Lines that belong together, without their place in the stream; there is no end to them."""
    pool, chance = _Pool(traffic), Random(0)
    slots: list[tuple[int, list[int], int]] = []
    entered = turn = 0

    def enter(slot: int) -> list[Line]:
        nonlocal entered
        lines, blocks = pool.enter(entered)
        slots[slot : slot + 1] = [(entered, blocks, 0)]
        entered += 1
        return lines

    for slot in range(traffic.live):
        yield enter(slot)
    while True:
        slot = chance.randrange(traffic.live) if traffic.shuffled else turn % traffic.live
        turn += 1
        number, blocks, uses = slots[slot]
        if uses == USES:
            yield pool.leave(number, blocks) + enter(slot)
            number, blocks, uses = slots[slot]
        lines, blocks = pool.use(number, blocks)
        slots[slot] = (number, blocks, uses + 1)
        yield lines
        if traffic.narrow and turn % NARROW == 0:
            yield pool.refuse(number for number, _, _ in slots)


def events(traffic: Traffic) -> Iterator[Line]:
    """The fields of each line; nothing is left half done at the end."""
    stream = "engine-0/run-20261125-a" + "s" * (max(0, traffic.width - NATURAL) // 4)
    number = 0
    for lines in turns(traffic):
        for line in lines:
            place = {"stream": stream, "sequence": number, "time_ns": 1_000_000 + 1_000 * number}
            yield {"kind": line["kind"], **place, **line}
            number += 1
        if number >= traffic.lines:
            return


def as_events(traffic: Traffic) -> Iterator[Event]:
    """The events of a stream."""
    return (msgspec.convert(line, Event) for line in events(traffic))


def write(path: Path, traffic: Traffic) -> Path:
    """A stream of at least so many lines as a file."""
    with path.open("wb") as file:
        file.writelines(EVENT_ENCODER.encode(event) + b"\n" for event in as_events(traffic))
    return path
