"""Defines the record of one request of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Hashable

    from monitor.evaluate.claim import ClaimRun
    from monitor.evaluate.event_view import EventView
    from monitor.input.records import At

__all__ = ["Request"]

_NONE: Final[frozenset[str]] = frozenset()


def _with(names: set[str] | frozenset[str], name: str) -> set[str]:
    """The names with one more; a set stays the same one."""
    if isinstance(names, set):
        names.add(name)
        return names
    return {*names, name}


class Request:
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

    __slots__ = (
        *("arrived", "at", "came", "claims", "ended", "failed", "forgotten", "former", "gone"),
        *("losses", "missing", "needed", "since", "unnamed", "unsure", "usable"),
    )

    def __init__(
        self, at: At | None = None, *, since: int = 0, losses: int = -1, came: bool = False
    ) -> None:
        self.at, self.since, self.losses, self.came = at, since, losses, came
        self.needed: int = 1
        self.usable: int = 0
        self.arrived: bool = False
        self.unsure: bool = False
        self.missing: int = 0
        self.unnamed: tuple[At | None, str] | None = None
        self.ended: bool = False
        self.gone: bool = False
        self.failed: set[str] | frozenset[str] = _NONE
        self.claims: dict[str, ClaimRun] = {}
        self.former: set[str] | frozenset[str] = _NONE
        self.forgotten: set[str] | frozenset[str] = _NONE

    @property
    def state(self) -> Hashable:
        """All that is known of it, but for the claims that have to do with it; None if any has."""
        if self.claims or self.failed or self.former or self.forgotten:
            return None
        known = self.at, self.needed, self.usable, self.arrived, self.since, self.unsure
        return *known, self.came, self.losses, self.missing, self.unnamed, self.ended, self.gone

    def fail(self, claim_id: str) -> None:
        """The restore of a claim failed for it."""
        self.failed = _with(self.failed, claim_id)

    def leave(self, claim_id: str) -> None:
        """A claim has it in hand no more, because that is too long ago."""
        self.former = _with(self.former, claim_id)

    def outlive(self, claim_id: str) -> None:
        """A claim is forgotten that had it in hand."""
        self.forgotten = _with(self.forgotten, claim_id)

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
        """Forget when it arrived and what it needs."""
        self.at, self.needed, self.usable, self.arrived = None, 1, 0, False
        self.since, self.missing, self.unsure = 0, 0, False

    def tell(self, view: EventView) -> None:
        """What the request needs, of what."""
        view.needed, view.usable = self.needed, self.usable
