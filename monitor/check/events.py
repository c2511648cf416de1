"""Judges a stream event by event, with the same report as a check of its file."""

from __future__ import annotations

from collections import deque
from functools import partial
from types import NoneType
from typing import TYPE_CHECKING

import msgspec

from monitor.check.conclude import Asked, concluded, found_in, obligation_report
from monitor.check.files import claim_asked
from monitor.check.snapshots import restored, snapshot
from monitor.input.errors import InputError, did_you_mean, shown
from monitor.input.given import record_of
from monitor.input.records import Account, at_line
from monitor.results import ENDED, IDS, USUAL, limits_asked
from monitor.streams import NativeStreams, streams_of
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.contract.names import find_bundle, find_mode
from spec.events.canonical import Event
from spec.language.errors import SpecError, UnknownName, require
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from monitor.input.given import Given
    from monitor.input.records import Record
    from monitor.report.verdict import Place, Report
    from monitor.results import News
    from monitor.streams import AnyStreams
    from monitor.timeline import Written
    from spec.stream.outcome import ClaimOutcome

__all__ = ["EventMonitor", "Violation"]


class Violation(msgspec.Struct, frozen=True):
    """An obligation of a claim that was violated, which no later event undoes.

    `at` is the event that decided; `allowed` says what was expected there instead.
    """

    claim_id: str
    obligation: str
    at: Place | None
    why: str
    allowed: str


class EventMonitor:
    """Judges canonical events as they come.

    Memory is bounded by the claims and requests that are in hand, and by 10,000 claims that ended.
    It is no thread-safe object: feed it from one thread.

    Args:
        mode: the mode, or its name; claims that state another are counted and not judged. By
            default each claim is judged by the mode that it states.
        bundle: which bundle of the mode, or its name.
        claim: judge the claim of this id alone.
        strict: an obligation that no claim exercised makes the verdict inconclusive.
        ended: claims that are listed after they have ended, of each stream; others are counted.
        name: what places and messages cite as the file, and the stream of events that name none.
        live: how many claims of a stream are followed that have not ended. One more breaks the
            stream: nothing is concluded of the claims that are alive then.
        requests: the same of requests that are in hand or may still be reported on.
        ids: of so many claims that ended, and of which no more is kept, at least the id is
            remembered. Where older ones were forgotten, it is not noticed if one begins again: the
            report says so, and that the theorem does not apply.
        troubled: claims that were not kept are listed up to so many, though more ended after them.
        watched: `news` has what events moved; ask after each.
        on_violation: is called once with each violation, in the `feed` or `take` that decided it,
            in place of `news`. What it raises is raised there; violations that wait then are passed
            in the next call, of `finish` too.
        timeline: is given each item of `monitor.timeline`; then the judge in Python judges. A
            monitor that is restored goes on without it.

    Raises:
        UnknownName: there is no such mode, or no such bundle.
        SpecError: `name` is no text, a limit no number, or `claim` the id of no claim.
    """

    def __init__(
        self,
        mode: Mode | str | None = None,
        *,
        bundle: Bundle | str = Bundle.CONTRACT,
        claim: str | None = None,
        strict: bool = False,
        ended: int = ENDED,
        name: str = "events",
        live: int | None = None,
        requests: int | None = None,
        ids: int = IDS,
        troubled: int = USUAL.troubled,
        watched: bool = False,
        on_violation: Callable[[Violation], object] | None = None,
        timeline: Written | None = None,
    ) -> None:
        require(live, (int, NoneType), "live", "a number, or None")
        require(requests, (int, NoneType), "requests", "a number, or None")
        require(name, str, "name", "a text")
        require(ids, int, "ids", "a number")
        if ids < 1:
            raise SpecError(f"ids: {ids}", "remember at least one")
        limits = limits_asked(live, requests, ids, ended=ended, troubled=troubled)
        asked_mode = None if mode is None else find_mode(mode).mode
        asked = Asked(asked_mode, find_bundle(bundle), strict, claim_asked(claim), limits)
        self._asked, self._account = asked, Account(name)
        make: Callable[..., AnyStreams] = streams_of(name)
        if timeline is not None:
            from monitor.timeline import Recorder

            make = partial(Recorder, timeline)
        self._streams = make(
            asked.mode,
            asked.bundle,
            limits=asked.limits,
            only=asked.claim,
            watched=watched or on_violation is not None,
        )
        self._report: Report | None = None
        self._call_with(on_violation)

    def _call_with(self, on_violation: Callable[[Violation], object] | None) -> None:
        self._on_violation, self._due = on_violation, deque[Violation]()
        self._seen = set[tuple[str, int, str, str]]()

    def feed(self, event: Given) -> None:
        """Judge one event; `event` is an Event, a StreamMark, or the fields of one.

        Raises:
            InputError: a reader of traces would refuse it. What it would have said is missing from
                then on, so the verdict is inconclusive at best.
            SpecError: `finish` was called.
        """
        if self._report is not None:
            self._is_open()
        account = self._account
        account.lines = line = account.lines + 1
        if not (isinstance(event, Event) and self._streams.take_event(event, account.file, line)):
            try:
                record = record_of(event, account.file, line)
            except InputError as error:
                self.reject(error)
                raise
            self._streams.take(record)
        if self._on_violation is not None:
            self._call()

    @property
    def account(self) -> Account:
        """What was read so far; who reads lines elsewhere counts them there."""
        return self._account

    def take(self, record: Record) -> None:
        """Judge a record that was read elsewhere; raises SpecError after `finish`."""
        self._is_open()
        self._streams.take(record)
        self._call()

    @property
    def reads_lines(self) -> bool:
        """Whether `take_line` takes any line: the native core does."""
        return isinstance(self._streams, NativeStreams)

    def take_line(self, line: bytes, number: int) -> bool:
        """Judge a line of the source by its text, if the judge reads lines and this one is a
        canonical event; return whether it was taken. Raises SpecError after `finish`.
        """
        self._is_open()
        if not isinstance(self._streams, NativeStreams):
            return False
        taken = self._streams.take_line(line, number)
        self._call()
        return taken

    def _call(self) -> None:
        """Pass on the violations that wait, and those that are new."""
        if self._on_violation is None:
            return
        for news in self.news():
            for claim in (*news.moved, *news.gone):
                self._due += self._unseen(news.stream, claim)
            for claim in news.gone:
                for name in claim.findings:
                    self._seen.discard((news.stream, claim.period, claim.claim_id, name))
        while self._due:
            self._on_violation(self._due.popleft())

    def _unseen(self, stream: str, claim: ClaimOutcome) -> Iterator[Violation]:
        """The violations of a claim that were not found before."""
        for each in self._violations_of(claim):
            key = stream, claim.period, each.claim_id, each.obligation
            if key not in self._seen:
                self._seen.add(key)
                yield each

    def lose(self, number: int, why: str, stream: str | None = None) -> None:
        """Lines may be missing before the one of this number.

        Args:
            stream: from this stream alone; from all so far, by default.
        """
        self._streams.lose(at_line(self._account.file, number), why, stream)

    def reject(self, error: InputError) -> None:
        """A line could not be read: what it stated is missing from then on."""
        self._account.reject(error)
        self._streams.reject(error)

    def news(self) -> list[News]:
        """What is new of each stream that events moved since the last call."""
        return self._streams.news()

    def in_hand(self, *, final: bool = False) -> Iterator[tuple[str, ClaimOutcome]]:
        """The claims in hand, each with the name of its stream.

        Args:
            final: the streams are over.
        """
        if final:
            self._streams.finish()
        return self._streams.in_hand()

    @property
    def live(self) -> int:
        """Claims that have not ended; every claim in hand is looked at."""
        return self._streams.live

    def violations(self, since: int = 0) -> list[Violation]:
        """The violations so far, by claim in the order of their registration.

        Every claim in hand is looked at, of those that ended and were violated the first 1,000:
        with thousands of claims, ask once a step and not at each event, or give `on_violation`.

        Args:
            since: those alone that were decided after so many events.
        """
        return [
            each
            for stream in self._streams.found()
            for claim in stream.claims
            for each in self._violations_of(claim)
            if each.at is None or each.at.line > since
        ]

    def _violations_of(self, claim: ClaimOutcome) -> Iterator[Violation]:
        asked = self._asked
        if asked.mode in (None, claim.mode) and asked.claim in (None, claim.claim_id):
            for name, found in claim.findings.items():
                if found.verdict is Verdict.VIOLATED:
                    said = obligation_report(name, found)
                    yield Violation(claim.claim_id, name, said.at, said.why, said.allowed)

    def _is_open(self) -> None:
        if self._report is not None:
            raise SpecError("the stream is finished", "judge the next one by another monitor")

    def snapshot(self, *, stream: str | None = None) -> bytes:
        """The state, for `restore`: versioned, with a checksum, and compressed.

        Args:
            stream: keep this stream alone; the counts of lines and facts stay those of all.

        Raises:
            SpecError: `finish` was called, no event of the stream was seen, or there is more state
                than a snapshot holds.
        """
        if self._report is not None:
            raise SpecError("the stream is finished", "take the snapshot before its end")
        if stream is not None:
            require(stream, str, "stream", "the name of a stream")
            if stream not in (names := self._streams.names):
                hint = did_you_mean(stream, names)
                raise UnknownName(f"there is no stream {shown(stream)}", hint)
        return snapshot(self._asked, self._account, self._streams, only=stream)

    @classmethod
    def restore(
        cls,
        snapshot: bytes,
        *,
        watched: bool = False,
        on_violation: Callable[[Violation], object] | None = None,
    ) -> EventMonitor:
        """A monitor that goes on where `snapshot` was taken: verdicts and reports are the same.

        Nothing in a snapshot is run. Its checksum is no signature: who may write it decides what
        the monitor says.

        Args:
            watched: as for a new monitor.
            on_violation: the same; a snapshot keeps none. It is not called with violations that
                were found before the snapshot, which `violations` lists.

        Raises:
            SpecError: it is torn or modified, or was made for another specification, by a release
                that holds its state in another form, or by the native core where there is none.
        """
        require(snapshot, bytes, "snapshot", "the bytes of a snapshot")
        found = cls.__new__(cls)
        watched = watched or on_violation is not None
        found._asked, found._account, found._streams = restored(snapshot, watched=watched)
        found._report = None
        found._call_with(on_violation)
        if on_violation is not None:
            for stream, claim in found.in_hand():
                deque(found._unseen(stream, claim), maxlen=0)
        return found

    def finish(self) -> Report:
        """The report, the stream being over; the second time, the same."""
        if self._report is None:
            self._call()
            self._streams.finish()
            self._report = concluded(self._asked, found_in(self._streams, [self._account]))
        return self._report
