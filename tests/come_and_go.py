"""Claims that come and go for a long time: what an event costs, and how much memory is kept.

`python -m tests.come_and_go 1000000` judges a million claims, a hundred of them live at a time, as
the monitor inside a serving process does.
"""

from __future__ import annotations

import resource
import sys
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from monitor.live.feed import Live
from monitor.live.lines import LiveVerdict
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event

if TYPE_CHECKING:
    from collections.abc import Iterator

LIVE: Final = 100
MODES: Final = (Mode.HARD_PROTECTED, Mode.DEMOTABLE, Mode.EXPIRING, Mode.OFFLOADABLE)
PARTS: Final = 10


class Cost(NamedTuple):
    """Of a part of the stream: `seconds` per event, and the most memory held so far, in bytes."""

    events: int
    seconds: float
    memory: int


def come_and_go(claims: int, live: int = LIVE) -> Iterator[Event]:
    """Claims of the modes in turn, each materialized, used by a request, released and evicted."""
    number = 0

    def event(kind: Kind, **fields: Any) -> Event:
        nonlocal number
        number += 1
        return Event(kind=kind, sequence=number - 1, time_ns=number, **fields)

    for turn in range(claims + live):
        if turn < claims:
            about = {"claim_id": f"claim:{turn}", "object_id": f"prefix:{turn}"}
            predicate, mode = "leading_prefix_at_least(2)", str(MODES[turn % len(MODES)])
            said = {**about, "predicate": predicate, "mode": mode, "owner_scope": "owner"}
            blocks = (2 * (turn % live), 2 * (turn % live) + 1)
            yield event(Kind.CLAIM_REGISTERED, **said)
            yield event(Kind.CLAIM_COMMITTED, **said, footprint=2)
            yield event(Kind.CLAIM_ACCEPTED, **said, footprint=2)
            yield event(Kind.BLOCK_CACHED, **about, block_ids=blocks, positions=(0, 1))
            yield event(Kind.CLAIM_MATERIALIZED, **about)
            request = f"request:{turn}"
            yield event(Kind.REQUEST_ARRIVED, request_id=request, needed=1, usable=4 * live)
            yield event(Kind.PREFIX_LOOKUP, **about, request_id=request, held=2)
            yield event(Kind.REQUEST_FINISHED, request_id=request)
        gone = turn - live + 1
        if 0 <= gone < claims:
            yield event(Kind.CLAIM_RETIRED, claim_id=f"claim:{gone}", by="owner")
            yield event(Kind.CLAIM_RELEASED, claim_id=f"claim:{gone}", by="owner")
            blocks = (2 * (gone % live), 2 * (gone % live) + 1)
            yield event(Kind.BLOCK_EVICTED, block_ids=blocks)


def costs(claims: int) -> Iterator[Cost]:
    """Judge the stream in so many parts; raises AssertionError where a claim was not kept."""
    judge, events = Live("bench", MODES), come_and_go(claims)
    each = -(-11 * claims // PARTS)
    for _ in range(PARTS):
        taken, started = 0, time.perf_counter()
        for event in events:
            judge.take(event)
            taken += 1
            if taken == each:
                break
        told = judge.changes()
        seconds = (time.perf_counter() - started) / taken
        verdicts = (each.verdict for each in told if isinstance(each, LiveVerdict))
        assert {"satisfied"} >= {str(verdict) for verdict in verdicts}
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        yield Cost(taken, seconds, memory)


def main() -> None:
    """Print what each part of the stream costs."""
    claims = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    for cost in costs(claims):
        micros, mebibytes = cost.seconds * 1e6, cost.memory / 2**20
        print(f"{cost.events} events, {micros:.1f} us each, {mebibytes:.0f} MiB", flush=True)


if __name__ == "__main__":
    main()
