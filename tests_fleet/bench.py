"""What a line costs on Spark in batch, beside `check` on one core: `make bench-fleet`.

All figures are processor time, of Spark's process and its Python processes together, because
machines do other work meanwhile. The start of Spark and of its Python processes is excluded: one
query judges a small fleet first, in the same session.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import threading
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from monitor.check.files import check
from monitor.fleet.command import Job, judge_all
from monitor.fleet.keyed import Asked, Given, Keyed
from monitor.fleet.query import open_claims
from monitor.fleet.runs import runs_of, unpacked
from monitor.fleet.session import session
from monitor.native import core
from spec.contract.modes import Bundle
from tests.monitor.follow.traces import trace
from tests.streams.traffic import Traffic, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

_LOOK_S = 0.5  # between two looks at processes, of which some end


class _Processors(threading.Thread):
    """Processor time of this process and of all that it started. A process that ended counts with
    what it had when it was last seen: Spark's Python processes leave their time to no parent.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._lock, self._ticks = threading.Lock(), dict[int, int]()
        self.start()

    def run(self) -> None:
        """Look again and again."""
        while True:
            time.sleep(_LOOK_S)
            self._look()

    def seconds(self) -> float:
        """The time so far."""
        self._look()
        return sum(self._ticks.values()) / os.sysconf("SC_CLK_TCK")

    def _look(self) -> None:
        times, parents = {}, {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                fields = path.read_text().rpartition(")")[2].split()
                parents[int(path.parent.name)] = int(fields[1])
                times[int(path.parent.name)] = sum(map(int, fields[11:13]))
        own = {os.getpid()}
        while more := {each for each, parent in parents.items() if parent in own} - own:
            own |= more
        with self._lock:
            self._ticks |= {each: times[each] for each in own}


class _Measured(NamedTuple):
    """Processor time of the query, and of the verdicts on open claims."""

    lines: int
    files: list[str]
    query: float
    still_open: float


def fleet_of(folder: Path, streams: int, claims: int) -> tuple[int, list[str]]:
    """Write one file for each stream; the number of lines, and the files."""
    folder.mkdir(parents=True)
    lines = trace(claims)
    paths = [folder / f"engine-{number}.jsonl" for number in range(streams)]
    for path in paths:
        path.write_bytes(b"".join(lines))
    return len(lines) * streams, [str(path) for path in paths]


def main() -> None:
    """Measure, and print a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=200_000, help="of each fleet, about")
    parser.add_argument("--streams", type=int, nargs="*", default=[10, 1_000])
    parser.add_argument("--live", type=int, nargs="*", default=[1, 10, 100, 1_000])
    asked = parser.parse_args()
    print(f"judge: {core()}", flush=True)
    for live in asked.live:
        _one_stream(live)
    if asked.streams:
        _on_spark(asked.lines, asked.streams)


def _one_stream(live: int) -> None:
    """What a stream with so many live claims costs without Spark."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        write(path, Traffic(20 * live + 200, live))
        lines = path.read_bytes().count(b"\n")
        begin = time.process_time()
        keyed = Keyed("a", "", Asked())
        for run in runs_of(str(path)):
            deque(keyed.take([Given("a", run.first, run.data)]), maxlen=0)
        judged = time.process_time()
        state = keyed.save()
        saved = time.process_time()
        Keyed("a", "", Asked(), state)
        loaded = time.process_time()
        check([str(path)], None, Bundle.CONTRACT)
        checked = time.process_time()
    print(
        f"{live} live claims: {(judged - begin) / lines * 1e6:.1f} us a line, check "
        f"{(checked - loaded) / lines * 1e6:.1f}; state {len(state)} bytes, saved in "
        f"{(saved - judged) * 1e3:.1f} ms, taken up in {(loaded - saved) * 1e3:.1f} ms",
        flush=True,
    )


def _on_spark(each: int, sizes: Sequence[int]) -> None:
    """Judge a tenth of the lines and then all of them, each in one batch: the difference is what
    lines cost, and the rest is what the batch and its streams cost.
    """
    spark = session("local[2]", 2)
    root, processors = Path(tempfile.mkdtemp(prefix="bench-fleet-")), _Processors()
    fleet_of(root / "warm" / "in", 4, 20)
    _judged(spark, root / "warm", processors)
    for streams in sizes:
        few = _measured(spark, root, streams, each // 10, processors)
        lines, files, fleet, still = many = _measured(spark, root, streams, each, processors)
        slope = (many.query - few.query) / (many.lines - few.lines)
        alone = time.process_time()
        check(files, None, Bundle.CONTRACT)
        alone = (time.process_time() - alone) / lines
        key, size = _by_key(files[:20])
        print(
            f"{streams} streams of {lines // streams} lines: fleet {fleet / lines * 1e6:.1f} us a "
            f"line, check {alone * 1e6:.1f}, x{fleet / lines / alone:.2f}; without what the batch "
            f"costs, {many.query - slope * lines:.1f} s, {slope * 1e6:.1f} us a line, "
            f"x{slope / alone:.2f}; the judge of a key without Spark {key * 1e6:.1f}; open claims "
            f"{still / streams * 1e3:.1f} ms and state {size} bytes a stream",
            flush=True,
        )
    spark.stop()
    shutil.rmtree(root)


def _measured(
    spark: SparkSession, root: Path, streams: int, each: int, processors: _Processors
) -> _Measured:
    folder = Path(tempfile.mkdtemp(dir=root))
    lines, files = fleet_of(folder / "in", streams, max(1, each // streams // 11))
    return _Measured(lines, files, *_judged(spark, folder, processors))


def _judged(spark: SparkSession, folder: Path, processors: _Processors) -> tuple[float, float]:
    begin = processors.seconds()
    where = str(folder / "in"), str(folder / "state"), str(folder / "out")
    judge_all(spark, Job(*where, Asked(), batch_bytes=1 << 40))
    middle = processors.seconds()
    open_claims(spark, str(folder / "state" / "query"), str(folder / "out"), Asked())
    return middle - begin, processors.seconds() - middle


def _by_key(files: list[str]) -> tuple[float, int]:
    """Processor time a line of streams judged here without Spark, and bytes of state a stream."""
    size = lines = 0
    begin = time.process_time()
    for path in files:
        keyed = Keyed(path, "engine", Asked())
        for run in runs_of(path):
            lines += len(unpacked(run.data))
            deque(keyed.take([Given(path, run.first, run.data)]), maxlen=0)
        size += len(keyed.save())
    return (time.process_time() - begin) / lines, size // len(files)


if __name__ == "__main__":
    main()
