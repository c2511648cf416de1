"""Times the durations of claims by the clock of the stream, from their commitments."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final

from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.stream.breaks import Contradiction
from spec.stream.claim import duration_of
from spec.stream.codes import Code, Reason

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spec.events.canonical import Event
    from spec.stream.breaks import Line
    from spec.stream.claim import Claim

__all__ = ["Durations"]

_FEW: Final = 64
"""Ends of durations that are not swept."""


class Durations:
    """The durations that run.

    Attributes:
        ends: a heap of when they end, each with the number of the event that began it.
        timed: the claims whose end is known.
        steps_stated: whether the stream states the ends of durations in scheduler steps.
    """

    def __init__(self) -> None:
        self.ends: list[tuple[int, int, Claim]] = []
        self.timed: dict[Claim, None] = {}
        self.steps_stated = False

    def start(
        self, claim: Claim, event: Event, line: Line, *, last_ns: int | None, number: int
    ) -> None:
        """Take what an event that states terms says of the duration of a claim.

        Args:
            last_ns: the last time that the stream stated.
            number: of the event.
        """
        commits = event.kind is Kind.CLAIM_COMMITTED
        if claim.committed and not commits:
            if event.duration and claim.end is None and claim.untimed is None:
                claim.untimed = line.at  # the entry has no duration, or another one
            return
        if claim.duration is None:
            return
        first = event.kind is Kind.CLAIM_REGISTERED and claim.least is None
        if (commits or first) and not claim.in_steps and last_ns is not None:
            claim.least = last_ns + duration_of(claim.duration).nanoseconds
        if not commits:
            return
        claim.elapsed = False
        if claim.in_steps or line.time_ns is None:
            claim.untimed = line.at
            return
        claim.end = line.time_ns + duration_of(claim.duration).nanoseconds
        self.timed[claim] = None
        heappush(self.ends, (claim.end, number, claim))
        if len(self.ends) > 2 * len(self.timed) + _FEW:
            self._sweep()

    def _sweep(self) -> None:
        """Drop the ends of durations that run no more: most claims are gone long before theirs."""
        self.ends = [row for row in self.ends if row[2] in self.timed and row[2].end == row[0]]
        heapify(self.ends)

    def over_by(self, now: int) -> Claim | None:
        """The next claim whose duration is over by a time, the earliest end first."""
        while self.ends and self.ends[0][0] <= now:
            end, _, claim = heappop(self.ends)
            if claim in self.timed and claim.end == end and claim.untimed is None:
                return claim
        return None

    def due(self) -> Iterable[Claim]:
        """The claims whose durations run, in the order in which those end."""
        running = sorted(e for e in self.ends if e[2] in self.timed and e[2].end == e[0])
        return dict.fromkeys(claim for _, _, claim in running)

    def resume(self, due: Iterable[Claim]) -> None:
        """Go on from what `due` returned."""
        self.timed = dict.fromkeys(due)
        self.ends = [(claim.end or 0, at, claim) for at, claim in enumerate(self.timed)]

    def elapse(self, claim: Claim) -> None:
        """The duration of a claim is over."""
        claim.elapsed = True
        self.timed.pop(claim, None)
        self.steps_stated |= claim.in_steps

    def untime(self, at: object) -> None:
        """A line has no time: it may stand before or after the end of a duration that runs."""
        for claim in self.timed:
            claim.untimed = at if claim.untimed is None else claim.untimed
        self.timed.clear()

    def distrust(self, claim: Claim) -> None:
        """Nothing is concluded of an expiring claim whose end cannot be timed."""
        if claim.lapses and claim.unseen_end and not (claim.in_steps and self.steps_stated):
            text = "it is unknown when the duration of the claim is over"
            claim.distrust(Reason(Code.DURATION_UNTIMED, text, claim.untimed))

    @staticmethod
    def check(claim: Claim, time_ns: int | None) -> None:
        """A duration elapses once it is over by the clock of the stream.

        Raises:
            Contradiction: it elapses too early, or the claim has none.
        """
        if claim.introduced and claim.duration is None and claim.mode not in (None, Mode.EXPIRING):
            why = "the duration of a claim elapses that has none"
        elif claim.elapsed or (time_ns is None and claim.end is None):
            return
        elif time_ns is None:
            why = "the duration elapses, and the line has no time"
        elif time_ns < max(claim.least or 0, claim.end or 0):
            why = "the duration elapses too early"
        else:
            return
        raise Contradiction(Code.DURATION_CONTRADICTS, f"facts contradict: {why}")
