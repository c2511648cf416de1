"""Reads a source in a thread, for tests, and collects what it delivers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from monitor.follow.buffer import (
    Batch,
    Break,
    Buffer,
    End,
    Item,
    Outlet,
    Position,
    Source,
    WhenFull,
)
from tests.monitor.follow.processes import wait_for

__all__ = ["Read", "reading"]


class Read:
    """What a source has delivered so far."""

    def __init__(self, source: Source) -> None:
        self.buffer, self.stopping = Buffer(WhenFull.BLOCK), threading.Event()
        self.outlet = Outlet("s", self.buffer, self.stopping)
        self._items: list[Item] = []
        self.thread = threading.Thread(target=source.run, args=(self.outlet,))

    @property
    def items(self) -> list[Item]:
        """Everything, in order."""
        while (item := self.buffer.get(0)) is not None:
            self._items.append(item)
        return self._items

    @property
    def lines(self) -> list[bytes | None]:
        """The lines."""
        return [line for item in self.items if isinstance(item, Batch) for line in item.lines]

    @property
    def breaks(self) -> list[str]:
        """Why lines may be missing."""
        return [item.why for item in self.items if isinstance(item, Break)]

    @property
    def end(self) -> str | None:
        """What was wrong when it ended; None if it did not."""
        return next((item.fault for item in self.items if isinstance(item, End)), None)

    @property
    def position(self) -> Position:
        """Where it can be read on."""
        return next(item.position for item in reversed(self.items) if isinstance(item, Batch))

    def wait(self, *lines: bytes | None) -> None:
        """Wait until so many lines are there, and compare them."""
        wait_for(lambda: len(self.lines) >= len(lines))
        assert list(lines) == self.lines


@contextmanager
def reading(source: Source, position: Position | None = None) -> Iterator[Read]:
    """A source that is read within the block."""
    read = Read(source)
    if position:
        source.seek(position)
    read.thread.start()
    try:
        yield read
    finally:
        read.stopping.set()
        read.buffer.close()
        read.thread.join(10.0)
        assert not read.thread.is_alive()
