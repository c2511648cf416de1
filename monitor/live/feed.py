"""Judges events as they arrive, and emits the verdicts that changed."""

from __future__ import annotations

import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Final, cast

import msgspec

from monitor.durable.copies import copies
from monitor.durable.known import Known
from monitor.durable.state import STATE
from monitor.engine import Monitor
from monitor.input.records import At, Doubt, Record, at_line, stamp_of
from monitor.live.lines import LiveLimit, LiveVerdict
from monitor.pool.seen import Seen
from monitor.stream.keep import Keep
from monitor.stream.stream_state import FORGOT
from spec.claims.claim import Mode
from spec.events.canonical import Event, StreamMark
from spec.language.verdicts import Verdict, pool

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterator, Sequence

    from monitor.evaluate.claim import ClaimRun
    from monitor.live.lines import Limited

__all__ = ["REQUESTS", "Live"]

REQUESTS: Final = 100_000
"""Requests of which something is known; with more of them nothing more is taken in."""

RECORDS: Final = 4_096
"""Claims that ended, beyond those in full, of which a record is kept."""

ENDED_REQUESTS: Final = 1_000
"""Requests that ended of which something is known."""

TROUBLED: Final = 100
"""Claims of one mode that ended and stay in full because they were violated or not judged."""

LOOK: Final = 256  # lines between two looks at how many requests there are

_EVERY_S: Final = 0.5
_TOO_MANY: Final = Doubt("there are more live claims than this monitor judges")
_TOO_MANY_REQUESTS: Final = Doubt("there are more unfinished requests than this monitor tracks")
_SHARE: Final = 20  # a look at all claims takes at most one part in so many of the time


class Live:
    """Judges the events of one stream by each of some modes; what counts is a claim's own mode.

    Args:
        most: live claims that are judged, and ids that were not registered. Once there are more, or
            more requests than `REQUESTS`, nothing more is taken in, and the claims that are alive
            are inconclusive.
        ended: ended claims that are still checked, and emitted to late readers.
        records: those before them of which a record is kept.
        requests: requests that ended of which something is known.
    """

    def __init__(
        self,
        stream: str,
        modes: Sequence[Mode],
        most: int = 10_000,
        ended: int = 1_000,
        records: int = RECORDS,
        requests: int = ENDED_REQUESTS,
    ) -> None:
        self.stream = stream
        self._most, self._full = most, False
        self._seen, self._ended = Seen(), ended
        self._records, self._requests = records, requests
        first, *rest = modes
        keep = Keep(
            ended=ended,
            records=records,
            ended_requests=requests,
            troubled=TROUBLED,
            on_retired=self._forget_own,
            seen=self._seen,
        )
        monitor = Monitor(first, keep=keep, beside=tuple(rest))
        self._monitors = {mode: monitor.by(mode) for mode in modes}
        self._shared = bool(rest)  # one monitor for all modes
        self._strangers = first  # who judges claims that asked for no mode
        self._read = 0
        self._emitted: dict[str, LiveVerdict] = {}
        self._looked: dict[str, Hashable] = {}  # how claims stood at the last look
        self._last: deque[LiveVerdict] = deque(maxlen=ended)  # of claims that were forgotten
        self._new: list[LiveVerdict | LiveLimit] = []
        self._limits = _limits(ended + records, requests)
        self._reached: list[LiveLimit] = []
        self._last_number: int | None = None
        self._given_up = 0  # claims, before the modes were parted
        self._next = 0.0

    def take_all(self, lines: Sequence[Event | StreamMark]) -> None:
        """The same as `take` of each of these lines."""
        done, number = 0, len(lines)
        while done < number:
            done += self._take_usual(lines[done:] if done else lines)
            if done < number:
                self.take(lines[done])
                done += 1

    def _take_usual(self, lines: Sequence[Event | StreamMark]) -> int:
        """Judge events by all modes at once, as long as they bring no claim and nothing else is to
        be decided before; how many.
        """
        before_look = LOOK - 1 - self._read % LOOK
        if self._full or not self._shared or not before_look or StreamMark in map(type, lines):
            return 0
        monitor, first = self._monitors[self._strangers], self._read + 1
        events = cast("Sequence[Event]", lines[:before_look])
        taken = monitor.take_usual(events, self.stream, first, self.stream)
        if taken:
            self._read += taken
            self._last_number = lines[taken - 1].sequence
            if monitor.apart:
                self._part()
        return taken

    def take(self, line: Event | StreamMark) -> None:
        """Judge one event, or process a mark of the stream."""
        if self._full:
            return
        self._read += 1
        at, self._last_number = at_line(self.stream, self._read, line.sequence), line.sequence
        doubt = None if isinstance(line, StreamMark) else self._exceeds(line)
        self._full = doubt is not None
        if isinstance(line, StreamMark):
            self._take_record(Record(at, stamp_of(line, self.stream)))
        elif doubt is not None:
            self._take_record(Record(at, stamp_of(line, self.stream), doubts=(doubt,)))
        elif not (self._shared and self._take_event(line, at)):
            self._take_record(Record(at, stamp_of(line, self.stream), ((line, at),)))

    def _take_event(self, event: Event, at: At) -> bool:
        """Judge an event by all modes at once; False, and nothing, where that cannot be done."""
        stream = self._monitors[self._strangers].take_event(event, at, self.stream)
        if stream is not None and stream.apart:
            self._part()
        return stream is not None

    def _take_record(self, record: Record) -> None:
        if self._shared and not self._monitors[self._strangers].fits(record):
            self._part()
        for monitor in self._each:
            monitor.take(record)
        if self._shared and self._monitors[self._strangers].apart:
            self._part()

    @property
    def given_up(self) -> dict[str, int]:
        """How many claims and requests that ended are beyond what is kept of such."""
        before, each = self._given_up, [monitor.given_up for monitor in self._each]
        claims = before + sum(claims - before for claims, _ in each)
        return {"claims": claims, "requests": max(requests for _, requests in each)}

    def changes(self, *, final: bool = False) -> list[LiveVerdict | LiveLimit]:
        """The verdicts that are not what they were, and the limits that were reached; no verdicts
        where it is too early to look again.

        Args:
            final: the stream is over, and every verdict is emitted.
        """
        found, self._new = [*self._reach(), *self._new], []
        if self.due or final:
            began = time.monotonic()
            found += self._changed(final=final)
            ended = time.monotonic()
            self._next = ended + max(_EVERY_S, _SHARE * (ended - began))
        return found

    @property
    def due(self) -> bool:
        """Whether it is time to look at all claims again."""
        return time.monotonic() >= self._next

    @property
    def standing(self) -> list[LiveVerdict | LiveLimit]:
        """The limits that were reached, and the verdicts as they were last emitted."""
        return [*self._reached, *self._last, *self._emitted.values()]

    def _reach(self) -> list[LiveLimit]:
        """The limits that were reached since the last look."""
        if not self._limits:
            return []
        counts = {**self.given_up, "ids": self._seen.ids.forgotten}
        reached = [
            LiveLimit(self.stream, limit, self._limits.pop(limit), self._last_number)
            for limit in [*self._limits]
            if counts[limit]
        ]
        self._reached += reached
        return reached

    def _exceeds(self, event: Event) -> Doubt | None:
        """Why an event is one too many: it brings one more claim than is judged, or there are more
        requests than are followed, which is looked at now and then.
        """
        claim, each = event.claim_id, self._each
        new = claim is not None and not any(m.has(claim) for m in each)
        if new and max(m.live for m in each) >= self._most:
            return _TOO_MANY
        if self._read % LOOK == 0 and max(m.requests for m in each) > REQUESTS:
            return _TOO_MANY_REQUESTS
        return None

    @property
    def _each(self) -> Collection[Monitor]:
        """The monitors that take events."""
        every = self._monitors
        return (every[self._strangers],) if self._shared else every.values()

    def _part(self) -> None:
        """From now on each mode has a monitor of its own, for which claims of others are guests."""
        self._given_up = self.given_up["claims"]
        self._shared, monitor = False, self._monitors[self._strangers]
        held = {f"kept {number}": keep for number, keep in enumerate(monitor.kept)}
        known = Known((), constants={**held, "seen": self._seen}, beside=STATE)
        modes = [*self._monitors]
        records = self._records // len(modes)
        self._limits["claims"] = _limits(self._ended + records, self._requests)["claims"]
        for mode, copied in zip(modes, copies(monitor, len(modes), known), strict=True):
            keep = Keep(
                ended=self._ended,
                elsewhere=partial(self._elsewhere, mode),
                on_retired=partial(self._forget, mode),
                records=records,
                ended_requests=self._requests,
                troubled=TROUBLED,
                seen=self._seen,
            )
            copied.part(mode, keep)
            self._monitors[mode] = copied

    def _changed(self, *, final: bool) -> Iterator[LiveVerdict]:
        before, self._looked = self._looked, {}
        for mode, claim in self._in_hand(final=final):
            stands = _stands(claim)
            if stands is not None:
                self._looked[claim.claim_id] = stands
                if not final and stands == before.get(claim.claim_id):
                    continue  # the verdict is what it was
            if not self._counts(mode, claim):
                continue
            verdict = self._judge(mode, claim, final=final)
            if final or _is_news(verdict, claim, self._emitted.get(claim.claim_id)):
                self._emitted[claim.claim_id] = verdict
                yield verdict

    def _in_hand(self, *, final: bool) -> Iterator[tuple[Mode, ClaimRun]]:
        """The claims that may have verdicts, each with the mode that judges it, mode by mode."""
        judged: dict[str, list[ClaimRun]] = {mode: [] for mode in self._monitors}
        for mode, monitor in self._monitors.items():
            if self._shared and mode is not self._strangers:
                continue  # the first monitor has all claims
            if final:
                monitor.finish()
            for claim in (*monitor.claims(), *monitor.altered()):
                by = (claim.declared_mode or self._strangers) if self._shared else mode
                if by in judged:
                    judged[by].append(claim)
        for mode in self._monitors:
            for claim in judged[mode]:
                yield mode, claim

    def _counts(self, mode: Mode, claim: ClaimRun) -> bool:
        """Whether verdicts of a claim by a mode are emitted."""
        if claim.guest:
            return False
        if claim.declared_mode is None:
            return claim.lost and mode is self._strangers
        entered = self._monitors[mode].entered(claim) or claim.claim_id in self._emitted
        return claim.declared_mode == mode and (entered or claim.lost or bool(claim.broken))

    def _judge(
        self, mode: Mode, claim: ClaimRun, *, forgotten: bool = False, final: bool = False
    ) -> LiveVerdict:
        """The verdict on a claim; one that did not enter is inconclusive unless it was violated."""
        verdict = _judge(claim, mode, forgotten=forgotten, final=final)
        absent = self._monitors[mode].missing(claim)
        if not absent or claim.lost or verdict.verdict is Verdict.VIOLATED:
            return verdict
        unclear = {"verdict": Verdict.INCONCLUSIVE, "heaviest": "", "why": absent}
        return msgspec.structs.replace(verdict, sequence=None, **unclear)

    def _elsewhere(self, mode: Mode, claim_id: str) -> bool:
        """Whether a claim of this id is known as one of another mode."""
        others = (monitor for other, monitor in self._monitors.items() if other is not mode)
        return any(monitor.knows(claim_id) for monitor in others)

    def _forget_own(self, claim: ClaimRun) -> None:
        self._forget(claim.compiled.mode, claim)

    def _forget(self, mode: Mode, claim: ClaimRun) -> None:
        """A claim is forgotten: its verdict is emitted for the last time."""
        counts, verdict = self._counts(mode, claim), self._judge(mode, claim, forgotten=True)
        emitted = self._emitted.pop(claim.claim_id, None)
        if counts and _is_news(verdict, claim, emitted):
            self._last.append(verdict)
            self._new.append(verdict)


def _limits(claims: int, requests: int) -> dict[Limited, str]:
    """What is given up where more claims and requests ended than so many."""
    return {
        "claims": f"the monitor keeps {claims} claims that ended; a second life of an older one is "
        "inconclusive from now on, and not violated",
        "requests": f"the monitor keeps {requests} requests that ended; a report about an older "
        "one is inconclusive from now on",
        "ids": FORGOT,
    }


def _is_news(verdict: LiveVerdict, claim: ClaimRun, emitted: LiveVerdict | None) -> bool:
    """Whether a verdict differs from the last one emitted."""
    if emitted is None and claim.past is not None:
        before = _judge(claim.past, verdict.mode)
        return (verdict.state, verdict.obligations) != (before.state, before.obligations)
    return verdict != emitted


def _stands(claim: ClaimRun) -> Hashable:
    """What the verdict on a claim and whether it is emitted rest on; None where that is more.

    The findings about a compact claim are those of its product state, at the places of its events.
    """
    product = claim.product
    if product is None or claim.past is not None:
        return None
    modes = claim.declared_mode, claim.unusual.other_mode
    entered = claim.accepted, claim.registered, claim.lost, claim.guest
    return product, claim.places, claim.state, *modes, *entered


def _judge(
    claim: ClaimRun, mode: Mode, *, forgotten: bool = False, final: bool = False
) -> LiveVerdict:
    findings = dict(claim.findings())
    verdict = pool(finding.verdict for finding in findings.values())
    heaviest = next(name for name, found in findings.items() if found.verdict is verdict)
    at = findings[heaviest].at
    return LiveVerdict(
        claim.stream,
        claim.claim_id,
        mode,
        claim.state,
        verdict,
        {n: f.verdict for n, f in findings.items() if f.verdict is not Verdict.UNEXERCISED},
        heaviest,
        findings[heaviest].why,
        None if at is None else at.sequence,
        forgotten,
        final,
    )
