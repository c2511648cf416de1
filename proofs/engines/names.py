"""Names the engines, so that the help of `check` imports none of them."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

__all__ = ["DEPTH", "EngineName"]

DEPTH: Final = 16
"""Events of a bounded search, at most."""


class EngineName(StrEnum):
    """`auto` tries several of the others."""

    AUTO = "auto"
    SEARCH = "search"
    RECORDED = "recorded"
    SPACER = "spacer"
