"""Measures the native judge from file to verdict, beside msgspec: `python -m tests.native.bench`.

A figure is a ratio to msgspec's decoding of the fields that the lines have, from the same file in
the same run; runs of both alternate, and medians of processor time are compared.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from monitor.native import NativeJudge
from spec.claims.claim import Mode
from tests.bench_monitor import alternating, chunks, decode, needed
from tests.streams.traffic import Traffic, as_events, write

ONE: Final = (Mode.OFFLOADABLE,)
EVERY: Final = tuple(Mode)
HARD: Final = (Mode.HARD_PROTECTED,)


class Case(NamedTuple):
    """A stream, the mode that judges it, and the ratio that is wanted."""

    name: str
    traffic: Traffic
    mode: Mode | None
    wanted: float


def cases(lines: int, crowd: int) -> Iterator[Case]:
    """The streams that are measured."""
    for width in (150, 1_200):
        yield Case("offloadable", Traffic(lines, 1_000, ONE, width), Mode.OFFLOADABLE, 0.40)
        yield Case("all modes", Traffic(lines, 1_000, EVERY, width), None, 0.40)
    yield Case("hard_protected", Traffic(lines, 1_000, HARD), Mode.HARD_PROTECTED, 0.40)
    shared = Traffic(lines, 1_000, HARD, shared=True)
    yield Case("shared prefixes", shared, Mode.HARD_PROTECTED, 0.40)
    yield Case("restores at random", Traffic(lines, 1_000, ONE, shuffled=True), ONE[0], 0.40)
    narrow = Traffic(lines, 100, HARD, narrow=True)
    yield Case("conflicts and refusals", narrow, Mode.HARD_PROTECTED, 0.20)
    many = max(lines, 7 * crowd)
    yield Case("all modes", Traffic(many, crowd, EVERY), None, 0.20)
    yield Case("offloadable", Traffic(many, crowd, ONE), Mode.OFFLOADABLE, 0.20)


def judge(path: Path, mode: Mode | None) -> None:
    """From the file to a verdict, which must be that all claims are kept."""
    native = NativeJudge(mode, split=True)
    for chunk in chunks(path):
        fed = native.feed(chunk)
        assert not fed.refused, fed
        native.drained()
    native.finish()
    (found,) = native.summary()
    assert (found.violated, found.inconclusive, found.broken) == (0, 0, False), found


def ratio(case: Case, folder: Path, runs: int) -> tuple[float, float]:
    """Microseconds a line, and the ratio."""
    path = write(folder / "stream.jsonl", case.traffic)
    lines, decoder = path.read_bytes().count(b"\n"), needed(path)
    alone, ours = alternating(runs, partial(decode, path, decoder), partial(judge, path, case.mode))
    return ours / lines * 1e6, alone / ours


def each_feed(lines: int) -> float:
    """The median of `feed` of one line, in microseconds."""
    native, times = NativeJudge(split=True), []
    for event in as_events(Traffic(lines, 100, EVERY)):
        line = msgspec.json.encode(event) + b"\n"
        started = time.perf_counter()
        native.feed(line)
        times.append(time.perf_counter() - started)
    return sorted(times)[len(times) // 2] * 1e6


def main() -> int:
    """Print the figures as they are measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=120_000)
    parser.add_argument("--crowd", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    write_line = sys.stdout.write
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(asked.lines, asked.crowd):
            cost, found = ratio(case, Path(folder), asked.runs)
            what = f"{case.name}, {case.traffic.live} live claims, {case.traffic.width} B"
            write_line(f"{what}: {cost:.2f} us a line, {found:.3f} (wanted {case.wanted:.2f})\n")
            sys.stdout.flush()
    write_line(f"feed of one line, median: {each_feed(asked.lines // 4):.2f} us (wanted 2)\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
