"""Plays a scenario of the table in a tiny real engine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from monitor.report.verdict import Report
from runtime_hooks.demo.engine import Answer
from spec.events.canonical import Event
from tests_vllm.actions import held
from tests_vllm.engine import Engine
from tests_vllm.rows import Row, Setting

__all__ = ["Played", "end_of", "play"]


@dataclass(frozen=True)
class Played:
    """A scenario that was played, in an engine that is shut down.

    `trace` is what was judged, `events` what the plugin wrote before the engine ended, `looks` what
    acts returned, `held` what `acts.held` did at the end.
    """

    trace: Path
    answers: list[Answer]
    looks: list[object]
    held: dict[int, int]
    events: list[Event]
    report: Report


def play(row: Row, folder: Path, settings: Setting | None = None, **engine: Any) -> Played:
    """Play a scenario in an engine of its own, by its settings and these, and judge its trace.

    Args:
        engine: more of the engine's configuration.
    """
    with row.under():
        return _play(row, folder, {**row.settings, **(settings or {})}, engine)


def _play(row: Row, folder: Path, settings: Setting, engine: dict[str, Any]) -> Played:
    configured = {"disable_log_stats": False, **row.engine(folder), **engine}
    stage = Engine(folder, row.usable, settings, **configured)
    written = stage.trace
    answers: list[Answer] = []
    looks: list[object] = []
    try:
        for asked in row.asks:
            if isinstance(asked, tuple):
                answers += stage.serve(asked)
            elif (seen := asked(stage)) is not None:
                looks.append(seen)
        there = held(stage)
    finally:
        stage.close()
    report = stage.judge(row.mode)
    judged, stage.trace = stage.trace, written
    return Played(judged, answers, looks, there, stage.events(), report)


def end_of(answer: Answer) -> str:
    """How a request ended: served with so many blocks that were there, or why not."""
    if answer.finish_reason == "length":
        return str(answer.cached // 32)
    return {
        "protected_resident_capacity_refused": "refused",
        "claim_restoration_failed": "not_restored",
        "request_exceeds_kv_pool": "never_fits",
    }.get(str(answer.stop_reason), str(answer.finish_reason))
