"""Where the time of judging a file goes: by steps, and by the kinds of events.

`python -m tests.bench_kinds` judges a stream of the mode that is named (offloadable, by default),
with and without a clock around each event. Of several runs the fastest counts, and of the events of
one kind the median: other work on the machine only adds to it. With `--lose` a line is missing, and
one run says what a line takes on average.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final
from unittest import mock

from monitor.engine import ModeVerdict, Monitor
from monitor.stream.cached_events import WAYS
from monitor.stream.projection import Stream

from monitor.check.files import check
from spec.claims.claim import Mode
from spec.contract.modes import Bundle
from tests.bench_monitor import EVERY, decode, judge, needed
from tests.native import NATIVE
from tests.streams.traffic import Traffic, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from monitor.input.batches import Run

    from spec.events.alphabet import Kind

RUNS: Final = 5


def least(work: Callable[[], object]) -> float:
    """The seconds of the processor that some work takes, of the fastest of several runs."""
    found = []
    for _ in range(RUNS):
        started = time.process_time()
        work()
        found.append(time.process_time() - started)
    return min(found)


def by_kind(path: Path, mode: Mode | None) -> tuple[Counter[Kind], dict[Kind, float]]:
    """How many events of each kind a file has, and what the stream takes for one, in seconds."""
    taken: defaultdict[Kind, list[float]] = defaultdict(list)
    clock = time.perf_counter

    def timed(monitor: Monitor, run: Run) -> None:
        stream: Stream = monitor._stream(run.file, run.stream)
        passes = stream.begin(run)
        assert passes is not None
        monitor._read += len(run.events)
        for event, at in zip(run.events, run.places, strict=True):
            started = clock()
            if passes.passes(event.time_ns or 0):
                stream.elapse(event.time_ns, at)
            stream.take(event, at)
            taken[event.kind].append(clock() - started)

    with mock.patch.object(Monitor, "take_run", timed):
        judge(path, mode)  # the transitions are cached now
        taken.clear()
        judge(path, mode)
    numbers = Counter({kind: len(each) for kind, each in taken.items()})
    return numbers, {kind: statistics.median(each) for kind, each in taken.items()}


def lost(path: Path, mode: Mode | None, line: int) -> float:
    """The seconds of the processor that a line takes in a file of which one line is missing."""
    lines = path.read_bytes().splitlines(keepends=True)
    del lines[line - 1]
    path.write_bytes(b"".join(lines))
    started = time.process_time()
    report = check([str(path)], mode, Bundle.CONTRACT)
    taken = time.process_time() - started
    assert report.verdict is ModeVerdict.INCONCLUSIVE, report.why
    return taken / len(lines)


def main() -> int:
    """Print where the time goes."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="Example: python -m tests.bench_kinds hard_protected"
    )
    parser.add_argument("mode", nargs="?", default="offloadable", choices=[*map(str, Mode), "auto"])
    parser.add_argument("--lines", type=int, default=60_000)
    parser.add_argument("--live", type=int, default=1_000, help="claims that are live")
    parser.add_argument(
        "--lose", type=int, metavar="LINE", help="leave out the line of this number"
    )
    asked = parser.parse_args()
    if asked.lose is not None and not 0 < asked.lose < asked.lines:
        parser.error(f"--lose {asked.lose}: there is no such line")
    mode = None if asked.mode == "auto" else Mode(asked.mode)
    with tempfile.TemporaryDirectory() as folder:
        modes = EVERY if mode is None else (mode,)
        path = write(Path(folder) / "stream.jsonl", Traffic(asked.lines, asked.live, modes))
        if asked.lose is not None:
            found = 1e6 * lost(path, mode, asked.lose)
            print(f"{asked.mode}, {asked.live:,} live claims, line {asked.lose} is missing:")
            print(f"  {found:.1f} microseconds a line, file to verdict")
            return 0
        lines = path.read_bytes().count(b"\n")
        each = 1e6 / lines
        numbers, kinds = by_kind(path, mode)
        alone = least(partial(decode, path, needed(path))) * each
        whole = least(partial(judge, path, mode)) * each
    taking = sum(numbers[kind] * seconds for kind, seconds in kinds.items()) * each
    built = "compiled" if NATIVE else "interpreted"
    print(f"{asked.mode}, {lines} lines, {asked.live:,} live claims, {built}; microseconds a line")
    print(f"  {whole:6.2f}  file to verdict: {alone / whole:.3f} of decoding")
    print(f"  {alone:6.2f}  decoding alone")
    print(f"  {taking:6.2f}  events, with a clock around each")
    print("kinds of events: share of the events' time, microseconds an event, how many")
    for kind in sorted(kinds, key=lambda kind: -kinds[kind] * numbers[kind]):
        share = numbers[kind] * kinds[kind] * each / taking
        way = "" if kind in WAYS else "  (no short way)"
        print(f"  {share:5.1%}  {kinds[kind] * 1e6:6.2f}  {numbers[kind]:6}  {kind}{way}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
