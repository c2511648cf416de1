"""Defines what is known of a watched claim: how many of its blocks are held, and its losses."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from monitor.watch.registry import Watched

__all__ = ["Loss", "Standing", "State", "ranges"]


class State(StrEnum):
    """Whether the prefix of a claim is on the GPU.

    `unknown`: the events that were read do not decide it.
    """

    HELD = "held"
    ABSENT = "absent"
    UNKNOWN = "unknown"


class Loss(msgspec.Struct, frozen=True):
    """A prefix that was held is gone: `time_ns` on the engine's wall clock, and why."""

    time_ns: int
    why: str


class Standing:
    """What is known of one claim on one engine.

    Attributes:
        needed: blocks that a hit needs, of all groups of caches.
        held: those of them on the GPU.
        gone: those of them that are not.
        tiers: blocks of the prefix with a copy in other tiers, by tier.
        registered: whether the judge knows the claim in this run of the stream.
        undecidable: whether the groups of caches do not allow to evaluate the predicate.
        doubted: why the claim is inconclusive in this run; empty if it is not.
        why: why blocks of the claim are not held any more, or are not known to be; empty if there
            is no such reason.
        since_ns: when `state` became what it is, on the engine's wall clock; None if no batch was
            read yet.
        losses: how often it became absent after it was held, as far as that is known.
        periods: how often the claim was registered.
    """

    def __init__(self, claim: Watched) -> None:
        self.claim = claim
        self.needed = self.held = self.gone = 0
        self.tiers: dict[str, int] = {}
        self.undecidable = self.registered = False
        self.doubted = ""
        self.state, self.why = State.UNKNOWN, ""
        self.since_ns: int | None = None
        self.losses = 0
        self.last: Loss | None = None
        self.periods = 0
        self._was_held = False  # and not absent since
        self._resident_ns = 0

    def pause(self, time_ns: int, why: str) -> bool:
        """Make the state unknown until the next batch. Return True if it changed."""
        if self.state is State.UNKNOWN:
            return False
        self._resident_ns = self.resident_ns(time_ns)
        self.state, self.why, self.since_ns = State.UNKNOWN, why, time_ns
        return True

    def restart(self, time_ns: int) -> None:
        """Forget losses and times: from now on they are counted."""
        self.losses, self.last = 0, None
        self._resident_ns = 0
        self.since_ns = None if self.since_ns is None else time_ns

    @property
    def is_known(self) -> bool:
        """Whether of every block that is needed it is known whether it is held."""
        return self.held + self.gone == self.needed

    @property
    def was_held(self) -> bool:
        """Whether the claim was ever held."""
        return self.losses > 0 or self._was_held

    @property
    def now(self) -> State:
        """The state, by the blocks."""
        if self.needed and self.held == self.needed:
            return State.HELD
        return State.ABSENT if self.gone else State.UNKNOWN

    def move(self, time_ns: int, why: str, *, was_absent: bool = False) -> bool:
        """Take the state from the blocks. Return True if it changed, or is the first.

        Args:
            why: blocks of the claim are not held any more.
            was_absent: whether the claim was absent in between.
        """
        before, self.state = self.state, self.now
        lost = self._was_held and (was_absent or self.state is State.ABSENT)
        if before is self.state and self.since_ns is not None and not lost:
            if why and self.state is State.UNKNOWN:
                self.why = why
            return False
        if before is State.HELD:
            self._resident_ns += max(time_ns - (self.since_ns or 0), 0)
        self.why = why if lost or self.state is State.UNKNOWN else ""
        if lost:
            self.losses, self.last = self.losses + 1, Loss(time_ns, why)
        self._was_held = self.state is State.HELD or (self._was_held and not lost)
        self.since_ns = time_ns
        return True

    def resident_ns(self, now_ns: int) -> int:
        """For how long the prefix was held, in all."""
        since_ns = now_ns if self.since_ns is None else self.since_ns
        more = max(now_ns - since_ns, 0) if self.state is State.HELD else 0
        return self._resident_ns + more


def ranges(positions: Iterable[int]) -> str:
    """Positions as people write them: `3, 5-7`."""
    found: list[list[int]] = []
    for each in sorted({*positions}):
        if found and each == found[-1][1] + 1:
            found[-1][1] = each
        else:
            found.append([each, each])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in found)
