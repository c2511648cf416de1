"""Judges the streams of one source by the judge that runs: `Streams` in Python, or the native core.

Both have the same methods, and find the same.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from monitor.input.errors import is_utf8
from monitor.input.records import CANONICAL, at_line, line_of, text_of, texts_of
from monitor.native import CoreError, Refused, core
from monitor.results import (
    USUAL,
    Ended,
    News,
    Occurred,
    StreamFound,
    left_of,
)
from spec.contract.modes import Bundle
from spec.stream.breaks import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from monitor.core import Streams
    from monitor.input.errors import InputError
    from monitor.input.records import At, Form, Record
    from monitor.native.judge import NativeStream
    from spec.claims.states import Mode
    from spec.events.canonical import Event
    from spec.stream.outcome import ClaimOutcome

__all__ = ["AnyStreams", "NativeStreams", "streams_of"]

_LINES: Final = 1 << 40
"""More lines than a file has. The core knows a place by one number: that of its line, and so many
for each file before its own.
"""

_LONGEST: Final = 1024
"""Characters of the name of a stream that a line may state."""

_UNSTATED: Final = "-" * (_LONGEST + 1)


class NativeStreams:
    """The streams of one source, judged by the native core.

    Args:
        file: the source, and the stream of lines that name none.
        watched: `news` has what lines moved; it is to be asked after each.

    Raises:
        CoreError: the core was not built, or does not know what the specification has.
    """

    def __init__(
        self,
        file: str,
        default: Mode | None = None,
        bundle: Bundle = Bundle.CONTRACT,
        *,
        limits: Limits = USUAL,
        only: str | None = None,
        watched: bool = False,
    ) -> None:
        from monitor.native.judge import NativeJudge

        self.limits = limits
        self.read = Occurred()  # of the lines that the core did not read itself
        self.forms: dict[str, Form] = {CANONICAL.name: CANONICAL}
        self.files = [file]
        can_be_stated = is_utf8(file) and len(file) <= _LONGEST
        self._unnamed = file if can_be_stated else _UNSTATED
        self.judge = NativeJudge(
            default,
            bundle,
            limits=limits,
            only=only,
            unnamed=self._unnamed,
            watched=watched,
        )

    @property
    def occurred(self) -> Occurred:
        """How often each kind of event was read, and where it was first."""
        kinds, _ = self.judge.counts()
        found = Occurred(sum(kinds.values()), kinds=Counter(kinds))
        found.join(self.read)
        return found

    @property
    def names(self) -> frozenset[str]:
        """The names of the streams so far."""
        return frozenset(map(self._name, self.judge.counts()[1]))

    @property
    def live(self) -> int:
        """Claims that have not ended; every claim in hand is looked at."""
        return sum(self.judge.counts()[1].values())

    def take(self, record: Record) -> None:
        """Judge one line."""
        number = self._number(record.at)
        self.read.note(record)
        stamp, form = record.stamp, record.stamp.form
        self.forms[form.name] = form
        place, name = (number, record.at.sequence), self._named(stamp.stream)
        try:
            self.judge.take(line_of(record), place, name, form.name, form.first)
        except Refused as error:
            why = f"a line cannot be judged: {error}"
            self.judge.lose(place, why, unread=True)

    def take_line(self, line: bytes, number: int) -> bool:
        """Judge a line of the source, if it is a canonical event; return whether it is."""
        return self.judge.feed_line(line, number)

    def take_event(self, event: Event, file: str, number: int) -> bool:
        """Judge an event as a line of the source, if it is certain that a line can say that; return
        whether it was.
        """
        line = text_of(event)
        return bool(line) and file == self.files[0] and self.judge.feed_line(line, number)

    def take_events(self, events: Sequence[Event], number: int) -> int:
        """Judge events as the lines of the source from this number on, up to one of which it is not
        certain that a line can say that; return how many were judged.
        """
        text = texts_of(events)
        return self.judge.feed(text, number)[1] if text else 0

    def lose(self, at: At, why: str, name: str | None = None) -> None:
        """Lines may be missing here from a stream, or from all that there are so far."""
        stream = None if name is None else self._named(name)
        self.judge.lose((self._number(at), at.sequence), why, stream)

    def reject(self, error: InputError) -> None:
        """A line could not be read: what it states is missing from every stream."""
        self.read.rejected += 1
        at = at_line(error.file, error.line or 0)
        why = f"line {at.line} could not be read"
        self.judge.lose((self._number(at), None), why, unread=True, spoils=True)

    def news(self, *, every: bool = False) -> list[News]:
        """What is new of each stream that lines moved since the last call.

        Args:
            every: with all claims that were moved, and not only those whose verdict stands.
        """
        found = self.judge.news(self._at, every=every)
        return [each._replace(stream=self._name(each.stream)) for each in found]

    def in_hand(self) -> Iterator[tuple[str, ClaimOutcome]]:
        """The claims in hand, each with the name of its stream."""
        for name, claims in self.judge.in_hand(self._at):
            for claim in claims:
                yield self._name(name), claim

    def save(self, only: str | None = None) -> bytes:
        """The state of the core, for `load`; of one stream alone, if it is named."""
        return self.judge.save(None if only is None else self._named(only))

    def load(self, state: bytes) -> None:
        """Take back what `save` gave; raises ValueError if it is damaged."""
        try:
            self.judge.load(state)
        except CoreError as error:
            raise ValueError(str(error)) from None

    def finish(self) -> None:
        """Every stream is over."""
        self.judge.finish()

    def found(self, *, every: bool = True) -> list[StreamFound]:
        """What each stream came to so far.

        Args:
            every: list every claim in hand, and not only those that were not kept.
        """
        return [*map(self._found, self.judge.found(self._at, every=every))]

    def _named(self, stream: str) -> str:
        """The name by which the core knows a stream: a file may have one that is no UTF-8."""
        return self._unnamed if stream == self.files[0] else stream

    def _name(self, name: str) -> str:
        return self.files[0] if name == self._unnamed else name

    def _number(self, at: At) -> int:
        """The number by which the core knows a place."""
        if at.file == self.files[0]:
            return at.line
        if at.file not in self.files:
            self.files.append(at.file)
        return self.files.index(at.file) * _LINES + at.line

    def _at(self, number: int, sequence: int | None) -> At:
        file, line = divmod(number, _LINES)
        return at_line(self.files[file], line, sequence)

    def _found(self, found: NativeStream) -> StreamFound:
        return StreamFound(
            self.files[0],
            self._name(found.name),
            self.forms[found.form],
            found.first,
            found.last,
            frozenset(found.open),
            found.period + 1,
            tuple(found.breaks),
            left_of(found.left, found.forgotten, self.limits),
            tuple(found.claims),
            Ended(
                Counter(found.verdicts),
                Counter(found.obligations),
                Counter(found.entered),
                Counter(found.unlisted),
                found.away,
            ),
        )


AnyStreams: TypeAlias = "Streams | NativeStreams"


def streams_of(file: str) -> type[Streams] | partial[NativeStreams]:
    """What makes the streams of one source, by the judge that runs; CoreError where none does."""
    if core() == "native":
        return partial(NativeStreams, file)
    from monitor.core import Streams

    return Streams
