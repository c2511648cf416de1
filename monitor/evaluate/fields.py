"""Defines groups of event fields that depend on the same facts."""

from __future__ import annotations

from typing import Final

__all__ = ["POOL"]

POOL: Final = frozenset(
    {"rest", "stood", "shared", "others", "tied", "blamed_rest", "blamed_least", "stranger"}
)
"""The fields that rest on all claims of the pool."""
