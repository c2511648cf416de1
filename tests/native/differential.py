"""Compares the native judge with `spec.stream` after every event of a stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from monitor.core import Stream
from monitor.input.dialects._json import parse
from monitor.input.dialects.canonical import CanonicalDialect, recognises
from monitor.input.errors import InputError
from monitor.input.records import CANONICAL
from monitor.native.judge import NativeJudge, NativeStream
from monitor.results import Ended, left_of
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.events.canonical import Event, StreamMark
from spec.stream.breaks import Limits, line_of
from spec.stream.outcome import ModeVerdict

__all__ = ["Difference", "Judged", "compared", "differs", "lines_of", "native_of", "read"]


USUAL: Final = Limits()


class Difference(NamedTuple):
    """Where two judges differ: the number of the line, and what each says."""

    line: int
    python: Any
    native: Any


def read(text: bytes, number: int) -> Event | StreamMark | None:
    """The event or mark of a canonical line; None if the reader in Python refuses it."""
    try:
        found = parse(text, "-", number)
        if not recognises(found):
            return None
        (record,) = CanonicalDialect("-").feed(found, number)
    except InputError:
        return None
    if record.events:
        return record.events[0][0]
    return msgspec.convert(found, StreamMark)


def lines_of(text: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, by number."""
    for number, line in enumerate(text.split(b"\n"), 1):
        if line and not line.isspace():
            yield number, line


class Judged(dict[str, Stream]):
    """The streams of some lines by name, judged in Python."""

    def __init__(self, mode: Mode | None, limits: Limits = USUAL) -> None:
        super().__init__()
        self._mode, self._limits = mode, limits

    def __missing__(self, name: str) -> Stream:
        made = self[name] = Stream(
            "-",
            name,
            CANONICAL,
            default=self._mode,
            bundle=Bundle.CONTRACT,
            limits=self._limits,
            only=None,
        )
        return made


def native_of(mode: Mode | None, limits: Limits = USUAL) -> NativeJudge:
    """The native judge of the same."""
    return NativeJudge(mode, limits=limits)


def differs(
    text: bytes,
    mode: Mode | None,
    limits: Limits = USUAL,
    *,
    packed: bool = False,
    honest: bool = False,
) -> Difference | None:
    """The first difference of the two judges on a stream in the canonical form.

    Args:
        packed: lines are read in Python, and given to the native judge as they were read.
        honest: a claim that is found violated is a difference, too.
    """
    streams, native = Judged(mode, limits), native_of(mode, limits)
    for number, line in lines_of(text):
        given = read(line, number)
        if not packed:
            taken, _ = native.feed(line, number)
            if (taken > 0) != isinstance(given, Event):
                return Difference(number, given, taken)
        if given is None:
            continue
        if packed or isinstance(given, StreamMark):
            native.take(line_of(given, number), (number, given.sequence), given.stream)
        streams[given.stream].take(line_of(given, number))
        if (found := compared(streams, native, number)) is not None:
            return found
    for stream in streams.values():
        stream.judge.finish()
    native.finish()
    if honest:
        for each in (each for stream in streams.values() for each in stream.outcomes()):
            if each.verdict is ModeVerdict.VIOLATED:
                return Difference(0, each, "the stream is honest")
    return compared(streams, native, 0)


def compared(streams: Judged, native: NativeJudge, number: int) -> Difference | None:
    """Where the two differ after the line of this number."""
    found = native.found(lambda line, sequence: line)
    if [*streams] != [each.name for each in found]:
        return Difference(number, [*streams], [each.name for each in found])
    each = (_compared(streams[one.name], one, number) for one in found)
    return next((one for one in each if one is not None), None)


def _compared(stream: Stream, found: NativeStream, number: int) -> Difference | None:
    judge = stream.judge
    ours, theirs = [*stream.outcomes()], found.claims
    if ours != theirs:
        pairs = [(a, b) for a, b in zip(ours, theirs, strict=False) if a != b]
        return Difference(number, *(pairs[0] if pairs else (len(ours), len(theirs))))
    ended = Ended(
        Counter(found.verdicts),
        Counter(found.obligations),
        Counter(found.entered),
        Counter(found.unlisted),
        found.away,
    )
    for mine, other in (
        (judge.breaks, found.breaks),
        (stream.left, left_of(found.left, found.forgotten, judge.limits)),
        (judge.period, found.period),
        (judge.broken is not None, found.broken),
        (judge.order.sequence, found.last),
        (stream.open, frozenset(found.open)),
        (stream.forgotten, found.forgotten),
        (stream.ended, ended),
    ):
        if mine != other:
            return Difference(number, mine, other)
    return None
