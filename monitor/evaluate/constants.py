"""Holds what a guard reads of a claim that no event changes."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from spec.contract.modes import MODES

if TYPE_CHECKING:
    from spec.claims.claim import Mode

__all__ = ["Constants", "constants_of", "fixed_by"]


class Constants:
    """The fields of `spec.contract.vocabulary.CONSTANTS`, which stay as they are."""

    __slots__ = ("lapses", "ranked", "threshold", "tiered", "watched")

    def __init__(
        self, threshold: int, lapses: bool, tiered: bool, watched: bool, ranked: bool
    ) -> None:
        self.threshold, self.lapses, self.tiered = threshold, lapses, tiered
        self.watched, self.ranked = watched, ranked


@lru_cache(maxsize=4096)
def constants_of(
    threshold: int, lapses: bool, tiered: bool, watched: bool, ranked: bool
) -> Constants:
    """The constants of a claim, which it has in common with others."""
    return Constants(threshold, lapses, tiered, watched, ranked)


@cache
def fixed_by(mode: Mode) -> tuple[bool, bool, bool, bool]:
    """What a mode fixes: the fields of `Constants` but for the threshold."""
    fixed = MODES[mode].constants
    return fixed["lapses"], fixed["tiered"], fixed["watched"], fixed["ranked"]
