"""Judges a stream event by event, with the same report as a check of its file."""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING

import msgspec

from monitor.check import snapshots
from monitor.check.by_name import claim_asked
from monitor.check.judging import ENDED, Judging
from monitor.check.parts import place_of
from monitor.check.snapshots import State
from monitor.check.whole import Asked
from spec.stream.outcome import ModeVerdict
from monitor.input.batches import form_of
from monitor.input.errors import InputError, did_you_mean, shown
from monitor.input.given import record_of
from monitor.input.records import At, at_line
from monitor.input.sources import Account
from monitor.pool.seen import IDS
from monitor.stream.keep import Keep
from spec.claims.claim import Mode
from spec.contract.modes import Bundle
from spec.contract.names import find_bundle, find_mode
from spec.events.canonical import Event
from spec.language.errors import SpecError, UnknownName
from spec.language.given import require
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from monitor.engine import ClaimVerdict
    from monitor.input.given import Given
    from monitor.input.records import Record
    from monitor.report.verdict import Place, Report

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
        mode: the mode, or its name; claims that ask for another are counted and not judged. By
            default each claim is judged by the mode that it states, all in one pass; where it is
            unclear by which mode one goes, each of the seven modes sees each event from there on.
        bundle: which bundle of the mode, or its name.
        claim: judge the claim of this id alone.
        strict: an obligation that no claim exercised makes the verdict inconclusive.
        ended: claims that are listed after they have ended, of each stream; others are counted.
        name: what places and messages cite as the file, and the stream of events that name none.
        live: how many claims of a stream are followed that have not ended, by default all. Events
            about one more are left out and counted: they are missing, so nothing is concluded of
            the claims that are alive then, and the verdict is inconclusive at best.
        requests: the same of requests that are in hand or may still be reported on.
        ids: of so many claims that ended, and of which no more is kept, at least the id is
            remembered. Where older ones were forgotten, it is not noticed if one begins again: the
            report says so, and that the theorem does not apply.

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
    ) -> None:
        require(live, (int, NoneType), "live", "a number, or None")
        require(requests, (int, NoneType), "requests", "a number, or None")
        require(name, str, "name", "a text")
        require(ids, int, "ids", "a number")
        if ids < 1:
            raise SpecError(f"ids: {ids}", "remember at least one")
        keep = Keep(ended=ended, live=live, requests=requests, ids=ids)
        modes = set(Mode) if mode is None else {find_mode(mode).mode}
        asked = Asked(find_bundle(bundle), strict, claim_asked(claim))
        own = mode is None
        self._judging = Judging(asked, modes, own=own, keep=keep, shared=own, goes_on=own)
        self._account = Account(name)
        self._report: Report | None = None

    def feed(self, event: Given) -> None:
        """Judge one event; `event` is an Event, a StreamMark, or the fields of one.

        Raises:
            InputError: a reader of traces would refuse it. What it would have said is missing from
                then on, so the verdict is inconclusive at best.
            SpecError: `finish` was called.
        """
        self._is_open()
        account = self._account
        account.lines = line = account.lines + 1
        if isinstance(event, Event) and (form := form_of(event)) is not None:
            self._judging.take_event(form, at_line(account.file, line, form.sequence))
            return
        try:
            record = record_of(event, account.file, line)
        except InputError as error:
            self.reject(error)
            raise
        self.take(record)

    @property
    def account(self) -> Account:
        """What was read so far; who reads lines elsewhere counts them there."""
        return self._account

    def take(self, record: Record) -> None:
        """Judge a record that was read elsewhere; raises SpecError after `finish`."""
        self._is_open()
        self._judging.take(record)

    def take_event(self, event: Event, at: At) -> None:
        """The same of a canonical event, as `monitor.input.batches` makes it of a line."""
        self._is_open()
        self._judging.take_event(event, at)

    def lose(self, number: int, why: str, stream: str | None = None) -> None:
        """Lines may be missing before the one of this number.

        Args:
            stream: from this stream alone; from all so far, by default.
        """
        self._judging.lose(at_line(self._account.file, number), why, stream)

    def reject(self, error: InputError) -> None:
        """A line could not be read: what it stated is missing from then on."""
        self._account.rejected += 1
        self._account.rejection = self._account.rejection or error
        self._judging.reject(error)

    def watch(self) -> None:
        """From now on `news` has what events decide; ask after each line, or memory grows."""
        self._judging.watch()

    def news(self) -> list[ClaimVerdict]:
        """Claims that events moved since the last call, and that are violated or over."""
        return self._judging.news(self._account.file)

    def in_hand(self, *, final: bool = False) -> list[ClaimVerdict]:
        """The verdict on each claim in hand.

        Args:
            final: the stream is over.
        """
        if final:
            self._judging.finish()
        return list(self._judging.in_hand())

    @property
    def live(self) -> int:
        """Claims that have not ended; every claim in hand is looked at."""
        return self._judging.live

    def limits(self, stream: str) -> dict[str, str]:
        """The limits that a stream reached (`live`, `requests`, `ids`), and what came of each."""
        return self._judging.limits(self._account.file, stream)

    @property
    def streams(self) -> frozenset[str]:
        """The names of the streams so far."""
        return self._judging.streams

    def violations(self) -> list[Violation]:
        """The violations so far, by claim in the order of their registration.

        Every claim in hand is looked at, of those that ended and were violated the first 1,000:
        with thousands of claims, ask once a step and not at each event.
        """
        return [
            Violation(
                judged.claim.claim_id,
                name,
                None if found.at is None else place_of(found.at),
                found.why,
                found.allowed,
            )
            for judged in self._judging.standing()
            if judged.verdict is ModeVerdict.VIOLATED
            for name, found in judged.findings.items()
            if found.verdict is Verdict.VIOLATED
        ]

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
        judging = self._judging
        if stream is not None:
            require(stream, str, "stream", "the name of a stream")
            if stream not in judging.streams:
                hint = did_you_mean(stream, judging.streams)
                raise UnknownName(f"there is no stream {shown(stream)}", hint)
            judging = judging.of(stream)
        return snapshots.snapshot(State(judging, self._account))

    @classmethod
    def restore(cls, snapshot: bytes) -> EventMonitor:
        """A monitor that goes on where `snapshot` was taken: verdicts and reports are the same.

        Nothing in a snapshot is run. Its checksum is no signature: who may write it decides what
        the monitor says.

        Raises:
            SpecError: it is torn or modified, or was made for another specification or by a release
                that holds its state in another form.
        """
        require(snapshot, bytes, "snapshot", "the bytes of a snapshot")
        state, found = snapshots.restored(snapshot), cls.__new__(cls)
        found._judging, found._account, found._report = *state, None
        return found

    def finish(self) -> Report:
        """The report, the stream being over; the second time, the same."""
        if self._report is None:
            self._report = self._judging.report([self._account])
        return self._report
