"""Compares the native judge with `spec.stream` after every event of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from monitor.input.dialects._json import parse
from monitor.input.dialects.canonical import CanonicalDialect, recognises
from monitor.input.errors import InputError
from monitor.native import NativeJudge
from spec.claims.claim import Mode
from spec.events.canonical import Event, StreamMark
from spec.stream.breaks import line_of
from spec.stream.judge import Judge, Limits
from spec.stream.outcome import ClaimOutcome, ModeVerdict, outcome_of

__all__ = ["Difference", "differs", "lines_of", "read"]


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


def outcomes(judge: Judge) -> list[ClaimOutcome]:
    """All that the judge in Python keeps."""
    return [outcome_of(claim) for claim in (*judge.past, *judge.claims.values())]


def drained(judge: Judge) -> list[ClaimOutcome]:
    """What changed since the last call and is violated or final."""
    news = [outcome_of(claim) for claim in judge.news]
    judge.news.clear()
    return [each for each in news if each.final or each.verdict is ModeVerdict.VIOLATED]


def differs(
    text: bytes, mode: Mode | None, limits: Limits = USUAL, *, packed: bool = False
) -> Difference | None:
    """The first difference of the two judges on a stream in the canonical form.

    Args:
        packed: lines are read in Python, and given to the native judge as they were read.
    """
    judge, native = Judge(mode, limits=limits), NativeJudge(mode, limits=limits)
    for number, line in lines_of(text):
        given = read(line, number)
        if packed:
            if given is not None:
                native.take(line_of(given, number))
        else:
            native_at = native.feed(b"\n" * (number - 1 - _at(native)) + line, ends=True)
            if native_at.refused == "one of several ranks":
                continue
            if (native_at.refused == "") != (given is not None):
                return Difference(number, given, native_at.refused)
        if given is None:
            continue
        judge.take(line_of(given, number))
        if (found := _compared(judge, native, number)) is not None:
            return found
    judge.finish()
    native.finish()
    return _compared(judge, native, 0) if native.summary() else None


def _at(native: NativeJudge) -> int:
    return native._counts[0]


def _compared(judge: Judge, native: NativeJudge, number: int) -> Difference | None:
    ours, theirs = outcomes(judge), native.outcomes()
    if ours != theirs:
        pairs = [(a, b) for a, b in zip(ours, theirs, strict=False) if a != b]
        return Difference(number, *(pairs[0] if pairs else (len(ours), len(theirs))))
    told, others = (sorted(each, key=str) for each in (drained(judge), native.drain()))
    if told != others:
        return Difference(number, told, others)
    said = native.summary()[0]
    for mine, other in (
        ([(r.code.name, r.text, r.at) for r in judge.breaks], said.breaks),
        (judge.left and (judge.left.code.name, judge.left.text, judge.left.at), said.left),
        (judge.period, said.period),
        (judge.broken is not None, said.broken),
    ):
        if mine != other:
            return Difference(number, mine, other)
    return None
