"""Judges the lines of one source, and states what each of them decides."""

from __future__ import annotations

import hashlib
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import msgspec

from monitor.check.conclude import place_of
from monitor.check.events import EventMonitor
from monitor.follow.judge_state import JudgeState, Stated, claim_line, standing_of
from monitor.follow.verdict_line import LimitLine, ViolationLine, key_of
from monitor.input.dialects import LIVE, Reader
from monitor.input.errors import InputError, kept_state
from monitor.input.lines import BOM, LINE_LIMIT
from monitor.input.logs import PLAIN, LogLines
from monitor.input.plain import event_of, head_of, plain_record
from monitor.input.records import Disorder, Record, Stamp, at_line
from monitor.input.resequencer import Resequencer
from monitor.input.sources import Numbers
from monitor.results import USUAL, obligation_said
from spec.events.canonical import Mark
from spec.language.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from monitor.follow.buffer import Line
    from monitor.follow.judge_state import Merging
    from monitor.follow.verdict_line import ClaimLine, Counts, VerdictLine
    from monitor.input.logs import Extraction
    from monitor.input.records import At
    from monitor.input.reorder_window import Window
    from monitor.report.verdict import Report
    from monitor.results import News
    from monitor.timeline import Written
    from spec.claims.states import Mode
    from spec.stream.breaks import Limits
    from spec.stream.outcome import ClaimOutcome

__all__ = ["DROPPED", "ENDED", "STREAMS", "Judge"]

ENDED: Final = 100
"""Claims of a stream that stay in hand after they ended: their lines have been written."""

STREAMS: Final = 1_000
"""Streams of one source; a line of one more is rejected."""

DROPPED: Final = "lines were dropped, because they came faster than they were judged"
_TOO_MANY: Final = f"the source has more than {STREAMS} streams"
_TOO_LONG: Final = f"the line is longer than {LINE_LIMIT} bytes"
_UNNUMBERED: Final = "lines have no sequence, and some may be missing"


_Key: TypeAlias = "tuple[str, int, str]"  # a stream, a period, a claim


class Judge:
    """The monitor of one source; its places cite the source, and the lines counted from 1.

    Where lines may be missing, the numbers of a stream show whether any of it are. Of a stream
    without numbers nothing is concluded about the claims that are alive there.

    Args:
        lossy: the source may lose lines at any time, and say nothing.
        window: lines of a stream are put into the order of their numbers within it. Where lines may
            be missing, what is held back is given up.
        limits: of what is followed at once.
        how: how lines of events are taken out of a log. Where other lines are skipped, a line of a
            stream without sequence numbers is rejected.
        engines: those who judge the lines of ranks.
        timeline: is given each item of `monitor.timeline`.
    """

    def __init__(
        self,
        source: str,
        mode: Mode | None,
        counts: Counts,
        *,
        lossy: bool = False,
        window: Window | None = None,
        limits: Limits | None = None,
        how: Extraction = PLAIN,
        on_reject: Callable[[InputError], None] = lambda _: None,
        engines: Merging | None = None,
        reader: Reader | None = None,
        timeline: Written | None = None,
    ) -> None:
        self._source, self._counts, self._lossy = source, counts, lossy
        self._on_reject, self._engines = on_reject, engines
        self._log = None if how == PLAIN else LogLines(how, LINE_LIMIT)
        self._numbers = Numbers() if how.skip else None
        self.origins: Mapping[str, str] = {}  # digests of the first lines of other sources
        self._mode, most = mode, limits or USUAL
        self._reader = reader or Reader(source, LIVE)
        self._monitor = EventMonitor(
            mode,
            ended=ENDED,
            name=source,
            live=most.live,
            requests=most.requests,
            ids=most.ids,
            troubled=most.troubled,
            watched=True,
            timeline=timeline,
        )
        self._window = window
        self._order = None if window is None else Resequencer(window)
        self._before = Disorder()  # what was out of order before a restart
        self._origin, self._lines, self._dropped, self._size = "", 0, 0, 0
        self._last: int | None = None
        self._streams: dict[str, bool] = {}  # those that go on: whether each is numbered
        self._names: set[str] = set()  # of all that there ever were
        self._unsure: dict[str, str] = {}  # why its next number decides whether lines are missing
        self._broken = ""  # why streams that are not known yet may lack lines
        self._stated: dict[_Key, Stated] = {}
        self._reached: dict[str, list[str]] = {}  # limits, by stream

    def take(self, line: Line) -> list[VerdictLine]:
        """Judge one line; what it decides."""
        self._lines += 1
        if self._lines == 1 and line is not None:
            line = line.removeprefix(BOM)
        if line is not None and self._log is not None:
            line = self._log.take(line)
        if line is not None and (not line or line.isspace()):
            return []
        self._monitor.account.lines += 1
        if line is not None and (decided := self._plain(line)) is not None:
            return decided
        try:
            records = self._read(line)
        except InputError as error:
            found = self._give_up()
            self._reject(error)
            if self._engines is not None:
                why = f"line {self._lines} could not be read"
                self._engines.lose(self._source, why, unread=True)
            return found + self._decided_by_now(self._here)
        order, self._size = self._order, len(line or b"")
        return self.judge(
            records if order is None else [r for each in records for r in order.take(each)]
        )

    def interrupt(self, why: str) -> list[VerdictLine]:
        """Lines may be missing before the next one; what is decided by those held back."""
        found = self._give_up()
        self._counts.gaps[self._source] += 1
        self._broken = self._broken or why
        self._reader.pause(why)
        if self._engines is not None:
            self._engines.interrupt(self._source, why)
        for stream, numbered in self._streams.items():
            if numbered:
                self._unsure.setdefault(stream, why)
            else:
                self._monitor.lose(self._lines, why, stream)
        return found + self._decided_by_now(self._here)

    def count_from(self, line: int) -> None:
        """Number the next lines above this one, which a verdict cites already."""
        self._lines = max(self._lines, line)

    def drop(self, lines: int) -> list[VerdictLine]:
        """So many lines are missing before the next one; what is decided by those held back."""
        found = self._give_up()
        self._counts.gaps[self._source] += 1
        self._counts.dropped[self._source] += lines
        self._lines, self._dropped = self._lines + lines, self._dropped + lines
        self._broken = self._broken or DROPPED
        self._reader.pause(DROPPED)
        self._monitor.lose(self._lines, DROPPED)
        if self._engines is not None:
            self._engines.lose(self._source, DROPPED)
        return found + self._decided_by_now(self._here)

    @property
    def dropped(self) -> int:
        """Lines that were dropped, before a restart, too."""
        return self._dropped

    @property
    def held(self) -> int:
        """Lines that are held back until those before them come."""
        return 0 if self._order is None else self._order.held

    @property
    def disorder(self) -> Disorder:
        """What was out of order since the process started."""
        now, before = self._disorder, self._before
        return Disorder(
            now.duplicates - before.duplicates,
            now.held - before.held,
            now.late - before.late,
            now.contradicting - before.contradicting,
        )

    @property
    def live(self) -> int:
        """Claims that have not ended; every claim in hand is looked at."""
        return self._monitor.live

    def snapshot(self) -> bytes:
        """The state, for `restore`; raises SpecError where there is more than a snapshot holds."""
        stated = [(*key, stated) for key, stated in self._stated.items()]
        return msgspec.msgpack.encode(
            JudgeState(
                self._monitor.snapshot(),
                self._origin,
                self._lines,
                self._last,
                self._streams,
                self._unsure,
                self._broken,
                stated,
                sorted(self._names),
                self._dropped,
                b"" if self._order is None else self._order.snapshot(),
                self._reached,
            )
        )

    def restore(self, snapshot: bytes) -> None:
        """Go on where `snapshot` was taken.

        Raises:
            SpecError: it is torn or modified, or was made for another specification.
        """
        order, state = None, kept_state(snapshot, JudgeState, self._source)
        if self._window is not None:
            order = Resequencer.restore(self._window, state.order)
        self._monitor = EventMonitor.restore(state.monitor, watched=True)
        self._order = order
        self._before = copy(self._disorder)
        self._origin, self._lines, self._last = state.origin, state.lines, state.last
        self._streams, self._unsure, self._broken = state.streams, state.unsure, state.broken
        self._stated = {(name, period, claim): of for name, period, claim, of in state.stated}
        self._names = set(state.names)
        self._reached, self._dropped = state.reached, state.dropped

    def finish(self, disorder: Disorder | None = None) -> tuple[list[VerdictLine], Report]:
        """The verdicts on the claims that are not over, the source being at its end; the report.

        Args:
            disorder: what was out of order, where that was seen elsewhere.
        """
        rest = b"" if self._log is None else self._log.flush()
        lines = self.take(rest) if rest else []
        lines += self._give_up() + self.judge(self._reader.flush())
        for stream, why in self._unsure.items():
            self._monitor.lose(self._lines, why, stream)
        self._unsure.clear()
        at = self._here
        for stream, claim in self._monitor.in_hand(final=True):
            lines += self._ended(stream, claim, at, final=True)
        says = self._reader.says, "" if self._log is None else self._log.says
        self._monitor.account.form = "; ".join(filter(None, says))
        self._monitor.account.disorder = disorder if self._order is None else self._disorder
        return lines, self._monitor.finish()

    @property
    def _here(self) -> At:
        """The place of the last line."""
        return at_line(self._source, self._lines, self._last)

    @property
    def _disorder(self) -> Disorder:
        return Disorder() if self._order is None else self._order.disorder

    def _plain(self, line: bytes) -> list[VerdictLine] | None:
        """What a plain line decides that is in order, of no rank, and of a known stream; None where
        it is not that, and was not judged.
        """
        merges = self._engines is not None and self._engines.merges
        merges |= self._numbers is not None or not self._reader.reads_canonical
        if merges or self._order is not None or len(line) > LINE_LIMIT:
            return None
        if self._monitor.reads_lines:
            head = head_of(line)
            if head is None or (stream := head.stream or self._source) not in self._names:
                return None
            if not self._monitor.take_line(line, self._lines):
                return None
            self._counts.events[head.kind] += 1
            return self._taken(stream, at_line(self._source, self._lines, head.sequence))
        event = event_of(line)
        if event is None or (event.stream or self._source) not in self._names:
            return None
        return self._judge(plain_record(event, self._source, self._lines))

    def _read(self, line: Line) -> Sequence[Record]:
        """What a line says; raises InputError."""
        if line is None:
            raise InputError(self._source, _TOO_LONG, line=self._lines)
        if not self._origin:
            self._origin = hashlib.blake2b(line, digest_size=16).hexdigest()
        records = self._reader.feed(line, self._lines)
        if not all(map(self._has_room, records)):
            raise InputError(self._source, _TOO_MANY, line=self._lines)
        if self._numbers is not None:
            self._numbers.check(records, self._source)
        return records

    def judge(self, records: Iterable[Record]) -> list[VerdictLine]:
        """Judge records in their order; what they decide."""
        found: list[VerdictLine] = []
        for record in records:
            if self._engines is not None and (lines := self._of_rank(record)) is not None:
                found += lines
                continue
            self._lines += bool(self.origins)  # lines of other sources, not counted here before
            found += self._judge(record)
        return found

    def _judge(self, record: Record) -> list[VerdictLine]:
        """Judge a line, or a mark; what it decides."""
        self._monitor.take(record)
        for event, _ in record.events:
            self._counts.events[event.kind] += 1
        return self._taken(record.stamp.stream, record.at, record.stamp.mark)

    def _taken(self, stream: str, at: At, mark: Mark | None = None) -> list[VerdictLine]:
        """What the line at this place decides, which was judged."""
        self._last = at.sequence
        self._look(stream, at, mark)
        return self._decided_by_now(at)

    def _decided_by_now(self, at: At) -> list[VerdictLine]:
        """What was decided since the last call, at this place."""
        found: list[VerdictLine] = []
        for news in self._monitor.news():
            for claim in (*news.gone, *news.moved):
                found += self._decided(news.stream, claim, at)
            for claim in news.gone:
                self._stated.pop(_key(news.stream, claim), None)
            found += self._at_limits(news, at)
        return found

    def _of_rank(self, record: Record) -> list[VerdictLine] | None:
        """What a line of a rank decides; None where it is of none."""
        assert self._engines is not None
        try:
            found = self._engines.take(self._source, self._origin, record, self._size)
        except InputError as error:
            self._reject(error)
            return []
        if found is not None and self._lossy and record.stamp.sequence is None:
            self._engines.lose(self._source, _UNNUMBERED)
        return found

    def _reject(self, error: InputError) -> None:
        self._counts.rejected[self._source] += 1
        self._reader.pause(error.reason)
        self._monitor.reject(error)
        self._on_reject(error)

    def _at_limits(self, news: News, at: At) -> Iterable[LimitLine]:
        """The limits that a stream has reached since the last line."""
        before = self._reached.get(news.stream, [])
        if len(news.limits) == len(before):
            return ()
        self._reached[news.stream] = [*news.limits]
        about, place = (self._source, news.stream), place_of(at)
        new = ((limit, why) for limit, why in news.limits.items() if limit not in before)
        key = partial(self._key_of, at, news.stream)
        return [LimitLine(key(limit), *about, limit, place, why) for limit, why in new]

    def _give_up(self) -> list[VerdictLine]:
        """Judge what is held back, without those before it."""
        return [] if self._order is None else self.judge(self._order.flush())

    def _has_room(self, record: Record) -> bool:
        """Whether a record is of a known stream, or one more is let in."""
        name = record.stamp.stream
        if name not in self._names:
            if len(self._names) >= STREAMS:
                return False
            self._names.add(name)
        return True

    def _look(self, stream: str, at: At, mark: Mark | None) -> None:
        """Whether lines of a stream are missing where that cannot be seen by its numbers."""
        numbered = at.sequence is not None
        if not numbered and (why := self._unsure.get(stream)):
            self._monitor.lose(at.line, why, stream)
        elif not numbered and self._broken and stream not in self._streams:
            self._monitor.lose(at.line, self._broken, stream)
        self._unsure.pop(stream, None)
        opens = mark is Mark.STREAM_OPENED and stream not in self._streams
        if opens and self._reader.reads_canonical:  # KV events say themselves when a run begins
            self._end_unsure(at)
        if mark is Mark.STREAM_CLOSED:
            self._streams.pop(stream, None)
        else:
            self._streams[stream] = numbered
        if self._lossy and not numbered and mark is not Mark.STREAM_CLOSED:
            self._monitor.lose(at.line, _UNNUMBERED, stream)

    def _end_unsure(self, at: At) -> None:
        """End the runs of streams that went on before lines may have been missing, since when none
        of their lines came: an engine that starts again opens another stream. One that goes on
        after all was of another engine, and its cache is not empty.
        """
        for stream, why in self._unsure.items():
            again = Stamp(stream, 0, None, mark=Mark.STREAM_OPENED)
            self._monitor.take(Record(at, again))
            self._monitor.lose(at.line, why, stream)
            self._streams.pop(stream, None)
        self._unsure.clear()

    def _decided(self, stream: str, claim: ClaimOutcome, at: At) -> Iterator[VerdictLine]:
        """What is new of a claim that an event moved."""
        if self._mode in (None, claim.mode):
            yield from self._violated(stream, claim, at)
        if claim.final:
            yield from self._ended(stream, claim, at)

    def _violated(self, stream: str, claim: ClaimOutcome, at: At) -> Iterator[ViolationLine]:
        violated = [n for n, each in claim.findings.items() if each.verdict is Verdict.VIOLATED]
        if not violated:
            return
        stated = self._stated.setdefault(_key(stream, claim), Stated())
        for name in violated:
            if name in stated.violated:
                continue
            stated.violated.append(name)
            found = claim.findings[name]
            said, place = obligation_said(name, found), cast("At | None", found.at) or at
            assert claim.mode is not None
            yield ViolationLine(
                self._key_of(place, stream, claim.claim_id, name),
                self._source,
                stream,
                claim.claim_id,
                claim.mode,
                name,
                place_of(place),
                said.why,
                said.allowed,
                claim.period + 1,
            )

    def _ended(
        self, stream: str, claim: ClaimOutcome, at: At, *, final: bool = False
    ) -> Iterator[ClaimLine]:
        """The verdict on a claim, if it is not what was last stated of it."""
        stated = self._stated.setdefault(_key(stream, claim), Stated())
        if stated.standing == (standing := standing_of(claim)):
            return
        stated.standing = standing
        key = self._key_of(at, stream, claim.claim_id, "final" if final else "")
        judged = self._mode in (None, claim.mode)
        yield claim_line(key, self._source, stream, claim, at, judged=judged, final=final)

    def _key_of(self, at: At, *about: str) -> str:
        """A digest of what a line is about, and of the event at which it is so."""
        where = () if at.file == self._source else (at.file,)
        origin = self.origins.get(at.file, self._origin)
        return key_of(origin, self._source, *about, *where, at.line, at.sequence)


def _key(stream: str, claim: ClaimOutcome) -> _Key:
    return stream, claim.period, claim.claim_id
