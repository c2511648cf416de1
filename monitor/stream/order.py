"""Checks order and time in one stream: disorder, gaps, and durations that have elapsed."""

from __future__ import annotations

import heapq
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from monitor.input.records import CANONICAL
from monitor.stream.span import Span
from spec.claims.claim import Mode
from spec.claims.durations import Duration, TimeUnit
from spec.contract.modes import MODES
from spec.events.canonical import Mark

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from monitor.evaluate.claim import ClaimRun
    from monitor.input.records import At, Form, Stamp
    from spec.events.canonical import Event

__all__ = ["Clock", "Order"]

_CUT = "the stream was cut: stream_closed is not its last line"
_ENDS: Final = 1_000  # ends of durations between two sweeps, at least
_STEPS = "its duration is in steps, and no duration_elapsed event states its end"


class Order:
    """The last sequence number and time of a stream, and whether it has the end it promised.

    A stream has one form, that of its first line. From a line of another form on nothing is known
    of the order, and so of no line whether it is missing.

    Several who read the same lines may have one in common.
    """

    def __init__(self) -> None:
        self._first: int | None = None
        self._sequence: int | None = None
        self._time: int | None = None
        self._form: Form | None = None
        self._mixed: tuple[At, str] | None = None
        self._opened: At | None = None
        self._closed = False
        self._last: Stamp | None = None
        self._problems: tuple[str, str] = ("", "")

    @property
    def form(self) -> Form | None:
        """The form of the first line."""
        return self._form

    @property
    def whole(self) -> bool:
        """Whether the stream promised an end, and has it."""
        return self._opened is not None and self.cut is None

    @property
    def span(self) -> Span:
        """From where to where its numbers reach."""
        name = None if self._form is None else self._form.name
        return Span(name, self._first, self._sequence)

    @property
    def cut(self) -> tuple[At, str] | None:
        """Why the stream as a whole cannot be trusted, and where that is seen: its lines have two
        forms, or it has not the end that it promised.
        """
        if self._mixed is not None:
            return self._mixed
        return None if self._closed or self._opened is None else (self._opened, _CUT)

    def check(self, stamp: Stamp, at: At) -> tuple[str, str]:
        """What ran backwards and what is missing at this line, in words; empty where nothing."""
        if stamp is not self._last:
            self._last, self._problems = stamp, self._check(stamp, at)
        return self._problems

    def follows(self, first: Event, last: Event) -> bool:
        """Whether canonical lines come next, with nothing missing before them; if so, they are
        checked.

        Args:
            first: the event of the first line; from there to the last one they are in order.
        """
        if first.sequence is None or first.time_ns is None:
            return False
        expected = 0 if self._sequence is None else self._sequence + 1
        early = self._time is not None and first.time_ns < self._time
        if self._form not in (None, CANONICAL) or first.sequence != expected or early:
            return False
        if self._mixed is not None:
            return False
        self._first = first.sequence if self._first is None else self._first
        self._form, self._sequence, self._time = CANONICAL, last.sequence, last.time_ns
        self._closed, self._last, self._problems = False, None, ("", "")
        return True

    def _check(self, stamp: Stamp, at: At) -> tuple[str, str]:
        opened, opens = self._opened is not None, stamp.mark is Mark.STREAM_OPENED
        closed, self._closed = self._closed, stamp.mark is Mark.STREAM_CLOSED
        if opens:
            self._opened = self._opened or at
        form = self._form = self._form or stamp.form
        if stamp.form is not form and self._mixed is None:
            self._mixed = at, f"two dialects in one stream: {form.name} and {stamp.form.name}"
        if self._mixed is not None:
            return "", self._mixed[1]
        back = missing = ""
        last, number = self._sequence, stamp.sequence
        if number is not None:
            expected = form.first if last is None else (last + 1,)
            if last is not None and number <= last:
                back = f"sequence {number} comes after {last}"
            elif not form.skips and number not in expected:
                missing = _missing(max(expected), number - 1)
            self._first = number if self._first is None else self._first
            self._sequence = number
        if stamp.time_ns is not None:
            if self._time is not None and stamp.time_ns < self._time:
                back = back or f"time {stamp.time_ns} ns comes after {self._time} ns"
            self._time = stamp.time_ns
        if opens and (
            back or (opened and not closed)
        ):  # another run, or the rest of one that was cut
            return "", "the stream is opened twice"
        return back, missing


def _missing(first: int, last: int) -> str:
    if first == last:
        return f"sequence {first} is missing"
    return f"sequences {first} to {last} are missing"


@lru_cache(maxsize=256)
def _nanoseconds(text: str) -> int | None:
    """How long a duration is; None where it counts scheduler steps."""
    duration = Duration.parse(text)
    return None if duration.unit is TimeUnit.STEPS else duration.nanoseconds


def _length(claim: ClaimRun) -> int | None:
    """The claim's duration in nanoseconds; None where it has none, or counts scheduler steps."""
    return None if claim.duration is None else _nanoseconds(claim.duration)


class Clock:
    """Claims with a duration in seconds, by the time at which it is over; no claim is scanned.

    A duration whose end cannot be determined is kept with the reason.
    """

    def __init__(self) -> None:
        self._ends: list[tuple[int, int, str]] = []
        self._running: dict[str, dict[int, ClaimRun]] = {}
        self._left: dict[str, dict[int, ClaimRun]] = {}  # without a responsible runtime
        self._ties = 0  # claims whose durations ran so far
        self._most = _ENDS
        self._until: dict[str, int] = {}
        self._least: dict[str, int] = {}  # no end is earlier
        self._seen: int | None = None  # the last time
        self._unknown: dict[str, tuple[At | None, str]] = {}
        self._steps_stated = False

    def enter(self, claim: ClaimRun) -> None:
        """The claim is registered or committed to: its duration is over no earlier than if it ran
        from the last time that was seen.
        """
        length = _length(claim)
        if length is not None and self._seen is not None:
            self._least[claim.claim_id] = self._seen + length

    def start(self, claim: ClaimRun, at: At, time_ns: int | None) -> None:
        """The claim's duration, if it has one, counts from this commitment."""
        if claim.duration is None:
            return
        self.enter(claim)
        self.over(claim)  # of an earlier life
        claim.elapsed = False
        length = _length(claim)
        if length is None:
            self.lose(claim, at, _STEPS)
        elif time_ns is None:
            self.lose(claim, at, "its commitment has no time_ns from which its duration counts")
        else:
            self._until[claim.claim_id] = end = time_ns + length
            if claim.claim_id not in self._unknown:
                tie, self._ties = self._ties, self._ties + 1
                heapq.heappush(self._ends, (end, tie, claim.claim_id))
                self._running.setdefault(claim.claim_id, {})[tie] = claim
                self._sweep()

    def over(self, claim: ClaimRun) -> None:
        """The claim is over: when its duration would have been does not matter any more."""
        self._running.pop(claim.claim_id, None)
        self._left.pop(claim.claim_id, None)

    def leave(self, claim: ClaimRun) -> None:
        """No runtime is responsible for the claim any more: that its end is unknown does not
        matter.
        """
        if (running := self._running.pop(claim.claim_id, None)) is not None:
            self._left.setdefault(claim.claim_id, {}).update(running)

    def _sweep(self) -> None:
        """Take out the ends of claims that are over, now and then."""
        if len(self._ends) > self._most:
            self._ends = [end for end in self._ends if self._runs(*end[1:])]
            heapq.heapify(self._ends)
            self._most = 2 * len(self._ends) + _ENDS

    def _runs(self, tie: int, claim_id: str) -> bool:
        return any(tie in claims.get(claim_id, ()) for claims in (self._running, self._left))

    def stop(self, at: At) -> None:
        """A line without a time: what it says may come before or after the end of a duration."""
        for claims in self._running.values():
            for claim in claims.values():
                self.lose(claim, at, "a line without time_ns came while its duration ran")
        self._running.clear()

    def forget(self, claim: ClaimRun) -> None:
        """The claim is forgotten."""
        self._unknown.pop(claim.claim_id, None)
        self._until.pop(claim.claim_id, None)
        self._least.pop(claim.claim_id, None)

    def liken(self, claim: ClaimRun, like: ClaimRun) -> None:
        """What is known of the duration of a claim is what is known of another one's."""
        if (found := self._unknown.get(like.claim_id)) is not None:
            self._unknown.setdefault(claim.claim_id, found)

    def reason(self, claim: ClaimRun) -> str:
        """Why it is unknown when the claim's duration is over; empty where it is known."""
        return self._unknown.get(claim.claim_id, (None, ""))[1]

    def lose(self, claim: ClaimRun, at: At, why: str) -> None:
        """The end of the claim's duration cannot be determined, unless a fact states it."""
        self._unknown.setdefault(claim.claim_id, (at, why))

    def differ(self, claim: ClaimRun, at: At) -> None:
        """Another duration of the claim is stated than was before: which one runs is unknown."""
        self.lose(claim, at, "two different durations of it were stated")
        self.over(claim)

    def tell(self, claim: ClaimRun) -> None:
        """A fact states the end of the claim's duration; if it is in steps, steps are stated."""
        if claim.duration is not None:
            self._steps_stated = self._steps_stated or _nanoseconds(claim.duration) is None

    def early(self, claim: ClaimRun, event: Event) -> str:
        """What contradicts that the claim's duration is over; empty if nothing does."""
        if claim.duration is None:
            asked = claim.declared_mode or claim.compiled.mode
            plain = claim.registered and asked in MODES and asked != Mode.EXPIRING
            return "the duration of a claim elapses that has none" if plain else ""
        end = self._until.get(claim.claim_id)
        if claim.elapsed or (end is None and event.time_ns is None):
            return ""
        if event.time_ns is None:
            return "a duration elapses, and the line has no time"
        if event.time_ns < max(end or 0, self._least.get(claim.claim_id, 0)):
            return "a duration elapses before its end by the clock of the stream"
        return ""

    def unknown(self, claim: ClaimRun) -> tuple[At | None, str] | None:
        """Why it is unknown whether the claim's duration is over; None where it is known."""
        found = None if claim.elapsed else self._unknown.get(claim.claim_id)
        return None if found and found[1] == _STEPS and self._steps_stated else found

    def unseen(self, claims: Mapping[str, ClaimRun]) -> tuple[At | None, str] | None:
        """Why it is unknown whether the duration of one of these claims is over that lapses by it,
        if so; one in steps lasts until a fact states its end.
        """
        for name, (at, why) in self._unknown.items():
            claim = claims.get(name)
            if claim is None or claim.elapsed or not claim.constants.lapses:
                continue
            if claim.duration is None or _length(claim) is not None:
                return at, f"claim {name}: {why}"
        return None

    def passes(self, time_ns: int) -> bool:
        """Whether a duration is over at this time, the last one seen; then some are `due`."""
        self._seen = time_ns
        return bool(self._ends) and self._ends[0][0] <= time_ns

    def due(self, time_ns: int | None) -> Iterable[ClaimRun]:
        """Claims whose duration is over at this time, the last one seen, each once."""
        self._seen = self._seen if time_ns is None else time_ns
        return self._take_due(time_ns) if self._ends and time_ns is not None else ()

    def _take_due(self, time_ns: int) -> Iterator[ClaimRun]:
        while self._ends and self._ends[0][0] <= time_ns:
            _, tie, claim_id = heapq.heappop(self._ends)
            for running in (self._running, self._left):
                claims = running.get(claim_id, {})
                if (claim := claims.pop(tie, None)) is not None:
                    if not claims:
                        del running[claim_id]
                    yield claim
