"""Measures the memory of a process over many requests and ids, with the plugin and without.

`python -m tests_vllm.memory 20000` prints, for each engine in a process of its own, the resident
memory after each tenth of the requests, and the bytes that each request after the first tenth
added, by the line of least squares. No claim lives when memory is measured. Every request has an id
of its own, and all but a few have a claim of their own. vLLM schedules every step, and none is
computed (`tests_vllm.steps`): the plugin does not see the model, which takes most of the time.

Resident memory keeps the peaks of the allocators, which return a page once all of it is free. So
the memory in use, which they have given out, is printed as well: it tells growth from peaks.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import linear_regression
from typing import Any, Final

from runtime_hooks.demo.tiny import tokens
from runtime_hooks.trace.inline import Inline
from tests.allocated import LIBC, in_use
from tests.runtime_hooks.elements import elements
from tests_vllm.conftest import Clock
from tests_vllm.engine import Engine
from tests_vllm.steps import StepsExecutor

__all__ = ["RUNS", "ask", "main"]

RUNS: Final = ("bare", "claims", "claims, monitor")
_PARTS: Final = 10
_STATM: Final = Path("/proc/self/statm")
_PAGE: Final = 4096
_BATCH: Final = 100  # requests between two waits for the events
_PROMPTS: Final = 8  # as many prompts as fit the pool, so that the cache itself is full soon


def ask(engine: Engine, n: int, *, claims: bool = True) -> None:
    """One request, which claims, renews, releases, tries, pins or is refused, by its number."""
    name, blocks = f"p{n % _PROMPTS}", 1 + n % 3
    metadata: dict[str, Any] = {}
    mode = ("hard_protected", "expiring", "demotable", "soft_priority", "best_effort")[n % 5]
    stated = {
        "claim_id": f"c{n}",
        "owner_scope": "tenant",
        "protection_mode": mode,
        "materialization_predicate": f"leading_prefix_at_least({blocks})",
        "duration": f"{3 + n % 5} steps",
    }
    if mode == "soft_priority":
        stated["priority"] = n % 3
    if n % 11 == 0:
        metadata["pin"] = {"job_id": f"job{n}", "ttl": "1 s"}
    elif n % 13 == 0:
        metadata["try_claim"] = stated
    else:
        metadata["resident_claim"] = stated
    if n % 3 == 0:
        before = {"claim_id": f"c{n - 1}", "owner_scope": "tenant"}
        metadata["release_claim"] = before
    elif n % 7 == 0:
        renewal = {"claim_id": f"c{n - 1}", "successor": f"s{n}", "owner_scope": "tenant"}
        metadata["renew_claim"] = {**renewal, "duration": "4 steps"}
    if n % 97 == 0:
        metadata = {"no_admit": True}
    given = (metadata,) if claims else ()
    engine.serve((name, 79 if n % 101 == 0 else blocks, *given))
    if n % 997 == 0:
        engine.core.scheduler.reset_prefix_cache()


def _settle(engine: Engine) -> None:
    """Wait until every event is written and judged: those that wait are no memory of requests."""
    while engine.armed.attachments[0].journal.waiting:
        time.sleep(0.001)


def _report(engine: Engine) -> None:
    """Have the monitor report what is new, however soon after the last time, and free that."""
    inline = engine.armed.attachments[0].journal.sink(Inline)
    for _ in range(2 if inline else 0):
        inline._live._next = 0.0
        while not inline._live._next:
            time.sleep(0.001)


def _end_claims(engine: Engine, clock: Clock) -> None:
    """Let every claim and pin end: what happens to live is no growth."""
    clock.wait(1.0)  # as long as pins last
    for _ in range(10):  # more steps than claims last
        engine.serve(("p0", 1))


def _run(kind: str, requests: int, folder: Path) -> dict[str, Any]:
    """Ask that often; the memory in bytes after each part, and what the containers hold."""
    monitor = "observe" if kind == RUNS[2] else "off"
    steps = {"distributed_executor_backend": StepsExecutor}
    engine = Engine(folder, settings={"monitor": monitor}, **steps)
    if kind == RUNS[0]:
        engine.armed.attachments[0].detach()
    for n in range(_PROMPTS):
        tokens(f"p{n}", 3)
    clock = Clock(engine)  # so that pins live as long on a machine with other work
    memory, used, first, began = [], [], Counter[str](), time.monotonic()
    for part in range(_PARTS):
        for n in range(part * requests // _PARTS, (part + 1) * requests // _PARTS):
            ask(engine, n + 1, claims=kind != RUNS[0])
            if n % _BATCH == 0:
                _settle(engine)
        _end_claims(engine, clock)
        _settle(engine)
        _report(engine)
        gc.collect()
        LIBC.malloc_trim(0)  # glibc keeps what was freed
        memory.append(int(_STATM.read_text().split()[1]) * _PAGE)
        used.append(in_use())
        first = first or elements(engine.armed.attachments[0].controller)
    took = time.monotonic() - began
    last = elements(engine.armed.attachments[0].controller)
    grown = {k: (first[k], v) for k, v in last.items() if v > first[k] + 32}
    faults = dict(engine.armed.attachments[0].faults)
    engine.close()
    sizes = {"resident": memory, "in use": used}
    return {"sizes": sizes, "grown": grown, "seconds": round(took), "faults": len(faults)}


def _table(requests: int) -> str:
    lines = [
        f"{'MB after':18}" + "".join(f"{(i + 1) * requests // _PARTS:>8}" for i in range(_PARTS))
    ]
    for kind in RUNS:
        command = [sys.executable, "-m", "tests_vllm.memory", str(requests), "--only", kind]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        lines.append(f"{kind}, {found['seconds']} s")
        for what, sizes in found["sizes"].items():
            each = linear_regression(range(_PARTS), sizes).slope * _PARTS / requests
            row = "".join(f"{size / 1e6:8.1f}" for size in sizes)
            lines.append(f"  {what:16}{row}   {each:6.1f} bytes a request")
        lines.append(f"  faults: {found['faults']}; grown: {found['grown'] or 'none'}")
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("requests", type=int, nargs="?", default=20_000)
    parser.add_argument("--only", choices=RUNS)
    given = parser.parse_args()
    if given.only is None:
        print(_table(given.requests))
        return
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(_run(given.only, given.requests, Path(folder))))


if __name__ == "__main__":
    main()
