"""Splits the bytes of a stream into whole lines of bounded length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.input.lines import LINE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Line", "Splitter"]

Line = bytes | None
"""A line without its end; None for one that is longer than `LINE_LIMIT`."""


class Splitter:
    """Holds back what follows the last end of a line until the rest of that line is there."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._dropped = 0  # bytes of the line in hand, which is too long

    @property
    def held(self) -> int:
        """Bytes since the end of the last whole line."""
        return self._dropped + len(self._rest)

    def feed(self, data: bytes) -> Sequence[Line]:
        """The lines that are complete with these bytes, blank ones included."""
        first, *others = data.split(b"\n")
        if not others:
            self._add(first)
            return ()
        self._add(first)
        lines = [self._take(), *(each if len(each) <= LINE_LIMIT else None for each in others[:-1])]
        self._add(others[-1])
        return lines

    def flush(self) -> Sequence[Line]:
        """The last line, which has no end, if there is one."""
        return [self._take()] if self.held else ()

    def clear(self) -> None:
        """Forget what was held back."""
        self._rest.clear()
        self._dropped = 0

    def _add(self, piece: bytes) -> None:
        if self._dropped or len(self._rest) + len(piece) > LINE_LIMIT:
            self._dropped += len(self._rest) + len(piece)
            self._rest.clear()
        else:
            self._rest += piece

    def _take(self) -> Line:
        line = None if self._dropped else bytes(self._rest)
        self.clear()
        return line
