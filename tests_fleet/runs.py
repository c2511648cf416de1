"""Runs the command on Spark, and reads what it wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet

from monitor.follow.verdict_line import VerdictLine

__all__ = ["LOCAL", "QUICK", "fleet", "parquet_rows", "verdicts", "write"]

QUICK = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""Has Java start fast, for runs that are short."""

LOCAL = ("--master", "local[2]", "--partitions", "3")


def fleet(source: Path, state: Path, out: Path, *more: str) -> tuple[int, dict[str, Any]]:
    """Run the command; its exit code, and what it prints as JSON."""
    command = [sys.executable, "-m", "monitor", "fleet", str(source), "--format", "json"]
    command += ["--checkpoint", str(state), "--out", str(out), *(more or LOCAL)]
    env = os.environ | QUICK
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=900, check=False
    )
    printed = done.stdout[done.stdout.find("\n{") + 1 :] if "{" in done.stdout else ""
    assert done.returncode in (0, 1, 3), done.stderr[-4000:]
    return done.returncode, json.loads(printed)


def write(path: Path, lines: Iterable[bytes]) -> Path:
    """Write lines to a file whose folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(line.rstrip(b"\n") + b"\n" for line in lines))
    return path


def verdicts(out: Path, *kinds: str) -> list[VerdictLine]:
    """The verdicts in folders that were written as a whole, those of open claims last."""
    found = []
    for kind in kinds or ("verdicts", "open"):
        for mark in sorted((out / kind / "jsonl").rglob("_SUCCESS")):
            for part in sorted(mark.parent.glob("part-*")):
                for line in part.read_bytes().splitlines():
                    found.append(msgspec.json.decode(line, type=VerdictLine))
    return found


def parquet_rows(folder: Path) -> list[dict[str, Any]]:
    """The rows of the Parquet files in a folder."""
    parts = sorted(folder.rglob("part-*.parquet"))
    return [row for part in parts for row in pyarrow.parquet.ParquetFile(part).read().to_pylist()]
