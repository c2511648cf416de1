"""The project's own sample traces: generated, never recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Final

__all__ = ["FOLDER", "sample"]

FOLDER: Final = Path(__file__).parent


def sample(name: str) -> Path:
    """Where the sample trace `name` (such as `hard_protected_refusal`) lies."""
    return FOLDER / f"{name}.jsonl"
