"""Leaves out of a trace what says where and of what it was recorded.

What names the host, the process, the model and the prompts is replaced by numbered names, the same
for the same text; times count from the first. What a verdict rests on stays as it was recorded: the
events, their order, their distances in time, blocks, positions, modes and claims.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final

import msgspec

from monitor.input.given import record_of
from spec.events.canonical import EVENT_ENCODER, Event, Mark, StreamMark

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["redacted"]

_NAMES: Final = {
    "stream": "engine",
    "request_id": "request",
    "cache_identity": "identity",
    "object_id": "object",
    "token_map": "tokens",
    "content_keys": "block",
    "keys": "block",
    "worker": "worker",
}
"""The fields that are replaced, and what their new names begin with."""


def redacted(trace: bytes) -> bytes:
    """A canonical trace without what it need not say; of a redacted one, the same bytes."""
    lines = [_read(line) for line in trace.splitlines()]
    start = next((line.time_ns for line in lines if line.time_ns is not None), 0)
    rename = _renamer()
    return b"".join(EVENT_ENCODER.encode(_redact(line, start, rename)) + b"\n" for line in lines)


def _read(line: bytes) -> Event | StreamMark:
    obj = msgspec.json.decode(line)
    form = StreamMark if obj["kind"] in set(Mark) else Event
    record_of(obj, "trace", 1)
    return msgspec.convert(obj, form)


def _renamer() -> Callable[[str, str], str]:
    names: dict[tuple[str, str], str] = {}
    numbers = {prefix: count(1) for prefix in _NAMES.values()}

    def rename(field: str, text: str) -> str:
        prefix = _NAMES[field]
        if (prefix, text) not in names:
            names[prefix, text] = f"{prefix}:{next(numbers[prefix])}"
        return names[prefix, text]

    return rename


def _redact(
    line: Event | StreamMark, start: int, rename: Callable[[str, str], str]
) -> Event | StreamMark:
    changed: dict[str, object] = {}
    for field in _NAMES:
        value = getattr(line, field, None)
        if isinstance(value, str) and value:
            changed[field] = rename(field, value)
        elif isinstance(value, tuple):
            changed[field] = tuple(rename(field, each) for each in value)
    if line.time_ns is not None:
        changed["time_ns"] = line.time_ns - start
    return msgspec.structs.replace(line, **changed)
