"""Streams written by hand for what streams by chance hardly ever show of the projection."""

from __future__ import annotations

from typing import Final

from spec.claims import Mode
from spec.projection.lines import Line

__all__ = ["CASES"]

CASES: Final[tuple[tuple[str, Mode, list[Line]], ...]] = ()
"""The name of each, the mode that judges it, and its lines."""
