"""A thousand streams of which one is busy, and a query that goes on until a signal."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

from monitor.fleet.command import Job, run_fleet
from monitor.fleet.keyed import Asked
from tests.monitor.follow.traces import trace
from tests.soak.compare import compared, due_of
from tests_fleet.runs import QUICK, fleet, parquet_rows, verdicts, write

FILES = 9
STREAMS = 111
PIECES = 4
_WAIT_S = 300.0


def batches_of(out: Path, *, busy: bool) -> set[int]:
    """The batches with rows of the busy stream, or of the others."""
    found = set()
    for folder in (out / "rows" / "parquet").glob("batch=*"):
        if any(busy == (row["source"] == "busy/") for row in parquet_rows(folder)):
            found.add(int(folder.name.partition("=")[2]))
    return found


def test_a_busy_stream_among_a_thousand(tmp_path: Path) -> None:
    """The verdicts of 999 streams are there after the first batch, while the busy stream that came
    with them needs more; all are those of `check`.
    """
    few, many = trace(1), trace(400)
    source, due = tmp_path / "in", {}
    for number in range(FILES):
        names = [b'"stream":"e%d"' % each for each in range(STREAMS)]
        lines = [line.replace(b'"stream":"engine"', name) for line in few for name in names]
        due[f"f{number}.jsonl"] = write(source / f"f{number}.jsonl", lines)
    small = sum(path.stat().st_size for path in due.values())
    due["busy/"] = write(tmp_path / "busy.jsonl", many)
    each = -(-len(many) // PIECES)
    for piece in range(PIECES):
        part = many[piece * each : (piece + 1) * each]
        path = write(source / "busy" / f"p-{piece}.jsonl", part)
        os.utime(path, (1e9 + piece, 1e9 + piece))
        if not piece:
            size = small + path.stat().st_size
    for path in source.glob("f*.jsonl"):
        os.utime(path, (1e9, 1e9))
    os.environ.update(QUICK)
    out = tmp_path / "out"
    where = str(source), str(tmp_path / "state"), str(out)
    run_fleet(Job(*where, Asked(), "local[2]", partitions=2, batch_bytes=size))
    assert {0} == batches_of(out, busy=False)
    assert max(batches_of(out, busy=True)) >= 1
    found = verdicts(out)
    for name, path in due.items():
        compared([line for line in found if line.source == name], due_of(path), whole=True)
    assert FILES * STREAMS + 1 == len({(line.source, line.stream) for line in found})


def test_until_a_signal(tmp_path: Path) -> None:
    """With --stream a file that comes later is judged by the query that runs; SIGTERM ends it, and
    each verdict is there once.
    """
    source, out = tmp_path / "in", tmp_path / "out"
    due = {"a.jsonl": write(source / "a.jsonl", trace(20))}
    rows = out / "rows" / "jsonl"
    seen: list[int] = []

    def feed() -> None:
        end = time.monotonic() + _WAIT_S
        while not (rows / "batch=000000000" / "_SUCCESS").exists() and time.monotonic() < end:
            time.sleep(0.2)
        due["b.jsonl"] = write(tmp_path / "b.jsonl", trace(30))
        (source / "b.jsonl").write_bytes(due["b.jsonl"].read_bytes())
        while len([*rows.glob("batch=*/_SUCCESS")]) < 2 and time.monotonic() < end:
            time.sleep(0.2)
        seen.append(len([*rows.glob("batch=*/_SUCCESS")]))
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=feed, daemon=True)
    thread.start()
    done = fleet(source, tmp_path / "state", out, "--stream")
    thread.join()
    assert [2] == seen
    assert done.code in (0, 1, 3), done.wrong
    found = verdicts(out)
    for name, path in due.items():
        compared([line for line in found if line.source == name], due_of(path), whole=True)
