"""Keeps requests in a temporary file without a name, so that a workload is read again cheaply."""

from __future__ import annotations

import os
from array import array
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Final

import msgspec

from models.simulation.request import Request
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["MOST", "Spool"]

MOST: Final = 20_000_000
"""The most requests of a workload."""

_MOST_BYTES: Final = 1 << 36
_PIECE: Final = 1 << 20
_Fields = tuple[
    str, float, int, int, tuple[int, ...], str | None, str | None, str | None, str | None
]
_ENCODE: Final = msgspec.msgpack.Encoder().encode
_DECODE: Final = msgspec.msgpack.Decoder(_Fields).decode


class Spool:
    """Requests, of which a few bytes each are in memory.

    Add all of them, sort them if they came in another order, and then read.
    """

    def __init__(self) -> None:
        try:
            self._file = TemporaryFile()  # noqa: SIM115 (it lives as long as the spool)
        except OSError as problem:
            raise _no_space(problem) from None
        self._waiting, self._written = bytearray(), 0
        self._ends = array("Q", [0])
        self._order: Sequence[int] = range(0)

    def add(self, request: Request) -> None:
        """Append a request; raises SpecError where there are too many, or the disk is full."""
        r = request
        fields = r.id, r.arrives, r.prompt, r.output, r.keys, r.after, r.session, r.tool, r.owner
        self._waiting += _ENCODE(fields)
        self._ends.append(self._written + len(self._waiting))
        if len(self._ends) > MOST + 1:
            raise SpecError(f"over {MOST} requests", "give fewer with --limit")
        if len(self._waiting) > _PIECE:
            self._flush()

    def sort(self, *places: Sequence[float]) -> None:
        """Order the requests by numbers, of which each argument has one for each request.

        The first argument counts most. Requests with equal numbers stay as they came.
        """
        order = array("Q", range(len(self)))
        for each in reversed(places):
            order = array("Q", sorted(order, key=each.__getitem__))
        self._order = order

    @property
    def order(self) -> Sequence[int]:
        """Which of the requests, in the order in which they were added, comes first, and so on."""
        return self._order or range(len(self))

    def _flush(self) -> None:
        if self._written > _MOST_BYTES:
            raise SpecError(f"over {_MOST_BYTES} bytes of requests", "give fewer with --limit")
        try:
            self._file.write(self._waiting)
            self._file.flush()
        except OSError as problem:
            raise _no_space(problem) from None
        self._written += len(self._waiting)
        self._waiting.clear()

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __iter__(self) -> Iterator[Request]:
        if self._waiting:
            self._flush()
        return map(self._read, self.order)

    def __getitem__(self, number: int, /) -> Request:
        if self._waiting:
            self._flush()
        return self._read(self.order[number])

    def _read(self, at: int) -> Request:
        start, end = self._ends[at], self._ends[at + 1]
        return Request(*_DECODE(os.pread(self._file.fileno(), end - start, start)))


def _no_space(problem: OSError) -> SpecError:
    reason = f"cannot write a temporary file: {problem.strerror}"
    return SpecError(reason, "set TMPDIR to a folder with more space")
