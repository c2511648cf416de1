"""Takes lines of events out of logs: removes the prefix of each line, and skips other lines."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

import msgspec

from spec.language.prose import counted

__all__ = ["PLAIN", "Extraction", "LogLines", "after_prefix", "begins_event"]

_TIME: Final = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)"
_PREFIX: Final = re.compile(
    # journald: Nov 28 12:00:00 host unit[17]:
    rb"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,6})? \S{1,255} [^\s:\[]{1,255}(?:\[\d+\])?: "
    # CRI, and kubectl logs --timestamps, which has the time alone
    rb"|" + _TIME + rb" (?:(?P<stream>stdout|stderr) (?P<tag>[PF])(?:\Z| ))?"
)
_DOCKER: Final = re.compile(rb'\{ ?"log" ?:')
_OBJECT: Final = re.compile(rb'\{\s*"')
_EVENT: Final = re.compile(rb"\s*(?:\{|\[\s*\{)")


class Extraction(NamedTuple):
    """How lines of events are taken out of a log.

    Attributes:
        strip: remove the prefix that journald, docker, CRI or kubectl put before a line.
        skip: skip lines in which there is no object.
    """

    strip: bool = False
    skip: bool = False


PLAIN: Final = Extraction()
"""Every line is one of events."""


class _Entry(msgspec.Struct, frozen=True):
    """A line of docker's json-file log."""

    log: str
    stream: Literal["stdout", "stderr"]
    time: str


_DECODE: Final = msgspec.json.Decoder(_Entry).decode


def after_prefix(line: bytes) -> bytes | None:
    """The rest of a line that has a prefix; None where it has none."""
    found = _PREFIX.match(line)
    return None if found is None else line[found.end() :]


def begins_event(text: bytes) -> bool:
    """Whether a text begins with an object, or a list of them."""
    return _EVENT.match(text) is not None


class LogLines:
    """Takes the lines of events out of one log. Docker and CRI cut long lines into pieces.

    Args:
        most: bytes of a line that is put together.
    """

    def __init__(self, how: Extraction, most: int) -> None:
        self._how, self._most = how, most
        self._begun: dict[str, bytes] = {}  # lines without their last piece, by stream
        self._skipped = 0

    def take(self, line: bytes) -> bytes | None:
        """The content of a line: empty where it is skipped, or goes on in another line; None where
        it is too long.
        """
        text = self._stripped(line) if self._how.strip else line
        # An object anywhere in a line may be an event with more of a prefix: it is a bad line.
        if not text or not self._how.skip or text.isspace():
            return text
        if begins_event(text) or _OBJECT.search(text):
            return text
        self._skipped += 1
        return b""

    def flush(self) -> bytes:
        """The content of lines whose last piece did not come."""
        rest = b"".join(self._begun.values())
        self._begun.clear()
        return rest

    @property
    def says(self) -> str:
        """How many lines were skipped; empty if none."""
        number = self._skipped
        return f"{counted(number, 'line')} of other programs skipped" if number else ""

    def _stripped(self, line: bytes) -> bytes | None:
        if _DOCKER.match(line):
            try:
                entry = _DECODE(line)
            except (msgspec.MsgspecError, ValueError):
                return line
            text = entry.log.removesuffix("\n")
            if "\n" in text:
                return line
            return self._joined(entry.stream, text.encode(), whole=text != entry.log)
        if (found := _PREFIX.match(line)) is None:
            return line
        rest = line[found.end() :]
        if found["stream"] is None:
            return rest
        return self._joined(found["stream"].decode(), rest, whole=found["tag"] == b"F")

    def _joined(self, stream: str, text: bytes, *, whole: bool) -> bytes | None:
        """The whole line, if this is its last piece."""
        text = self._begun.pop(stream, b"") + text
        if len(text) > self._most:
            return None
        if not whole:
            self._begun[stream] = text
        return text if whole else b""
