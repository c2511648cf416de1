"""Reads YAML as data: texts, integers, booleans, null, lists and maps, each with its line.

Tags, duplicate keys, several documents and anything that would grow without bound are refused,
and nothing is constructed but these values.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import yaml

from spec.language.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MOST_BYTES", "Document", "parse_yaml"]

MOST_BYTES: Final = 4 << 20
_MOST_VALUES: Final = 500_000
_MOST_ALIASES: Final = 100
_DEEPEST: Final = 40
_QUOTE: Final = "quote it, if it is a text"  # which may be private, so that it is not shown
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]{0,18})")
_CONSTANTS: Final = {"null": None, "~": None, "": None, "true": True, "false": False}

Path = tuple[str | int, ...]


class Document:
    """What a text says, and the line on which each of its parts starts.

    Attributes:
        value: None, a bool, an int, a str, or a list or dict of such.
    """

    def __init__(self, value: Any, lines: dict[Path, int]) -> None:
        self.value = value
        self._lines = lines

    def line(self, path: Path) -> int:
        """The line, from 1, of the part at `path`, or of the nearest one around it."""
        while path not in self._lines and path:
            path = path[:-1]
        return self._lines.get(path, 1)


def parse_yaml(content: bytes) -> Document:
    """Read one document.

    Raises:
        DocumentError: it is not such YAML; `line` says where.
    """
    if len(content) > MOST_BYTES:
        raise DocumentError(f"it has {len(content)} bytes, over {MOST_BYTES}", "split it")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise DocumentError("it is not UTF-8", "save it as UTF-8", line=line) from None
    try:
        return _Reader(yaml.parse(text, Loader=_LOADER)).document()
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None) or getattr(problem, "context_mark", None)
        reason = getattr(problem, "problem", None) or getattr(problem, "reason", None)
        raise DocumentError(
            f"it is not YAML: {reason or 'it cannot be read'}",
            "quote text that has a meaning in YAML",
            line=1 if mark is None else mark.line + 1,
        ) from None


class _Reader:
    """Builds the values of one document from the parser's events."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._lines: dict[Path, int] = {}
        self._anchored: dict[str, tuple[Any, int]] = {}
        self._values = self._aliases = 0

    def document(self) -> Document:
        self._take(yaml.StreamStartEvent)
        start = next(self._events)
        if isinstance(start, yaml.StreamEndEvent):
            raise DocumentError("it is empty", "write a document")
        value = self._value(next(self._events), (), 0)[0]
        self._take(yaml.DocumentEndEvent)
        after = next(self._events)
        if not isinstance(after, yaml.StreamEndEvent):
            raise DocumentError("a second document starts", "keep one", line=_line(after))
        return Document(value, self._lines)

    def _take(self, kind: type) -> None:
        event = next(self._events)
        if not isinstance(event, kind):
            raise DocumentError("it is not a document", "write one", line=_line(event))

    def _value(self, event: Any, path: Path, depth: int) -> tuple[Any, int]:
        """The value that starts at `event`, and how many values it is made of."""
        line = _line(event)
        self._lines[path] = line
        if depth > _DEEPEST:
            raise DocumentError(f"it is nested deeper than {_DEEPEST}", "flatten it", line=line)
        if isinstance(event, yaml.AliasEvent):
            return self._repeat(event, line)
        if event.tag is not None:
            raise DocumentError("it has a tag, which begins with !", _QUOTE, line=line)
        if isinstance(event, yaml.ScalarEvent):
            made = (_scalar(event, line), 1)
        elif isinstance(event, yaml.SequenceStartEvent):
            made = self._list(path, depth)
        else:
            made = self._map(path, depth)
        self._count(1, line)
        if event.anchor is not None:
            self._anchored[event.anchor] = made
        return made

    def _repeat(self, event: Any, line: int) -> tuple[Any, int]:
        self._aliases += 1
        if self._aliases > _MOST_ALIASES:
            raise DocumentError(f"it has over {_MOST_ALIASES} aliases", "write out", line=line)
        if event.anchor not in self._anchored:
            raise DocumentError("* begins a name that is not defined", _QUOTE, line=line)
        made = self._anchored[event.anchor]
        self._count(made[1], line)
        return made

    def _count(self, values: int, line: int) -> None:
        self._values += values
        if self._values > _MOST_VALUES:
            raise DocumentError(f"it has over {_MOST_VALUES} values", "split it", line=line)

    def _list(self, path: Path, depth: int) -> tuple[list[Any], int]:
        items, size = list[Any](), 1
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            value, within = self._value(event, (*path, len(items)), depth + 1)
            items.append(value)
            size += within
        return items, size

    def _map(self, path: Path, depth: int) -> tuple[dict[str, Any], int]:
        items, size = dict[str, Any](), 1
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            line = _line(event)
            if not isinstance(event, yaml.ScalarEvent) or event.tag is not None:
                raise DocumentError("a key is not a plain text", "write a name", line=line)
            key = event.value
            if key in items:
                raise DocumentError(f"the key {key[:60]!r} occurs twice", "keep one", line=line)
            value, within = self._value(next(self._events), (*path, key), depth + 1)
            self._lines[(*path, key)] = line
            items[key] = value
            size += within
        return items, size


def _scalar(event: Any, line: int) -> Any:
    text: str = event.value
    if not event.implicit[0]:
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return text


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1
