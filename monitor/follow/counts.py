"""Counts what a follower did, for people and for Prometheus."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from monitor.follow.verdict_line import LimitLine, ViolationLine

if TYPE_CHECKING:
    from collections.abc import Iterable

    from monitor.follow.verdict_line import VerdictLine

__all__ = ["NO_MODE", "Counts"]

NO_MODE = "none"
"""The mode of a claim that states none, or two."""


@dataclass(slots=True)
class Counts:
    """Numbers since the process started; those of sources by the source as the user named it.

    `verdicts` are on claims by mode and verdict, `obligations` by mode, name and verdict,
    `violations` by mode and name. `limits` counts the streams that reached one, by the limit.
    """

    events: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    obligations: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    violations: Counter[tuple[str, str]] = field(default_factory=Counter)
    limits: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    gaps: Counter[str] = field(default_factory=Counter)

    def note(self, lines: Iterable[VerdictLine]) -> None:
        """Count what was decided."""
        for line in lines:
            if isinstance(line, ViolationLine):
                self.violations[line.mode, line.obligation] += 1
                continue
            if isinstance(line, LimitLine):
                self.limits[line.limit] += 1
                continue
            mode = line.mode or NO_MODE
            self.verdicts[mode, line.verdict if line.entered else "not_entered"] += 1
            for name, verdict in line.obligations.items():
                self.obligations[mode, name, verdict] += 1
