"""Defines groups of event fields that depend on the same facts."""

from __future__ import annotations

from typing import Final

__all__ = ["POOL"]

POOL: Final = frozenset(
    {
        *("rest", "rest_since_arrival", "shared", "others"),
        *("shared_unblamed", "blamed_rest", "blamed_least", "invalid_blocker"),
    }
)
"""The fields that rest on all claims of the pool."""
