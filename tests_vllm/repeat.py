"""Repeats the connector boundary in a real engine: `python -m tests_vllm.repeat FOLDER`.

Each run is an engine of its own, with its own pool, tier and trace; all are in one process. FOLDER
then has the traces, and `runs.json`, which `python -m monitor repeat` judges. The rows and their
numbers are those of table 8 of Fail-Closed Lowering: 30 successes, 60 failures, 41 controls.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from monitor.repeat.runs import SCHEMA, RowKind
from tests_vllm.engine import Engine, freeze
from tests_vllm.rows import ordered, story
from tests_vllm.stage import Played, end_of, play
from tests_vllm.table import ROWS

__all__ = ["TIMES", "differs", "made"]

TIMES: Final = {
    "path A, success": (RowKind.SUCCESS, 30),
    "path B, failure": (RowKind.FAILURE, 30),
    "path B, policy recompute": (RowKind.FAILURE, 15),
    "control: retry, then restore": (RowKind.FAILURE, 15),
    "control: ordinary offload": (RowKind.CONTROL, 9),
    "control: unclaimed failure": (RowKind.CONTROL, 8),
    "control: wrong claim": (RowKind.CONTROL, 8),
    "control: fallback recompute": (RowKind.CONTROL, 8),
    "control: generic counters": (RowKind.CONTROL, 8),
}
"""What each row is expected to show, and how often it is run."""

_COUNTERS: Final = {
    "vllm:kv_offload_store_bytes": "stored_bytes",
    "vllm:kv_offload_load_bytes": "loaded_bytes",
}
"""The engine's own counters of the bytes that its offload tier moved."""


def moved(engine: Engine) -> dict[str, int]:
    """The bytes that the engine copied to its offload tier and back, by its own counters."""
    said = {metric.name: metric for metric in engine.llm.get_metrics()}
    return {field: int(said[name].value) for name, field in _COUNTERS.items() if name in said}


def differs(name: str, played: Played) -> str:
    """How a run differs from its row; empty where it does not."""
    row, ends = ROWS[name], " ".join(map(end_of, played.answers))
    if ends != row.ends:
        return f"its requests end as {ends}, and not as {row.ends}"
    told = story(played.events)
    if ordered(told.split()) != ordered(row.told.split()):
        return f"its trace has {told}, and not {row.told}"
    return ""


def made(times: Mapping[str, tuple[RowKind, int]], folder: Path) -> Iterator[tuple[str, Played]]:
    """Make each run, one of each row in turn, and list those that were made so far."""
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in times}
    rows = [
        {"row": name.removeprefix("control: "), "kind": kind, "due": due, "runs": runs[name]}
        for name, (kind, due) in times.items()
    ]
    most = max(due for _, due in times.values())
    turns = [name for turn in range(most) for name, (_, due) in times.items() if turn < due]
    for number, name in enumerate(turns):
        freeze(number)
        row = ROWS[name]
        at = folder / f"{re.sub('[^A-Za-z]+', '-', name)}-{len(runs[name]) + 1}"
        played = play(replace(row, asks=(*row.asks, moved)), at)
        shutil.rmtree(at / "model")
        *_, sizes = played.looks
        assert isinstance(sizes, dict)
        runs[name].append({"trace": str(played.trace.relative_to(folder)), **sizes})
        listed = json.dumps({"schema": SCHEMA, "rows": rows}, indent=1)
        (folder / "runs.json").write_text(listed + "\n")
        yield name, played


def main(folder: str) -> int:
    """Make all runs, and print those that differ from their rows; 1 where there is one.

    What the engines print goes to `engines.log` in the folder.
    """
    at, total, differing = Path(folder), sum(due for _, due in TIMES.values()), 0
    at.mkdir(parents=True, exist_ok=True)
    with quiet(at / "engines.log") as show:
        for number, (name, played) in enumerate(made(TIMES, at), 1):
            show(f"\r{number} of {total} runs")
            if said := differs(name, played):
                differing += 1
                show(f"\n{played.trace}: {said}\n")
        show("\n")
    return 1 if differing else 0


@contextmanager
def quiet(log: Path) -> Iterator[Callable[[str], object]]:
    """Send the output of this process to a file; yields what prints on standard error."""
    kept = [os.dup(number) for number in (1, 2)]
    with log.open("wb") as file:
        for number in (1, 2):
            os.dup2(file.fileno(), number)
    try:
        yield lambda text: os.write(kept[1], text.encode())
    finally:
        for number, before in zip((1, 2), kept, strict=True):
            os.dup2(before, number)
            os.close(before)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
