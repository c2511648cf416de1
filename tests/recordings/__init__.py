"""Traces that the plugin recorded in a real engine, redacted; see README.md."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from spec.claims.claim import Mode

__all__ = ["FOLDER", "RECORDED", "Recorded"]

FOLDER: Final = Path(__file__).parent


class Recorded(NamedTuple):
    """A scene of `python -m runtime_hooks demo`, and what its trace must come to."""

    scene: str
    mode: Mode
    verdict: str

    @property
    def path(self) -> Path:
        """Where its trace lies."""
        return FOLDER / f"{self.scene.replace(', ', '_').replace(' ', '_')}.jsonl"


RECORDED: Final = (
    Recorded("hard", Mode.HARD_PROTECTED, "kept"),
    Recorded("hard, not enforced", Mode.HARD_PROTECTED, "violated"),
    Recorded("demotable, reset", Mode.DEMOTABLE, "kept"),
    Recorded("expiring", Mode.EXPIRING, "kept"),
    Recorded("offloadable", Mode.OFFLOADABLE, "kept"),
    Recorded("offloadable, load fails", Mode.OFFLOADABLE, "kept"),
    Recorded("priority", Mode.SOFT_PRIORITY, "kept"),
)
