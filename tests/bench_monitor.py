"""The monitor's speed, as ratios to what is measured beside it in the same run: `make bench`.

The baseline of (a) is `decode_lines` of msgspec on chunks of 1 MiB, into a struct of the fields
that the stream has; runs of it and of both judges alternate in one process, and their medians are
compared. Without a native core only the judge in Python is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_type_hints
from unittest.mock import patch

import msgspec

from monitor.check.files import EXIT_CODES, check
from monitor.native import CHOICE, library
from monitor.report.report_text import as_text
from runtime_hooks.settings.config import TAKEN
from spec.claims.states import Mode
from spec.cli.layout import Plain
from spec.contract.modes import Bundle
from spec.events.canonical import Event
from spec.stream.outcome import ModeVerdict
from tests import bench_reelay
from tests.bench_inline import cold_requests, each_feed, looked, per_event, served
from tests.streams.traffic import Traffic, as_events, write

if TYPE_CHECKING:
    from collections.abc import Iterable

CHUNK: Final = 1 << 20
ONE: Final = (Mode.OFFLOADABLE,)
EVERY: Final = tuple(Mode)
MANY: Final = 100_000
"""Live claims of a crowd, of which less is wanted."""


class Row(NamedTuple):
    """One figure: `value` in `unit`, beside `baseline`, and `ratio` of the two.

    `wanted` is what the ratio is to be, at least or at most, or None.
    """

    part: str
    what: str
    value: float
    unit: str
    baseline: float | None = None
    ratio: float | None = None
    wanted: str = ""


class Plan(NamedTuple):
    """How much is measured: `crowds` are the numbers of live claims of (a), and `cores` the judges;
    `grown` are those of (d).
    """

    lines: int
    runs: int
    crowds: tuple[int, ...]
    grown: tuple[int, ...]
    cores: tuple[str, ...] = ("native", "python")


QUICK: Final = Plan(lines=12_000, runs=3, crowds=(500,), grown=(10, 1_000))
FULL: Final = Plan(
    lines=120_000, runs=7, crowds=(1_000, 100_000), grown=(10, 1_000, 10_000, 100_000)
)


def alternating(runs: int, *works: Callable[[], object]) -> list[float]:
    """The median seconds of the processor that each of some works takes, which take turns.

    A machine that is shared stops a process now and then, and the clock on the wall goes on.
    """
    times: list[list[float]] = [[] for _ in works]
    for _ in range(runs):
        for work, taken in zip(works, times, strict=True):
            started = time.process_time()
            work()
            taken.append(time.process_time() - started)
    return [statistics.median(taken) for taken in times]


def chunks(path: Path) -> Iterator[bytes]:
    """A file in pieces of at most 1 MiB that end where a line does."""
    with path.open("rb") as file:
        rest = b""
        while chunk := file.read(CHUNK - len(rest)):
            chunk = rest + chunk
            end = chunk.rfind(b"\n") + 1
            yield chunk[:end]
            rest = chunk[end:]


def needed(path: Path) -> msgspec.json.Decoder[Any]:
    """Decodes the fields that the lines of a file have, and no others."""
    names = {name for chunk in chunks(path) for each in _plain(chunk) for name in each}
    types = get_type_hints(Event, include_extras=True)
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = [
        (field.name, types[field.name])
        if field.required
        else (field.name, types[field.name], field.default)
        for field in msgspec.structs.fields(Event)
        if field.name in names
    ]
    return msgspec.json.Decoder(msgspec.defstruct("Needed", fields, gc=False))


def _plain(chunk: bytes) -> Iterable[dict[str, object]]:
    found: list[dict[str, object]] = msgspec.json.Decoder().decode_lines(chunk)
    return found


def decode(path: Path, decoder: msgspec.json.Decoder[Any]) -> None:
    """Decode a file, chunk by chunk, and keep nothing."""
    for chunk in chunks(path):
        decoder.decode_lines(chunk)


def judge(path: Path, mode: Mode | None, core: str = "") -> None:
    """From the file to a verdict and its text by a judge, or the usual one, as the command does it;
    it must be that it is kept.
    """
    with patch.dict(os.environ, {CHOICE: core} if core else {}):
        report = check([str(path)], mode, Bundle.CONTRACT, every=False)
    as_text(report, Plain())
    if report.verdict is not ModeVerdict.KEPT:
        raise AssertionError(f"{path.name}: {report.verdict}, {report.why}")


def file_to_verdict(plan: Plan, folder: Path) -> Iterator[Row]:
    """(a) File to verdict by both judges, against decoding alone."""
    cores = [core for core in plan.cores if core == "python" or library() is not None]
    for name, traffic, mode in _files(plan):
        path = write(folder / "stream.jsonl", traffic)
        decoder, lines = needed(path), path.read_bytes().count(b"\n")
        runs = max(1, plan.runs * plan.lines // lines)  # as many, but for the longest streams
        judges = [partial(judge, path, mode, core) for core in cores]
        alone, *each = alternating(runs, partial(decode, path, decoder), *judges)
        wanted = 0.20 if traffic.narrow or traffic.live >= MANY else 0.40
        width = path.stat().st_size // lines
        for core, ours in zip(cores, each, strict=True):
            yield Row(
                "a",
                f"{core}: {name}, {traffic.live} live claims, {width} B a line",
                round(lines / ours / 1e3, 1),
                "thousand lines/s",
                round(lines / alone / 1e3, 1),
                round(alone / ours, 4),
                f">= {wanted:.2f}" if core == "native" else "",
            )


def _files(plan: Plan) -> Iterator[tuple[str, Traffic, Mode | None]]:
    """The streams of (a), each with the mode that is asked for."""
    for live in plan.crowds:
        lines = max(plan.lines, 7 * live)
        for width in (150, 1_200):
            yield "offloadable", Traffic(lines, live, ONE, width), Mode.OFFLOADABLE
            yield "all modes, auto", Traffic(lines, live, EVERY, width), None
    lines, live = plan.lines, plan.crowds[0]
    hard = (Mode.HARD_PROTECTED,)
    yield "hard_protected", Traffic(lines, live, hard), Mode.HARD_PROTECTED
    yield "conflicts and refusals", Traffic(lines, 100, hard, narrow=True), Mode.HARD_PROTECTED
    yield "shared prefixes", Traffic(lines, live, hard, shared=True), Mode.HARD_PROTECTED
    yield "restores at random", Traffic(lines, live, ONE, shuffled=True), Mode.OFFLOADABLE


def beside_reelay(plan: Plan, folder: Path) -> Iterator[Row]:
    """(b) File to the verdict on seven obligations, against reelay on one property of decoded
    events.
    """
    if not bench_reelay.is_there():
        return
    path = write(folder / "stream.jsonl", Traffic(plan.lines, plan.crowds[0], ONE))
    events = bench_reelay.decoded(path)
    if not bench_reelay.keep(events):
        raise AssertionError("reelay finds an honest stream at fault")
    asked = partial(bench_reelay.keep, events)
    theirs, ours = alternating(plan.runs, asked, partial(judge, path, *ONE))
    what = f"file to verdict, offloadable, {plan.crowds[0]} live claims, beside reelay forall"
    rates = (round(len(events) / seconds / 1e3, 1) for seconds in (ours, theirs))
    of_ours, of_theirs = rates
    ratio = round(theirs / ours, 3)
    yield Row("b", what, of_ours, "thousand lines/s", of_theirs, ratio, ">= 1")


def two_jobs(plan: Plan, folder: Path) -> Iterator[Row]:
    """(e) The command on two files of one stream each, by one process and by two, from its start to
    its end: the shortest of some runs that take turns, for others may use the machine, too.
    """
    made = Traffic(3 * plan.lines, plan.crowds[0], ONE)
    one, two = write(folder / "one.jsonl", made), folder / "two.jsonl"
    two.write_bytes(one.read_bytes().replace(b'"stream":"engine-0', b'"stream":"engine-1'))
    command = [sys.executable, "-m", "monitor", "check", str(one), str(two), "--mode", *ONE]
    taken: dict[str, list[tuple[float, float]]] = {"1": [], "2": []}
    for _ in range(plan.runs):
        for jobs, times in taken.items():
            started, worked = time.perf_counter(), _of_processes()
            done = subprocess.run([*command, "--jobs", jobs], stdout=subprocess.PIPE, check=False)
            times.append((time.perf_counter() - started, _of_processes() - worked))
            assert done.returncode == EXIT_CODES[ModeVerdict.KEPT], done.stdout
    alone, both = ([min(each) for each in zip(*times, strict=True)] for times in taken.values())
    what = f"--jobs 2 on two streams of {made.lines} lines, {os.cpu_count()} cores"
    for on, wanted, first, second in zip(
        ("by the clock", "processor time of all"), (">= 1.8", ""), alone, both, strict=True
    ):
        figures = round(second, 2), "s", round(first, 2), round(first / second, 2)
        yield Row("e", f"{what}, {on}", *figures, wanted)


def _of_processes() -> float:
    """The seconds of the processor that processes took which this one began, and which ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def inline(plan: Plan, _: Path) -> Iterator[Row]:
    """(c) `EventMonitor.feed`, each event by itself; and the monitor of a serving process."""
    median, late, first = each_feed(plan.lines // 4, 100)
    what = "feed() of an event, claims of all modes, 100 live"
    yield Row("c", f"{what}, median", round(median, 2), "us", wanted="<= 1.5 us")
    yield Row("c", f"{what}, p99.9", round(late, 2), "us")
    yield Row("c", f"{what}, the slowest of all that are new to a process", round(first), "us")
    what = "an event in a serving process, in the batches of its journal"
    claims = list(as_events(Traffic(plan.lines // 2, 100, TAKEN)))
    yield Row("c", f"{what}, claims of its modes, 100 live", round(served(claims), 2), "us")
    took, number = looked(claims)
    yield Row("c", f"a look at {number} claims of which none was moved", round(took, 2), "ms")
    cold = served(cold_requests(plan.lines // 8))
    yield Row("c", f"{what}, requests without claims", round(cold, 2), "us")


def grown(plan: Plan, _: Path) -> Iterator[Row]:
    """(d) What an event costs where more claims are live, beside ten."""
    for shuffled, wanted in ((False, "<= 1.3"), (True, "<= 3")):
        few = None
        for live in plan.grown:
            cost = per_event(live, plan.lines // 2, shuffled=shuffled)
            few = few or cost
            what = f"{live} live claims, used {'at random' if shuffled else 'in order'}"
            figures = round(cost, 2), "us an event", round(few, 2), round(cost / few, 2)
            yield Row("d", what, *figures, wanted)


PARTS: Final[dict[str, Callable[[Plan, Path], Iterator[Row]]]] = {
    "a": file_to_verdict,
    "b": beside_reelay,
    "c": inline,
    "d": grown,
    "e": two_jobs,
}


def rows(plan: Plan, parts: str) -> Iterator[Row]:
    """Every figure of the parts that are asked for, as it is measured."""
    with tempfile.TemporaryDirectory() as folder:
        for letter in parts:
            yield from PARTS[letter](plan, Path(folder))


def shown(row: Row) -> str:
    """A figure as a line of text."""
    beside = "" if row.baseline is None else f", beside {row.baseline:,}"
    ratio = "" if row.ratio is None else f": {row.ratio:.3f}"
    wanted = f" (wanted {row.wanted})" if row.wanted else ""
    return f"({row.part}) {row.what}: {row.value:,} {row.unit}{beside}{ratio}{wanted}"


def main() -> int:
    """Print the figures as they are measured, or all of them as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="Example: python -m tests.bench_monitor --quick --parts a"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--quick", action="store_true", help="shorter streams: under a minute")
    parser.add_argument("--parts", default="".join(PARTS), help="the letters of what is measured")
    parser.add_argument("--million", action="store_true", help="(d) up to 1,000,000 live claims")
    parser.add_argument("--core", choices=("native", "python"), help="(a) this judge alone")
    asked = parser.parse_args()
    plan = QUICK if asked.quick else FULL
    if asked.core:
        plan = plan._replace(cores=(asked.core,))
    if asked.million:
        plan = plan._replace(grown=(*plan.grown, 1_000_000))
    if unknown := set(asked.parts) - PARTS.keys():
        parser.error(f"no part {min(unknown)}; there are {', '.join(PARTS)}")
    found = []
    for row in rows(plan, asked.parts):
        found.append(row)
        print(shown(row), file=sys.stderr if asked.format == "json" else sys.stdout, flush=True)
    if asked.format == "json":
        print(json.dumps([row._asdict() for row in found], indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
