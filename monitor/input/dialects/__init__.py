"""Recognises the dialect of a line by its fields; one adapter of each dialect per file.

A dialect is a module of this folder. It has `recognises`, which knows its own lines, and `DIALECT`,
the class that reads them.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol

from monitor.input.dialects._json import Listed, no_kind, parse
from monitor.input.errors import InputError
from monitor.input.looks import describe_object, describe_packed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from monitor.input.records import Record

__all__ = ["LIVE", "Dialect", "Reader", "look"]


class Dialect(Protocol):
    """Turns the objects of one file, in order, into records; most hold none back."""

    def feed(self, obj: dict[str, object], line: int) -> Sequence[Record]:
        """The records that are complete with this line.

        Raises:
            InputError: the object is not of this dialect's form; nothing else has changed.
        """

    def flush(self, stream: str | None = None) -> Sequence[Record]:
        """The records that were held back, of one stream or, at the end of the file, of all."""
        return ()

    def pause(self, why: str) -> None:
        """Lines may be missing before the next one; its number decides whether any is."""
        return


_LOOKS: Final = {
    "canonical": "a trace",
    "otlp": "log records of OpenTelemetry",
    "kv_events": "a capture of KV events",
    "reference": "a trace of the reference dialect",
    "connector": "a trace of the connector dialect",
    "allocator": "a trace of the allocator dialect",
}
"""The modules, in the order in which they are asked, the narrower sign first; and what their lines
look like.
"""

_NAMES: Final = tuple(_LOOKS)

_LISTS: Final = "kv_events"
"""The dialect in which a line may be a list, and an empty one where others of it came before."""

LIVE: Final = ("canonical", "otlp", "kv_events")
"""Those of lines that are judged as they come."""


@cache
def _dialect(name: str) -> Any:
    """The module of a dialect, imported when a line is first compared with it."""
    return import_module(f"{__name__}.{name}")


def look(line: bytes) -> str:
    """What a file that is not expected looks like by its first line; empty if unknown."""
    if (packed := describe_packed(line)) is not None:
        return packed[0]
    try:
        obj = parse(line, "", 1, lists=True)
    except InputError:
        return ""
    if (known := describe_object(obj)) is not None:
        return known[0]
    return next((what for name, what in _LOOKS.items() if _dialect(name).recognises(obj)), "")


class Reader:
    """Reads one file's lines, in any of these dialects.

    Args:
        adapters: those that are made already, by their dialects.
    """

    def __init__(
        self,
        file: str,
        dialects: tuple[str, ...] = _NAMES,
        adapters: Mapping[str, Dialect] = MappingProxyType({}),
    ) -> None:
        self.file, self._dialects = file, dialects
        self._adapters = dict(adapters)

    @property
    def reads_canonical(self) -> bool:
        """Whether lines may have the canonical form."""
        return "canonical" in self._dialects

    def pause(self, why: str) -> None:
        """Lines may be missing before the next one."""
        for adapter in self._adapters.values():
            adapter.pause(why)

    @property
    def is_canonical(self) -> bool:
        """Whether no line so far had a recorded dialect; then no record is held back."""
        return not self._adapters or self._adapters.keys() == {"canonical"}

    def feed(self, text: bytes, line: int) -> Sequence[Record]:
        """The records that are complete with this line.

        Raises:
            InputError: the line cannot be read.
        """
        obj = parse(text, self.file, line, lists=True)
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

    @property
    def says(self) -> str:
        """What the dialects say of the lines, those that have `says`."""
        each = (getattr(adapter, "says", "") for adapter in self._adapters.values())
        return "; ".join(filter(None, each))

    def _adapter(self, obj: dict[str, object], line: int) -> Dialect:
        if isinstance(obj, Listed) and not obj.objects and _LISTS in self._adapters:
            return self._adapters[_LISTS]
        for name in self._dialects:
            module = _dialect(name)
            if module.recognises(obj):
                if name not in self._adapters:
                    self._adapters[name] = module.DIALECT(self.file)
                adapter: Dialect = self._adapters[name]
                return adapter
        raise no_kind(obj, self.file, line)
