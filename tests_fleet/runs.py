"""Runs the command on Spark, and reads what it wrote."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow.parquet

from monitor.__main__ import main
from monitor.follow.verdict_line import VerdictLine

__all__ = ["LOCAL", "QUICK", "Printed", "fleet", "parquet_rows", "verdicts", "write"]

QUICK = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""Has Java start fast, for runs that are short."""

LOCAL = ("--master", "local[2]", "--partitions", "2")


class Printed(NamedTuple):
    """The exit code of the command, what it printed as JSON, and what it said beside that."""

    code: int
    found: dict[str, Any]
    wrong: str


def fleet(source: Path, state: Path, out: Path, *more: str) -> Printed:
    """Run the command in this process, whose Java goes on for the next run."""
    where = [str(source), "--checkpoint", str(state), "--out", str(out)]
    os.environ.update(QUICK)
    said, wrong = (io.TextIOWrapper(io.BytesIO(), write_through=True) for _ in range(2))
    with redirect_stdout(said), redirect_stderr(wrong):
        code = main(["fleet", *where, *LOCAL, "--format", "json", *more])
    printed, errors = (each.buffer.getvalue().decode() for each in (said, wrong))
    return Printed(code, json.loads(printed or "null"), errors)


def write(path: Path, lines: Iterable[bytes]) -> Path:
    """Write lines to a file whose folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(line.rstrip(b"\n") + b"\n" for line in lines))
    return path


def verdicts(out: Path, *kinds: str) -> list[VerdictLine]:
    """The verdicts in folders that were written as a whole, those of open claims last."""
    places = {"verdicts": (out / "rows" / "jsonl", "kind=verdicts/"), "open": (out / "open", "")}
    found = []
    for folder, kind in (places[each] for each in kinds or places):
        for mark in sorted(folder.rglob("_SUCCESS")):
            for part in sorted(mark.parent.glob(f"{kind}part-*.txt")):
                for line in part.read_bytes().splitlines():
                    found.append(msgspec.json.decode(line, type=VerdictLine))
    return found


def parquet_rows(folder: Path) -> list[dict[str, Any]]:
    """The rows of the Parquet files in a folder."""
    parts = sorted(folder.rglob("part-*.parquet"))
    return [row for part in parts for row in pyarrow.parquet.ParquetFile(part).read().to_pylist()]
