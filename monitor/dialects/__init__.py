"""Which dialect a line is in, told by what it holds; one adapter of each dialect per file.

A line with `kind` is canonical. One with `event` is recorded: with `event_sequence` or
`monotonic_ns` it comes from the connector, otherwise from the allocator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from monitor.dialects._json import parse
from monitor.dialects.allocator import AllocatorDialect
from monitor.dialects.canonical import CanonicalDialect
from monitor.dialects.connector import ConnectorDialect
from monitor.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.records import Record

__all__ = ["Dialect", "Reader"]

_ADAPTERS: Final[dict[str, type[CanonicalDialect | ConnectorDialect | AllocatorDialect]]] = {
    "canonical": CanonicalDialect,
    "connector": ConnectorDialect,
    "allocator": AllocatorDialect,
}


class Dialect(Protocol):
    """Turns the objects of one file, in order, into records."""

    def feed(self, obj: dict[str, object], line: int) -> Sequence[Record]:
        """The records that are complete with this line.

        Raises:
            InputError: the object is not of this dialect's form; nothing else has changed.
        """

    def flush(self, stream: str | None = None) -> Sequence[Record]:
        """The records that were held back, of one stream or, at the end of the file, of all."""


class Reader:
    """Reads one file's lines, whatever their dialect."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._adapters: dict[str, Dialect] = {}

    def feed(self, text: bytes, line: int) -> Sequence[Record]:
        """The records that are complete with this line.

        Raises:
            InputError: the line cannot be read.
        """
        obj = parse(text, self._file, line)
        adapter = self._adapter(obj, line)
        records = adapter.feed(obj, line)
        if len(self._adapters) == 1:
            return records
        streams = {record.stamp.stream for record in records}
        others = [other for other in self._adapters.values() if other is not adapter]
        held = [r for other in others for stream in streams for r in other.flush(stream)]
        return (*held, *records)

    def flush(self) -> Sequence[Record]:
        """The records that were held back until the file ended."""
        return [record for adapter in self._adapters.values() for record in adapter.flush()]

    def _adapter(self, obj: dict[str, object], line: int) -> Dialect:
        if "kind" in obj:
            name = "canonical"
        elif "event" not in obj:
            near = next((did_you_mean(key, ("kind", "event")) for key in obj), "")
            hint = near or "every event has a kind (or, in a recorded dialect, an event)"
            reason = "an event without a kind"
            raise InputError(self._file, reason, line=line, field="kind", hint=hint)
        elif "event_sequence" in obj or "monotonic_ns" in obj:
            name = "connector"
        else:
            name = "allocator"
        adapter = self._adapters.get(name)
        if adapter is None:
            adapter = self._adapters[name] = _ADAPTERS[name](self._file)
        return adapter
