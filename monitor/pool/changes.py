"""Defines what an event about blocks comes to, for the claims that hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from monitor.evaluate.claim import ClaimRun

__all__ = ["Held", "Lost", "Moved"]


class Held(NamedTuple):
    """For whom anything is new that an event says to be there.

    `stated` is false where the event does not say which blocks, or how many.
    """

    stated: bool
    changed: list[ClaimRun]


class Moved(NamedTuple):
    """The claims that hold a block of an event at another position, or with another content, and
    those that held it elsewhere until then, which are not tracked any more.
    """

    clash: list[ClaimRun]
    left: list[ClaimRun]


class Lost(NamedTuple):
    """Who loses a position by an event, and for which claims that is unknown; `strays` are those
    that lose none of their own, but some behind their end.
    """

    losers: dict[str, ClaimRun]
    unseen: list[ClaimRun]
    strays: list[ClaimRun]
