"""States how large a trace may be that the naive projection judges."""

from __future__ import annotations

from typing import Final

__all__ = ["MOST_BYTES", "MOST_LINES"]

MOST_LINES: Final = 2_000
MOST_BYTES: Final = 1 << 20
