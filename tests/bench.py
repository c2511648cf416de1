"""Figures, as ratios to a baseline measured in the same run: `make bench`.

Machines differ and share their cores, so a figure by itself says little. Solver figures are ratios
to a fixed question to Z3, the monitor's to reading the same file with `json.loads`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import z3

from proofs.engines.bounded.search import WIDTH, find_refutation
from proofs.logic.encode import Bits
from proofs.model.of_mode import model_of
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from tests.bench_process import used
from tests.bench_search import largest, searched
from tests.come_and_go import PARTS, costs
from tests.streams import crowds
from tests.streams.crowds import CROWDS

if TYPE_CHECKING:
    from collections.abc import Callable

EVENTS: Final = 100_000
RUNS: Final = 3
PIGEONS: Final = 8
LARGEST: Final = Mode.HARD_PROTECTED
DEPTH: Final = 30
CLAIMS: Final = 5_000
CROWD: Final = 20_000


class Figure(NamedTuple):
    """`target` is in seconds on two idle cores, or None."""

    what: str
    seconds: float
    baseline: str
    ratio: float
    target: float | None


def measure(work: Callable[[], object], runs: int = RUNS) -> float:
    """The median of a few runs, in seconds."""
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def pigeons() -> None:
    """No way to put so many pigeons into one hole less."""
    solver = z3.SolverFor("QF_BV")
    sits = [[z3.Bool(f"{p} in {h}") for h in range(PIGEONS)] for p in range(PIGEONS + 1)]
    solver.add(*(z3.Or(each) for each in sits))
    for hole in zip(*sits, strict=True):
        solver.add(z3.AtMost(*hole, 1))
    if solver.check() != z3.unsat:
        raise AssertionError


def command(*args: str) -> None:
    """A whole process of ours, which must hold."""
    subprocess.run([sys.executable, "-m", *args], check=True, stdout=subprocess.DEVNULL)


def write_stream(path: Path) -> None:
    """Blocks of one accepted claim that come and go, as a stream that keeps best_effort."""
    stamp = {"stream": "bench", "claim_id": "claim:bench"}
    events: list[dict[str, object]] = [
        {
            "kind": "claim_registered",
            "object_id": "prefix:bench",
            "cache_identity": "model/16",
            "predicate": "leading_prefix_at_least(1)",
        }
    ]
    cached = {"kind": "block_cached", "positions": [0], "block_ids": [7]}
    evicted = {"kind": "block_evicted", "block_ids": [7]}
    cycle = [cached, {"kind": "claim_materialized"}, evicted, {"kind": "claim_unmaterialized"}]
    while len(events) < EVENTS:
        events += cycle
    lines = (
        json.dumps({**event, **stamp, "sequence": n, "time_ns": n})
        for n, event in enumerate(events)
    )
    path.write_text("\n".join(lines) + "\n")


def crowded(folder: Path, name: str) -> tuple[float, float, int]:
    """Seconds to judge a crowded stream, to read it as JSON, and MiB that judging takes at most."""
    path, mode = crowds.write(folder, name, CROWD), CROWDS[name].mode
    read = measure(lambda: [json.loads(line) for line in path.read_bytes().splitlines()])
    judged = used("-m", "monitor", "check", str(path), "--mode", mode)
    return judged.seconds, read, judged.mib


def figures() -> list[Figure]:
    """Everything that is measured, one after another."""
    found: list[Figure] = []

    def add(what: str, seconds: float, baseline: tuple[str, float], target: float | None) -> None:
        ratio = seconds / baseline[1]
        found.append(Figure(what, round(seconds, 3), baseline[0], round(ratio, 2), target))
        print(f"  {what}: {seconds:.2f} s", file=sys.stderr)

    with tempfile.TemporaryDirectory() as folder:
        certificate, stream = Path(folder) / "certificate", Path(folder) / "stream.jsonl"
        solver = ("pigeons", measure(pigeons))
        one = measure(lambda: command("proofs", "check", "hard_protected"))
        add("proofs check hard_protected", one, solver, 5)
        every = ("proofs", "check", "--full", "--all", "--certificate", str(certificate))
        add("proofs check --full --all", measure(lambda: command(*every), 1), solver, 60)
        recheck = ("proofs", "recheck", str(certificate))
        add("proofs recheck, everything", measure(lambda: command(*recheck)), solver, 20)
        model = model_of(LARGEST, Bundle.CONTRACT, Bits(WIDTH))
        deep = measure(lambda: find_refutation(model, DEPTH), 1)
        add(f"bounded search, {LARGEST}, depth {DEPTH}", deep, solver, 2)
        write_stream(stream)
        lines = stream.read_bytes().splitlines()
        loads = (f"json.loads of {EVENTS} lines", measure(lambda: [json.loads(n) for n in lines]))
        check = ("monitor", "check", str(stream), "--mode", "best_effort")
        add(f"monitor check, {EVENTS} events", measure(lambda: command(*check)), loads, None)
        for name in CROWDS:
            seconds, read, most = crowded(Path(folder), name)
            what = f"monitor check, a crowd of {CROWD} ({name}), {most} MiB"
            add(what, seconds, ("json.loads of its lines", read), 20)
        suite = used("-m", "proofs", "counterexamples", "-o", str(Path(folder) / "suite"))
        add(f"the bad-lowering suite, {suite.mib} MiB", suite.seconds, solver, 240)
    for each in searched():
        what = f"search for {each.what}, {each.transitions} transitions, per 100000"
        add(
            what,
            each.seconds,
            ("a plain search of the model (wanted: at most 2)", each.plain),
            None,
        )
    two = largest()
    what = f"search of 2 claims, 2 requests, 6 blocks, an obligation at most, {two.mib} MiB"
    add(what, two.seconds, ("the model by itself", two.plain), 20)
    first, *_, last = (1_000 * cost.seconds for cost in costs(CLAIMS))
    what = f"inline monitor, 1000 events after {CLAIMS * (PARTS - 1) // PARTS} claims"
    add(what, last, ("the same at the beginning", first), None)
    return found


def main() -> int:
    """Print the figures as a table, or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, epilog="Example: make bench")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    form = parser.parse_args().format
    found = figures()
    if form == "json":
        print(json.dumps([figure._asdict() for figure in found], indent=2))
        return 0
    for figure in found:
        target = "" if figure.target is None else f", wanted: {figure.target} s on two idle cores"
        print(f"{figure.what}: {figure.seconds} s, {figure.ratio} x {figure.baseline}{target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
