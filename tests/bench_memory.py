"""Memory of claims, live and ended.

`python -m tests.bench_memory` prints what a live claim takes, each further block of one, and a
claim that ended: each measured in a process of its own. `python -m tests.bench_memory gone N` lets
N claims come and go. `tests.bench_bounded` does that with claims of all modes, within limits.
`python -m tests.bench_memory check N` has `check` judge a stream of N live claims of all modes.
"""

from __future__ import annotations

import argparse
import gc
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final, NamedTuple

from monitor.check.conclude import Asked, concluded, found_in
from monitor.check.files import check
from monitor.report.verdict import Report
from monitor.results import ENDED
from monitor.streams import streams_of
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.stream.breaks import Limits
from tests.streams.traffic import Traffic, write

MODE: Final = Mode.HARD_PROTECTED
LIVE: Final = 10_000
GONE: Final = 20_000
OVER: Final = 60_000  # fewer than have a record
BLOCKS: Final = 4
AT_ONCE: Final = 100
PARTS: Final = 40
_STATM: Final = Path("/proc/self/statm")
_PAGE: Final = 4096


class Held(NamedTuple):
    """Resident memory of the process, in bytes, after so many claims."""

    claims: int
    memory: int


def resident() -> int:
    """Bytes of memory that the process holds."""
    return int(_STATM.read_text().split()[1]) * _PAGE


class Run:
    """A monitor that is fed events, each made for the moment and numbered."""

    def __init__(self, *, ended: int = ENDED) -> None:
        self.monitor, self._number = streams_of("run")(MODE, limits=Limits(ended=ended)), 0

    def take(self, kind: Kind, **fields: Any) -> None:
        """One event."""
        event = Event(kind=kind, sequence=self._number, time_ns=self._number, **fields)
        self._number += 1
        assert self.monitor.take_event(event, "run", self._number)

    def begin(self, number: int, first: int, blocks: int) -> None:
        """A claim is accepted and all of its blocks are there."""
        about = {"claim_id": f"claim:{number}", "object_id": f"prefix:{number}"}
        size = f"leading_prefix_at_least({blocks})"
        said = {**about, "predicate": size, "mode": str(MODE), "owner_scope": "owner"}
        self.take(Kind.CLAIM_REGISTERED, **said)
        self.take(Kind.CLAIM_COMMITTED, **said, footprint=blocks)
        self.take(Kind.CLAIM_ACCEPTED, **said, footprint=blocks)
        held = {"block_ids": tuple(range(first, first + blocks)), "positions": (*range(blocks),)}
        self.take(Kind.BLOCK_CACHED, **about, **held)
        self.take(Kind.CLAIM_MATERIALIZED, **about)

    def end(self, number: int, first: int, blocks: int) -> None:
        """It is released, and its blocks are evicted."""
        about = {"claim_id": f"claim:{number}", "by": "owner"}
        self.take(Kind.CLAIM_RETIRED, **about)
        self.take(Kind.CLAIM_RELEASED, **about)
        self.take(Kind.BLOCK_EVICTED, block_ids=tuple(range(first, first + blocks)))


def live(claims: int, blocks: int) -> float:
    """Bytes for each of so many live claims, measured in this process."""
    warm, run = Run(), Run()
    warm.begin(0, 0, blocks)
    gc.collect()
    before = resident()
    for number in range(claims):
        run.begin(number, number * blocks, blocks)
    gc.collect()
    return (resident() - before) / claims


def gone(claims: int, parts: int = PARTS, ended: int = ENDED) -> tuple[list[Held], Report]:
    """The memory after each part of claims that come and go, and what is concluded."""
    run, held = Run(ended=ended), [Held(0, resident())]
    for number in range(claims + AT_ONCE):
        if number < claims:
            run.begin(number, number % AT_ONCE * BLOCKS, BLOCKS)
        if number >= AT_ONCE - 1 and (over := number - AT_ONCE + 1) < claims:
            run.end(over, over % AT_ONCE * BLOCKS, BLOCKS)
        if number and number % max(1, claims // parts) == 0:
            held.append(Held(number, resident()))
    run.monitor.finish()
    return held, concluded(Asked(MODE), found_in(run.monitor, []))


def checked(live: int) -> str:
    """What `check` says of a stream of so many live claims, and the most memory that it held."""
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "stream.jsonl", Traffic(7 * live, live, tuple(Mode)))
        report = check([str(path)], None, Bundle.CONTRACT)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"{report.verdict}: {report.events.read} lines, {most:.0f} MiB"


def over(claims: int) -> float:
    """Bytes for each claim that ended and has a record, measured in this process."""
    held, _ = gone(claims, ended=0)
    half = held[len(held) // 2]
    return (held[-1].memory - half.memory) / (held[-1].claims - half.claims)


def main() -> int:
    """Print figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "what", nargs="?", choices=["live", "gone", "one", "over", "check"], default="live"
    )
    parser.add_argument("claims", nargs="?", type=int)
    parser.add_argument("--blocks", type=int, default=BLOCKS)
    asked = parser.parse_args()
    if asked.what == "gone":
        held, conclusion = gone(asked.claims or GONE)
        for each in held:
            print(f"{each.claims} claims, {each.memory / 2**20:.0f} MiB")
        print(f"{conclusion.verdict}: {conclusion.why}")
    elif asked.what == "one":
        print(live(asked.claims or LIVE, asked.blocks))
    elif asked.what == "check":
        print(checked(asked.claims or LIVE))
    elif asked.what == "over":
        print(over(asked.claims or OVER))
    else:
        claims = asked.claims or LIVE
        few, more = (apart("one", claims, blocks) for blocks in (BLOCKS, 3 * BLOCKS))
        print(f"{few:.0f} B for a live claim of {BLOCKS} blocks")
        print(f"{(more - few) / (2 * BLOCKS):.0f} B for each further block")
        print(f"{apart('over', OVER, BLOCKS):.0f} B for a claim that ended and has a record")
    return 0


def apart(what: str, claims: int, blocks: int) -> float:
    """What is printed of it in a process of its own."""
    command = [sys.executable, "-m", "tests.bench_memory", what, str(claims)]
    found = subprocess.run(
        [*command, "--blocks", str(blocks)], check=True, capture_output=True, text=True
    )
    return float(found.stdout)


if __name__ == "__main__":
    raise SystemExit(main())
