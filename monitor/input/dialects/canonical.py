"""Reads the canonical form: each line is checked and taken as the event that it states."""

from __future__ import annotations

import functools
from typing import Any, Final, NoReturn

import msgspec

from monitor.input.dialects import Dialect
from monitor.input.dialects._json import kind_in, known_predicate, struct
from monitor.input.engines import MOST_RANKS
from monitor.input.errors import InputError, did_you_mean, shown
from monitor.input.records import At, Record, Stamp, at_line, stamp_of
from spec.claims.durations import Duration
from spec.claims.states import Mode
from spec.events.alphabet import FACTS, Kind
from spec.events.canonical import MOST_GROUPS, Event, Mark, StreamMark
from spec.events.fields import FIELDS, FLAGS, IDENTITY, STAMP, fields_of, one_of, required_of
from spec.language.errors import ClaimError, PredicateError

__all__ = ["DIALECT", "CanonicalDialect", "fault_of", "recognises"]

_KINDS: Final = frozenset(kind.value for kind in Kind)
_MARKS: Final = frozenset(mark.value for mark in Mark)
_NAMES: Final = sorted(_KINDS | _MARKS)
_MODES: Final = frozenset(mode.value for mode in Mode)
_MOST: Final = 2**63 - 1
_FIELDS_HINT: Final = "docs/events.md lists its fields"
_ONE_OF: Final = {kind: one_of(kind) for kind in Kind}
"""Fields of which an event of a kind states at least one."""


def recognises(obj: dict[str, object]) -> bool:
    """Whether a line is in the canonical form."""
    return "kind" in obj


class CanonicalDialect(Dialect):
    """Reads the canonical events of one file."""

    def __init__(self, file: str) -> None:
        self._file = file

    def feed(self, obj: dict[str, object], line: int) -> tuple[Record, ...]:
        """One record.

        Raises:
            InputError: the object is not a canonical event, or of no known kind.
        """
        kind = kind_in(obj, "kind", self._file, line)
        if kind in _MARKS:
            mark = struct(obj, StreamMark, self._file, line)
            return (Record(*self._stamped(mark, line)),)
        if kind not in _KINDS:
            hint = did_you_mean(kind, _NAMES) or "docs/events.md lists the kinds"
            self._refuse(line, "kind", f"there is no kind {shown(kind)}", hint)
        event = struct(obj, Event, self._file, line)
        at, stamp = self._stamped(event, line)
        self._check(event, line)
        return (Record(at, stamp, ((event, at),)),)

    def _stamped(self, given: Event | StreamMark, line: int) -> tuple[At, Stamp]:
        for name in ("sequence", "time_ns", "priority"):
            value = getattr(given, name, None)
            if value is not None and not -_MOST <= value <= _MOST:
                self._refuse(line, name, f"{shown(value)} is out of range", f"at most {_MOST}")
        if isinstance(given, StreamMark) and given.observes is not None:
            self._check_observed(given, given.observes, line)
        if isinstance(given, StreamMark):
            self._check_rank(given, line)
            self._check_groups(given, line)
        at = at_line(self._file, line, given.sequence)
        return at, stamp_of(given, given.stream or self._file)

    def _check_observed(self, mark: StreamMark, observes: tuple[str, ...], line: int) -> None:
        """Only the first mark says what is observed, and only facts are."""
        if mark.kind is not Mark.STREAM_OPENED:
            hint = f"state it on {Mark.STREAM_OPENED}"
            self._refuse(line, "observes", f"{mark.kind} does not say what is observed", hint)
        for place, name in enumerate(observes):
            if name not in FACTS:
                near = "" if name in _KINDS else did_you_mean(name, sorted(FACTS))
                what = "no fact" if name in _KINDS else "no kind"
                hint = near or "docs/events.md lists the facts"
                self._refuse(line, f"observes[{place}]", f"{shown(name)} is {what}", hint)

    def _check_rank(self, mark: StreamMark, line: int) -> None:
        """A rank is one of so many, of a stream that has a name; the first mark says so."""
        rank, ranks = mark.rank, mark.ranks
        if rank is None and ranks is None:
            if mark.engine is not None:
                hint = "leave it out, or state rank and ranks, too"
                self._refuse(line, "engine", "only a rank names an engine", hint)
            return
        hint = "give rank, from 0, and ranks, on stream_opened of a named stream"
        if mark.kind is not Mark.STREAM_OPENED or not mark.stream:
            what = "a stream without a name" if mark.kind is Mark.STREAM_OPENED else mark.kind
            self._refuse(line, "rank", f"{what} has no rank", hint)
        if rank is None or ranks is None or not rank < ranks <= MOST_RANKS:
            reason = f"there is no rank {shown(rank)} of {shown(ranks)}"
            self._refuse(line, "rank", reason, f"{hint}; at most {MOST_RANKS}")

    def _check_groups(self, mark: StreamMark, line: int) -> None:
        """Each group is listed once, and a window has a size."""
        if len(mark.groups) > MOST_GROUPS:
            hint = f"at most {MOST_GROUPS}"
            self._refuse(line, "groups", f"there are {len(mark.groups)} groups", hint)
        numbers = [each.group for each in mark.groups]
        for place, each in enumerate(mark.groups):
            if each.group in numbers[:place]:
                self._refuse(line, f"groups[{place}]", f"group {each.group} is listed twice", "")
            if (each.kind == "window") != (each.window is not None):
                hint = "a window, and no other kind of group, has as many blocks as a hit needs"
                self._refuse(line, f"groups[{place}].window", "it does not fit the kind", hint)

    def _check(self, event: Event, line: int) -> None:
        """What the form cannot say: which fields a kind needs and has, and what they may state."""
        if (fault := fault_of(event)) is not None:
            self._refuse(line, *fault)
        if event.mode is not None and event.mode not in _MODES:
            hint = did_you_mean(event.mode, _MODES)
            self._refuse(line, "mode", f"there is no mode {shown(event.mode)}", hint)
        for name in required_of(event.kind):
            if getattr(event, name) in (None, ()):
                what = {"claim_id": "names no claim", "request_id": "names no request"}.get(name)
                reason = f"{event.kind} {what or 'cannot be judged without it'}"
                self._refuse(line, name, reason, _FIELDS_HINT)
        for name in _STRANGE[event.kind]:
            if getattr(event, name) != _DEFAULTS[name]:
                self._refuse(line, name, f"{event.kind} has no such field", _FIELDS_HINT)

    def _refuse(self, line: int, field: str, reason: str, hint: str) -> NoReturn:
        raise InputError(self._file, reason, line=line, field=field, hint=hint)


_DEFAULTS: Final = {field.name: field.default for field in msgspec.structs.fields(Event)}
"""What an event holds where its line does not have the field."""

_STRANGE: Final = {
    kind: tuple(
        name
        for name in FIELDS
        if name not in (*fields_of(kind), *STAMP, *FLAGS, *IDENTITY) and hasattr(Event, name)
    )
    for kind in Kind
}
"""The fields that mean nothing on an event of a kind."""


def fault_of(event: Any) -> tuple[str, str, str] | None:
    """The first field of an event whose value does not fit the others, or is a text that does not
    parse; what is wrong, and what to do about it. None where all is well.

    Args:
        event: an Event, or what has its fields.
    """
    kind, blocks, positions = event.kind, event.block_ids, event.positions
    if event.predicate is not None:
        try:
            known_predicate(event.predicate)
        except PredicateError as error:
            return "predicate", error.cause, error.remedy
    if event.duration is not None and (fault := _duration_fault(event.duration)):
        return "duration", *fault
    if (some := _ONE_OF[kind]) and not any(getattr(event, name) for name in some):
        return some[0], f"{kind} states none of {', '.join(some)}", _FIELDS_HINT
    if not blocks and not positions:
        return None
    if len(positions) != len(blocks):
        about = event.claim_id is not None or event.object_id is not None
        if positions or (kind is Kind.BLOCK_CACHED and about and not event.contents):
            reason = f"{len(positions)} positions for {len(blocks)} blocks"
            return "positions", reason, "give one logical position for each block"
    keys = event.contents
    if keys and len(keys) != len(blocks) and kind in FACTS:
        return "keys", f"{len(keys)} keys for {len(blocks)} blocks", "give one key for each block"
    if len(blocks) > 1:
        for name, numbers in (("block_ids", blocks), ("positions", positions)):
            if len(set(numbers)) != len(numbers):
                return name, "a number occurs twice", "list each once"
    return None


@functools.lru_cache(maxsize=1024)
def _duration_fault(text: str) -> tuple[str, str] | None:
    """What is wrong with the text of a duration, and what to do about it."""
    try:
        Duration.parse(text)
    except ClaimError as error:
        return error.cause, error.remedy
    return None


DIALECT: Final = CanonicalDialect
