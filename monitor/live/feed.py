"""Judges events as they arrive, and emits the verdicts that changed."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Final, cast

import msgspec

from monitor.input.errors import InputError
from monitor.input.given import record_of
from monitor.live.lines import LiveLimit, LiveVerdict
from monitor.results import obligation_said
from monitor.streams import NativeStreams, streams_of
from spec.events.canonical import Event
from spec.language.verdicts import Verdict, pool
from spec.stream.breaks import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from monitor.input.records import At
    from monitor.live.lines import Limited
    from spec.claims.states import Mode
    from spec.events.canonical import StreamMark
    from spec.stream.outcome import ClaimOutcome

__all__ = ["IDS", "REQUESTS", "Live"]

REQUESTS: Final = 100_000
"""Requests that are followed; one more breaks the stream."""

IDS: Final = 100_000
"""Claims that ended and are not kept, of which the id is remembered."""

_EVERY_S: Final = 0.5
_EVERY_LINES: Final = 8_192  # what waits to be reported is bounded, however fast lines come
_SHARE: Final = 20  # a look at claims takes at most one part in so many of the time


class Live:
    """Judges the events of one stream, each claim by the mode that it states.

    Args:
        modes: those whose claims are reported.
        most: claims in hand. One more breaks the stream: the claims that are alive then are
            inconclusive.
        ended: claims that ended and are still checked, and emitted to late readers.
        ids: of so many claims before them the id is remembered.
    """

    def __init__(
        self,
        stream: str,
        modes: Sequence[Mode],
        most: int = 10_000,
        ended: int = 1_000,
        ids: int = IDS,
    ) -> None:
        self.stream, self._modes = stream, frozenset(modes)
        limits = Limits(live=most, ended=ended, ids=ids, requests=REQUESTS)
        self._streams = streams_of(stream)(limits=limits, watched=True)
        self._read = 0
        self._forgotten: dict[str, int] = {}  # by stream, of the run that it is in
        self._emitted: dict[tuple[int, str], LiveVerdict] = {}
        self._last: deque[LiveVerdict] = deque(maxlen=ended)  # of claims that were forgotten
        self._reached: dict[str, LiveLimit] = {}
        self._last_number: int | None = None
        self._next, self._next_line = 0.0, _EVERY_LINES

    def take_all(self, lines: Sequence[Event | StreamMark]) -> None:
        """The same as `take` of each of these lines."""
        streams, taken = self._streams, 0
        if isinstance(streams, NativeStreams) and all(map(self._is_own, lines)):
            taken = streams.take_events(cast("Sequence[Event]", lines), self._read + 1)
            self._read += taken
            if taken:
                self._last_number = lines[taken - 1].sequence
        for line in lines[taken:]:
            self.take(line)

    def _is_own(self, line: Event | StreamMark) -> bool:
        """Whether it is an event of the stream, by its name or by none."""
        return isinstance(line, Event) and line.stream in ("", self.stream)

    def take(self, line: Event | StreamMark) -> None:
        """Judge one event, or process a mark of the stream. One that no line of a trace can state
        breaks the stream, as a line that was not understood.
        """
        self._read += 1
        own = self._is_own(line)
        if own and self._streams.take_event(cast("Event", line), self.stream, self._read):
            self._last_number = line.sequence
            return
        try:
            record = record_of(line, self.stream, self._read)
        except InputError as error:
            self._streams.reject(error)
            return
        self._last_number = record.stamp.sequence
        self._streams.take(record)

    @property
    def given_up(self) -> dict[str, int]:
        """How many claims ended and are not kept; of these at most the id is remembered. It is as
        it was at the last look.
        """
        return {"claims": sum(self._forgotten.values())}

    def changes(self, *, final: bool = False) -> list[LiveVerdict | LiveLimit]:
        """The verdicts that are not what they were, and the limits that were reached; none where it
        is too early to look again.

        Args:
            final: the stream is over, and every verdict is emitted.
        """
        if not self.due and not final:
            return []
        began = time.monotonic()
        found = [*self._changed(final=final)]
        if final:
            found += self._finish()
        ended = time.monotonic()
        self._next = ended + max(_EVERY_S, _SHARE * (ended - began))
        self._next_line = self._read + _EVERY_LINES
        return found

    @property
    def due(self) -> bool:
        """Whether it is time to look at the claims that were moved."""
        return self._read >= self._next_line or time.monotonic() >= self._next

    @property
    def standing(self) -> list[LiveVerdict | LiveLimit]:
        """The limits that were reached, and the verdicts as they were last emitted."""
        return [*self._reached.values(), *self._last, *self._emitted.values()]

    def _changed(self, *, final: bool) -> Iterator[LiveVerdict | LiveLimit]:
        for news in self._streams.news(every=True):
            self._forgotten[news.stream] = news.forgotten
            for limit, why in news.limits.items():
                if limit not in self._reached:
                    line = LiveLimit(self.stream, cast("Limited", limit), why, self._last_number)
                    self._reached[limit] = line
                    yield line
            for claim in news.gone:
                yield from self._forget(claim)
            for claim in () if final else news.moved:
                key = claim.period, claim.claim_id
                if self._counts(claim, key):
                    verdict = _verdict(self.stream, claim)
                    if verdict != self._emitted.get(key):
                        self._emitted[key] = verdict
                        yield verdict

    def _finish(self) -> Iterator[LiveVerdict]:
        self._streams.finish()
        for _, claim in self._streams.in_hand():
            key = claim.period, claim.claim_id
            if self._counts(claim, key):
                self._emitted[key] = verdict = _verdict(self.stream, claim, final=True)
                yield verdict

    def _counts(self, outcome: ClaimOutcome, key: tuple[int, str]) -> bool:
        """Whether verdicts on a claim are emitted: something was owed to it, or was violated."""
        if outcome.mode not in self._modes:
            return False
        verdicts = (found.verdict for found in outcome.findings.values())
        return outcome.entered or key in self._emitted or Verdict.VIOLATED in verdicts

    def _forget(self, claim: ClaimOutcome) -> Iterator[LiveVerdict]:
        """A claim is forgotten: its verdict is emitted for the last time."""
        key = claim.period, claim.claim_id
        counts = self._counts(claim, key)
        self._emitted.pop(key, None)
        if counts:
            last = msgspec.structs.replace(_verdict(self.stream, claim), forgotten=True)
            self._last.append(last)
            yield last


def _verdict(stream: str, outcome: ClaimOutcome, *, final: bool = False) -> LiveVerdict:
    """The verdict on a claim; one to which nothing was owed is inconclusive unless violated."""
    findings = outcome.findings
    verdict = pool(found.verdict for found in findings.values())
    heaviest = next(name for name, found in findings.items() if found.verdict is verdict)
    found = findings[heaviest]
    said = obligation_said(heaviest, found)
    exercised: dict[str, Verdict] = {
        n: f.verdict for n, f in findings.items() if f.verdict is not Verdict.UNEXERCISED
    }
    assert outcome.mode is not None
    at = cast("At | None", found.at)
    code, sequence = said.code, None if at is None else at.sequence
    why = said.why
    if not outcome.entered and verdict is not Verdict.VIOLATED and found.reason is None:
        verdict, heaviest, why, sequence = Verdict.INCONCLUSIVE, "", outcome.why, None
    return LiveVerdict(
        stream,
        outcome.claim_id,
        outcome.mode,
        outcome.state,
        verdict,
        exercised,
        heaviest,
        why,
        sequence,
        final=final,
        period=outcome.period + 1,
        code=code,
    )
