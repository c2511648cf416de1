"""Defines the record of one request of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from monitor.evaluate.claim import ClaimRun
    from monitor.evaluate.event_view import EventView
    from monitor.input.records import At

__all__ = ["Request"]


class Request(msgspec.Struct):
    """One request, whatever claims it has to do with.

    `needed` and `usable` are in blocks; as long as no arrival stated them, it needs more than is
    usable at all, and so is in conflict with no claim. `since` is the number of the event by which
    it arrived; `came` says that it arrived, with its needs or without, `unsure` that they are
    unknown. `failed` names the known claims whose restore failed for it, and `unnamed` says why
    there may be more. `losses` is how often track was lost before it arrived, `missing` how often
    lines were. `claims` have it in hand; `former` had, and it is too long ago, and `forgotten` had
    when they were forgotten. `gone` says that it may be one of those that ended so long ago that
    all of this is forgotten.
    """

    at: At | None = None
    needed: int = 1
    usable: int = 0
    arrived: bool = False
    since: int = 0
    came: bool = False
    unsure: bool = False
    losses: int = -1
    missing: int = 0
    unnamed: tuple[At | None, str] | None = None
    ended: bool = False
    gone: bool = False
    failed: set[str] = msgspec.field(default_factory=set)
    claims: dict[str, ClaimRun] = msgspec.field(default_factory=dict)
    former: set[str] = msgspec.field(default_factory=set)
    forgotten: set[str] = msgspec.field(default_factory=set)

    def known(self, *, before: bool = False) -> tuple[bool, bool, int, int]:
        """What the pool knows of the request, whichever scope tracks it: whether it was seen, and
        is there, and how much it needs of what.

        Args:
            before: its arrival, by which it is known.
        """
        came = self.came and not before
        there = came and not self.ended
        needed, usable = (self.needed, self.usable) if there else (0, 0)
        return came, there, needed, usable

    def forget_needs(self) -> None:
        """It is as it was before it arrived, but for whom it has to do with."""
        self.at, self.needed, self.usable, self.arrived = None, 1, 0, False
        self.since, self.missing, self.unsure = 0, 0, False

    def tell(self, view: EventView) -> None:
        """What the request needs, of what."""
        view.needed, view.usable = self.needed, self.usable
