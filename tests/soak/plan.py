"""Decides all that an episode does by its seed, for each process that takes part."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import msgspec

from tests.soak.clean import clean
from tests.soak.disturbed import WINDOW, Delivery, delivered

__all__ = ["KNOWN", "LAST", "PLAN", "READY", "Plan", "SourcePlan", "plan_of"]

LAST = "last"
"""A file of this name lets the writer deliver what it kept for the last follower."""

KNOWN = "known"
"""A file of this name says that a checkpoint has a position in each file: they may be rotated."""

READY = ".ready"
"""A file of a source's name and this says that the last follower may start."""

PLAN = "plan"
"""A file of this name tells the writer what to deliver."""

_KINDS = {"whole": True, "harmed": False, "pipe": False, "unix": False, "tcp": False}


class SourcePlan(msgspec.Struct, frozen=True):
    """One source: its clean lines, and what is delivered of them. `whole` is without a loss."""

    kind: str
    whole: bool
    lines: list[bytes]
    deliveries: list[Delivery]


class Plan(msgspec.Struct, frozen=True):
    """An episode: its sources by their kind, and what was done to their lines."""

    sources: dict[str, SourcePlan]
    reorder: bool
    counts: dict[str, int]

    def options(self, folder: Path, port: int) -> list[str]:
        """The arguments of `follow` that they need."""
        reorder = ["--reorder", str(WINDOW)] if self.reorder else []
        return [*(self.address(kind, folder, port) for kind in self.sources), *reorder]

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
    return Plan(sources, reorder, counts)
