"""Decides all that an episode does by its seed, for each process that takes part."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import msgspec

from monitor.follow.engines import PREFIX
from tests.soak.clean import clean, ranked
from tests.soak.disturbed import WINDOW, Delivery, delivered

__all__ = ["FILES", "KNOWN", "LAST", "PLAN", "READY", "Plan", "SourcePlan", "plan_of"]

LAST = "last"
"""A file of this name lets the writer deliver what it kept for the last follower."""

KNOWN = "known"
"""A file of this name says that a checkpoint has a position in each file: they may be rotated."""

READY = ".ready"
"""A file of a source's name and this says that the last follower may start."""

PLAN = "plan"
"""A file of this name tells the writer what to deliver."""

FILES = ("whole", "harmed", "rank0", "rank1")
"""The sources that are files."""

_KINDS = {"whole": True, "harmed": False, "pipe": False, "unix": False, "tcp": False}


class SourcePlan(msgspec.Struct, frozen=True):
    """One source: its clean lines, and what is delivered of them. `whole` is without a loss."""

    kind: str
    whole: bool
    lines: list[bytes]
    deliveries: list[Delivery]


class Plan(msgspec.Struct, frozen=True):
    """An episode: its sources by their kind, and what was done to their lines.

    `merged` has the lines of the engine of which some sources are the ranks, as one stream.
    """

    sources: dict[str, SourcePlan]
    merged: list[bytes]
    reorder: bool
    counts: dict[str, int]

    def options(self, folder: Path, port: int) -> list[str]:
        """The arguments of `follow` that they need."""
        reorder = ["--reorder", str(WINDOW)] if self.reorder else []
        return [*(self.address(kind, folder, port) for kind in self.sources), *reorder]

    def judged(self, folder: Path, port: int) -> dict[str, tuple[str, list[bytes], bool]]:
        """What verdicts are on, by its kind: the source that they cite, the clean lines, and
        whether nothing is lost. The ranks of an engine are one.
        """
        found = {
            kind: (self.address(kind, folder, port), source.lines, source.whole)
            for kind, source in self.sources.items()
            if not kind.startswith("rank")
        }
        return {**found, "ranks": (f"{PREFIX}ranks", self.merged, True)}

    @staticmethod
    def address(kind: str, folder: Path, port: int) -> str:
        """A source as `follow` names it."""
        match kind:
            case "pipe":
                return str(folder / kind)
            case "unix":
                return f"unix:{folder / kind}"
            case "tcp":
                return f"tcp:127.0.0.1:{port}"
            case _:
                return f"file:{folder / kind}.jsonl"


def plan_of(seed: int, lines: int) -> Plan:
    """The plan of this seed, with so many lines a source."""
    chance = Random(seed)
    reorder, counts = chance.random() < 0.7, Counter[str]()
    sources: dict[str, SourcePlan] = {}
    for kind, whole in _KINDS.items():
        its = clean(chance, kind, lines)
        found = delivered(chance, its, counts, whole=whole, reorder=reorder)
        sources[kind] = SourcePlan(kind, whole, its, found)
    merged, parts = ranked(chance, "ranks", lines)
    for rank, its in enumerate(parts):
        found = delivered(chance, its, counts, whole=True, reorder=reorder)
        sources[f"rank{rank}"] = SourcePlan(f"rank{rank}", True, its, found)
    return Plan(sources, merged, reorder, counts)
