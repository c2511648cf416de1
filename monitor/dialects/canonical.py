"""The canonical form: an event is what it says, once it has been checked."""

from __future__ import annotations

import functools
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from monitor.dialects._json import kind_in, predicate_in, struct
from monitor.errors import InputError, did_you_mean, shown
from monitor.records import At, Record, Stamp
from spec.alphabet import Kind
from spec.claims import Mode
from spec.durations import Duration
from spec.errors import ClaimError
from spec.events import Event, Mark, StreamMark
from spec.fields import required_of

__all__ = ["CanonicalDialect", "recognises"]

_KINDS: Final = frozenset(kind.value for kind in Kind)
_MARKS: Final = frozenset(mark.value for mark in Mark)
_MODES: Final = frozenset(mode.value for mode in Mode)
_MOST: Final = 2**63 - 1

Order = Annotated[int, Meta(ge=0)]


class _Head(msgspec.Struct):
    """What is read of an event of an unknown kind: its place in the stream."""

    stream: Annotated[str, Meta(max_length=1024)] = ""
    sequence: Order | None = None
    time_ns: Order | None = None


def recognises(obj: dict[str, object]) -> bool:
    """Whether a line is in the canonical form."""
    return "kind" in obj


class CanonicalDialect:
    """Reads the canonical events of one file."""

    def __init__(self, file: str) -> None:
        self._file = file

    def feed(self, obj: dict[str, object], line: int) -> tuple[Record, ...]:
        """One record; without events where the kind is unknown.

        Raises:
            InputError: the object is not a canonical event.
        """
        kind = kind_in(obj, "kind", self._file, line)
        event = mark = None
        head: Event | StreamMark | _Head
        if kind in _KINDS:
            head = event = struct(obj, Event, self._file, line)
        elif kind in _MARKS:
            head = struct(obj, StreamMark, self._file, line)
            mark = head.kind
        else:
            head = struct(obj, _Head, self._file, line)
        for name in ("sequence", "time_ns", "priority"):
            value = getattr(head, name, None)
            if value is not None and not -_MOST <= value <= _MOST:
                self._refuse(line, name, f"{shown(value)} is out of range", f"at most {_MOST}")
        at = At(self._file, line, head.sequence)
        stamp = Stamp(head.stream or self._file, head.sequence, head.time_ns, mark=mark)
        if event is None:
            return (Record(at, stamp, unknown=None if mark else kind),)
        self._check(event, line)
        return (Record(at, stamp, ((event, at),)),)

    def flush(self, stream: str | None = None) -> tuple[Record, ...]:
        """Nothing: no event is held back."""
        return ()

    def _check(self, event: Event, line: int) -> None:
        """What the form cannot say: texts that must parse, lists that must match."""
        if event.predicate is not None:
            predicate_in(event.predicate, "predicate", self._file, line)
        if event.duration is not None and (fault := _duration_fault(event.duration)):
            self._refuse(line, "duration", *fault)
        if event.mode is not None and event.mode not in _MODES:
            hint = did_you_mean(event.mode, _MODES)
            self._refuse(line, "mode", f"there is no mode {shown(event.mode)}", hint)
        for name in required_of(event.kind):
            if getattr(event, name) in (None, ()):
                what = {"claim_id": "names no claim", "request_id": "names no request"}.get(name)
                reason = f"{event.kind} {what or 'says too little without it'}"
                self._refuse(line, name, reason, "docs/events.md lists its fields")
        placed = event.positions or event.kind is Kind.BLOCK_CACHED
        if placed and len(event.positions) != len(event.block_ids):
            reason = f"{len(event.positions)} positions for {len(event.block_ids)} blocks"
            self._refuse(line, "positions", reason, "give one logical position for each block")
        for name in ("block_ids", "positions"):
            numbers = getattr(event, name)
            if len(numbers) > 1 and len(set(numbers)) != len(numbers):
                self._refuse(line, name, "a number stands twice", "list each once")

    def _refuse(self, line: int, field: str, reason: str, hint: str) -> None:
        raise InputError(self._file, reason, line=line, field=field, hint=hint)


@functools.lru_cache(maxsize=1024)
def _duration_fault(text: str) -> tuple[str, str] | None:
    try:
        Duration.parse(text)
    except ClaimError as error:
        return error.cause, error.remedy
    return None
