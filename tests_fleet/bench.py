"""What a line costs on Spark in batch, beside `check` on one core: `make bench-fleet`.

The start of Spark and of its Python processes is excluded: one query judges a small fleet first,
in the same session. The ratio is of the time on the clock, times the cores, to the processor time
of `check`: on a machine that does other work it is too high.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path

from monitor.check.files import check
from monitor.fleet.keyed import Asked, Given, Keyed
from monitor.fleet.query import open_claims, started
from monitor.fleet.runs import runs_of
from monitor.fleet.session import session
from spec.contract.modes import Bundle
from tests.monitor.follow.traces import trace

_MIB = 1 << 20


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
    parser.add_argument("--lines", type=int, default=100_000, help="of each fleet, about")
    parser.add_argument("--streams", type=int, nargs="+", default=[10, 1_000])
    parser.add_argument("--cores", type=int, default=1)
    asked = parser.parse_args()
    spark = session(f"local[{asked.cores}]", 2 * asked.cores)
    root = Path(tempfile.mkdtemp(prefix="bench-fleet-"))
    _seconds(spark, root / "warm", 2, 20)
    print(f"judge: {os.environ.get('RESIDENT_CLAIMS_CORE') or 'default'}; {asked.cores} cores")
    for streams in asked.streams:
        claims = max(2, asked.lines // streams // 11)
        lines, fleet_s, open_s, files = _seconds(spark, root / str(streams), streams, claims)
        begin = time.process_time()
        check(files, None, Bundle.CONTRACT)
        check_s = time.process_time() - begin
        state, keyed_s = _keyed(files[:20])
        print(
            f"{streams} streams, {lines} lines ({lines // streams} each): fleet "
            f"{fleet_s / lines * 1e6:.1f} us a line (and {open_s:.1f} s for open claims), check "
            f"{check_s / lines * 1e6:.1f} us, x{fleet_s * asked.cores / check_s:.2f}; "
            f"the judge of a key alone {keyed_s * 1e6:.1f} us; state {state} bytes a stream",
            flush=True,
        )
    spark.stop()
    shutil.rmtree(root)


def _seconds(spark, root: Path, streams: int, claims: int):  # type: ignore[no-untyped-def]
    lines, files = fleet_of(root / "in", streams, claims)
    begin = time.monotonic()
    where = str(root / "in"), str(root / "out"), str(root / "state")
    started(spark, *where, Asked(), 256 * _MIB, once=True).awaitTermination()
    middle = time.monotonic()
    open_claims(spark, str(root / "state"), str(root / "out"), Asked())
    return lines, middle - begin, time.monotonic() - middle, files


def _keyed(files: list[str]) -> tuple[int, float]:
    """Bytes of state of a stream, and seconds a line, of streams judged here without Spark."""
    size = lines = 0
    begin = time.process_time()
    for path in files:
        keyed = Keyed(path, "engine", Asked())
        for run in runs_of(path):
            lines += run.data.count(b'"kind"')
            for _ in keyed.take([Given(path, run.first, run.data)]):
                pass
        size += len(keyed.save())
    return size // len(files), (time.process_time() - begin) / lines


if __name__ == "__main__":
    main()
