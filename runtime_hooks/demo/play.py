"""Runs the scenarios, and shows verdicts as they change."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from monitor.check.files import EXIT_CODES
from monitor.live.follow import live_line
from monitor.live.lines import LiveLine, LiveVerdict
from runtime_hooks.demo.engine import Engine
from runtime_hooks.demo.scenes import SCENES, Scene, offloading
from spec.cli.layout import wrap

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime_hooks.demo.engine import Answer, Asked

__all__ = ["Outcome", "play_all"]


class Outcome(msgspec.Struct, frozen=True):
    """The outcome of a scenario: how requests ended, evicted blocks, the verdict, its exit code."""

    name: str
    says: str
    ends: list[str]
    victims: int
    mode: str
    verdict: str
    code: int
    expected: int


def play_all(show: Callable[[str], None], keep: Path | None = None) -> list[Outcome]:
    """Run every scenario in an engine of its own.

    Args:
        show: prints a text.
        keep: a new folder in which the traces are kept, each in a folder of its own.
    """
    with tempfile.TemporaryDirectory() as folder:
        at = keep or Path(folder)
        return [
            _play(scene, at / scene.name.replace(", ", "-").replace(" ", "-"), show)
            for scene in SCENES
        ]


def _play(scene: Scene, folder: Path, show: Callable[[str], None]) -> Outcome:
    show(f"\n{scene.name}: {scene.says}\n")
    folder.mkdir(parents=True)
    settings = {**scene.settings, "monitor": "observe"}
    engine = Engine(folder, 80, settings, **(offloading() if scene.offload else {}))
    verdicts = folder / "trace.jsonl.verdicts.jsonl"
    try:
        answers = [answer for asked in scene.asks for answer in _do(engine, asked)]
    finally:
        engine.close()
    for line in verdicts.read_bytes().splitlines():
        verdict: LiveLine = msgspec.json.decode(line, type=LiveLine)
        if isinstance(verdict, LiveVerdict):
            show(f"{wrap(live_line(verdict).rstrip(), 2, 4)}\n")
    report = engine.judge(scene.mode)
    victims = sum(len(event.block_ids) for event in engine.kinds("block_evicted"))
    return Outcome(
        scene.name,
        scene.says,
        ["served" if answer.finish_reason == "length" else "refused" for answer in answers],
        victims,
        scene.mode,
        report.verdict,
        EXIT_CODES[report.verdict],
        scene.code,
    )


def _do(engine: Engine, asked: Asked | str) -> list[Answer]:
    if isinstance(asked, tuple):
        return engine.serve(asked)
    engine.core.scheduler.reset_prefix_cache()
    return []
