"""Holds the fields of an event that guards read, with their values for one claim."""

from __future__ import annotations

import copy
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import msgspec

from monitor.input.records import At
from spec.contract.modes import MODES
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from spec.claims.claim import Mode

__all__ = ["Constants", "EventView", "constants_of", "fixed_by"]


class EventView(msgspec.Struct, gc=False):
    """The fields of `spec.contract.vocabulary.EVENT_FIELDS`; `here` is set for each request.

    `low` is the same event where it is unknown which blocks are shared, as if all were that may be;
    `unsized` says that a commitment states no footprint.
    """

    kind: Kind
    at: At | None
    request_id: str | None = None
    mine: bool = False
    named: bool = False
    here: bool = False
    direct: bool = True
    lead: int = 0
    footprint: int = 0
    needed: int = 0
    usable: int = 0
    rest: int = 0
    stood: int = 0
    shared: int = 0
    others: int = 0
    blamed: bool = False
    tied: int = 0
    blamed_rest: int = 0
    blamed_least: int = 0
    stranger: bool = False
    accuses: bool = False
    restore: bool = False
    smear: bool = False
    alleges: bool = False
    echo: bool = False
    outcome: bool = False
    refusal: bool = False
    harm: bool = False
    from_tier: bool = False
    intact: bool = False
    authorised: bool = True
    by: int = 0
    found: bool = False
    covers: bool = False
    breaks: bool = False
    unsaid: bool = False
    passed: bool = False
    spared: bool = False
    proof: bool = False
    said_resident: int = 0
    said_active: int = 0
    said_total: int = 0
    said_usable: int = 0
    said_shortfall: int = 0
    cost: int = 0
    worker: int = 0
    hit: bool = False
    behind: bool = False
    oldest: bool = False
    low: EventView | None = None
    unsized: bool = False

    def copied(self) -> EventView:
        """The same again."""
        return copy.copy(self)


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
