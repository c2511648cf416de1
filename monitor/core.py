"""Judges the streams of some sources: one judge for each stream of each file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monitor.input.plain import form_of, plain_record
from monitor.input.records import At, at_line, line_of
from monitor.results import (
    USUAL,
    Ended,
    News,
    Occurred,
    StreamFound,
    left_of,
    limits_reached,
)
from spec.contract.modes import Bundle
from spec.events.canonical import Event
from spec.language.verdicts import Verdict
from spec.stream.breaks import Limits, Line
from spec.stream.claim import outcome_of
from spec.stream.judge import Judge
from spec.stream.outcome import ClaimOutcome, ModeVerdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monitor.input.errors import InputError
    from monitor.input.records import Form, Record
    from spec.claims.states import Mode
    from spec.stream.claim import Claim
    from spec.stream.codes import Reason

__all__ = ["Stream", "Streams", "is_violated"]


def is_violated(claim: Claim) -> bool:
    """Whether any obligation of a claim is violated."""
    return any(found.verdict is Verdict.VIOLATED for found in claim.kept.values())


class Stream:
    """One stream of one file, and its judge.

    Attributes:
        form: the form of its first line.
        first: the sequence number of its first line.
        past: claims of earlier periods, and claims that were not kept and are not in hand any more.
        ended: claims that are counted and not listed.
        gone: claims that are in hand no more since the last look, if it is watched.
    """

    def __init__(
        self,
        file: str,
        name: str,
        form: Form,
        *,
        default: Mode | None,
        bundle: Bundle,
        limits: Limits,
        only: str | None,
        watched: bool = False,
    ) -> None:
        self.file, self.name, self.form = file, name, form
        self.first: int | None = None
        self.past: list[ClaimOutcome] = []
        self.ended = Ended()
        self.forgotten = 0
        self.gone: list[ClaimOutcome] = []
        self._only, self._watched = only, watched
        self.judge = Judge(default, bundle, first=form.first, limits=limits, forget=self.forget)

    def take(self, line: Line) -> None:
        """The next line of the stream."""
        self.judge.take(line)
        if self.judge.past:
            self._move_past()

    def _move_past(self) -> None:
        """Keep what the claims of earlier periods came to."""
        past, self.judge.past = self.judge.past, []
        for claim in past:
            self._leave(outcome_of(claim), self.judge.limits.ended)

    def forget(self, claim: Claim) -> None:
        """The judge keeps a claim no longer."""
        self.forgotten += 1
        outcome = outcome_of(claim)
        violated = outcome.verdict is ModeVerdict.VIOLATED
        judged = outcome.entered and outcome.mode is not None
        unclear = judged and outcome.verdict is ModeVerdict.INCONCLUSIVE
        self._leave(outcome, self.judge.limits.troubled if violated or unclear else 0)

    def _leave(self, outcome: ClaimOutcome, most: int) -> None:
        """List a claim that is in hand no more, or count it where as many as this are listed."""
        if self._watched:
            self.gone.append(outcome)
        if len(self.past) < most or outcome.claim_id == self._only:
            self.past.append(outcome)
        else:
            self.ended.note(outcome)

    def outcomes(self) -> Iterator[ClaimOutcome]:
        """What each claim came to so far, those in hand last."""
        yield from self.past
        yield from map(outcome_of, self.judge.claims.values())

    @property
    def open(self) -> frozenset[Mode | None]:
        """The modes of claims that are owed anything, unless the stream ended as it promised."""
        order, claims = self.judge.order, self.judge.claims.values()
        if order.closed and order.opened is not None:
            return frozenset()
        return frozenset(claim.mode for claim in claims if claim.entered and not claim.over)

    @property
    def found(self) -> StreamFound:
        """What it came to so far."""
        judge = self.judge
        return StreamFound(
            self.file,
            self.name,
            self.form,
            self.first,
            judge.order.sequence,
            self.open,
            judge.period + 1,
            tuple(judge.breaks),
            self.left,
            tuple(self.outcomes()),
            self.ended,
        )

    @property
    def left(self) -> Reason | None:
        """Where the stream leaves what the theorem assumes, and why."""
        return left_of(self.judge.left, self.forgotten, self.judge.limits)

    @property
    def limits(self) -> dict[str, str]:
        """The limits that the stream has reached, and what came of each."""
        return limits_reached(self.judge.breaks, self.forgotten, self.judge.limits)


class Streams:
    """The streams of some sources, in the order of their first lines.

    Args:
        default: the mode that judges claims that state none; None: no mode does.
        only: the claim that is listed whatever is forgotten.
        watched: `news` has what lines moved; it is to be asked after each.

    `occurred` is what was read.
    """

    def __init__(
        self,
        default: Mode | None = None,
        bundle: Bundle = Bundle.CONTRACT,
        *,
        limits: Limits = USUAL,
        only: str | None = None,
        watched: bool = False,
    ) -> None:
        self.default, self.bundle, self.limits, self.only = default, bundle, limits, only
        self.occurred = Occurred()
        self.watched = watched
        self._moved: dict[Stream, None] = {}
        self._streams: dict[tuple[str, str], Stream] = {}
        self.spoiled: dict[str, tuple[At, str]] = {}

    def __iter__(self) -> Iterator[Stream]:
        return iter(self._streams.values())

    def __len__(self) -> int:
        return len(self._streams)

    @property
    def names(self) -> frozenset[str]:
        """The names of the streams so far."""
        return frozenset(stream.name for stream in self)

    def take(self, record: Record) -> None:
        """Judge one line."""
        self.occurred.note(record)
        at, stamp = record.at, record.stamp
        key = stamp.file or at.file, stamp.stream
        stream = self._streams.get(key)
        if stream is None:
            stream = self._begin(*key, record)
        self._pass(stream, line_of(record, foreign=stamp.form.name != stream.form.name))

    def take_event(self, event: Event, file: str, number: int) -> bool:
        """Judge an event as a line of a file, if it is certain that a line can say that; return
        whether it was.
        """
        if (form := form_of(event)) is None:
            return False
        self.take(plain_record(form, file, number))
        return True

    def _pass(self, stream: Stream, line: Line) -> None:
        stream.take(line)
        if self.watched:
            self._moved[stream] = None
        else:
            stream.judge.news.clear()

    def _begin(self, file: str, name: str, record: Record) -> Stream:
        stamp = record.stamp
        stream = self.add(file, name, stamp.form)
        stream.first = stamp.sequence
        if file in self.spoiled:
            at, why = self.spoiled[file]
            self._pass(stream, Line(at, unread=why))
        return stream

    def add(self, file: str, name: str, form: Form) -> Stream:
        """A new stream, without a line."""
        stream = self._streams[file, name] = self.make(file, name, form)
        return stream

    def make(self, file: str, name: str, form: Form) -> Stream:
        """The judge of a new stream."""
        return Stream(file, name, form, **self.options)

    @property
    def options(self) -> dict[str, Any]:
        """What each stream is made with."""
        about = {"default": self.default, "bundle": self.bundle, "limits": self.limits}
        return {**about, "only": self.only, "watched": self.watched}

    def reject(self, error: InputError) -> None:
        """A line could not be read: what it states is missing from every stream of its file."""
        self.occurred.rejected += 1
        at = at_line(error.file, error.line or 0)
        why = f"line {at.line} could not be read"
        self.spoiled.setdefault(at.file, (at, why))
        self._pass_all(at.file, Line(at, unread=why))

    def lose(self, at: At, why: str, name: str | None = None) -> None:
        """Lines may be missing here from a stream of the file, or from all that it has so far."""
        self._pass_all(at.file, Line(at, lost=why), name)

    def _pass_all(self, file: str, line: Line, name: str | None = None) -> None:
        for (of, stream_name), stream in self._streams.items():
            if of == file and name in (None, stream_name):
                self._pass(stream, line)

    def moved(self) -> list[tuple[Stream, Claim]]:
        """The claims in hand that lines moved since the last call, each with its stream."""
        found = [
            (stream, claim)
            for stream in self._moved
            for claim in stream.judge.news
            if stream.judge.claims.get(claim.claim_id) is claim
        ]
        for stream in self._moved:
            stream.judge.news.clear()
        self._moved.clear()
        return found

    def news(self, *, every: bool = False) -> list[News]:
        """What is new of each stream that lines moved since the last call.

        Args:
            every: with all claims that were moved, and not only those whose verdict stands.
        """
        found = {}
        for stream in self._moved:
            gone, stream.gone = stream.gone, []
            found[stream] = News(stream.name, gone, [], stream.limits, stream.forgotten)
        for stream, claim in self.moved():
            if every or claim.final or is_violated(claim):
                found[stream].moved.append(outcome_of(claim))
        return [*found.values()]

    def in_hand(self) -> Iterator[tuple[str, ClaimOutcome]]:
        """The claims in hand, each with the name of its stream."""
        return ((s.name, outcome_of(each)) for s in self for each in s.judge.claims.values())

    @property
    def live(self) -> int:
        """Claims that have not ended; every claim in hand is looked at."""
        return sum(not claim.final for stream in self for claim in stream.judge.claims.values())

    def found(self) -> list[StreamFound]:
        """What each stream came to so far."""
        return [stream.found for stream in self]

    def finish(self) -> None:
        """Every stream is over."""
        for stream in self:
            stream.judge.finish()
