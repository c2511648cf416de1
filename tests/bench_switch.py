"""Turns the monitor of a serving process off for a while, without a line that it misses."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from runtime_hooks.trace.inline import Inline
from runtime_hooks.trace.journal import _BATCH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime_hooks.trace.journal import Journal, Line

__all__ = ["Switch"]


class Switch:
    """Is the sink of a journal in the place of the monitor, to which it hands the lines on.

    While it is off, lines are set aside. `catch_up` has the monitor judge them, so that it sees
    each line and concludes what it would anyway. `turns` counts how often the journal's thread has
    handed on all lines that it found, and went to wait for more. `whole` says that the lines that
    the monitor judged follow each other, and none is missing.
    """

    def __init__(self, journal: Journal) -> None:
        inline = journal.sink(Inline)
        assert inline is not None, "there is no monitor"
        self.inline, self.on, self.turns, self.whole = inline, True, 0, True
        self._aside: list[Sequence[Line]] = []
        self._next: int | None = None
        self._lock = threading.Lock()  # the thread may hand on lines while others catch up
        journal._sinks[journal._sinks.index(inline)] = self

    def catch_up(self) -> None:
        """Have the monitor judge what was set aside."""
        with self._lock:
            self._judge_aside()

    def take(self, lines: Sequence[Line]) -> None:
        """Hand lines on, or set them aside."""
        with self._lock:
            if self.on:
                self._judge_aside()
                self._judge(lines)
            else:
                self._aside.append(lines)
        if len(lines) < _BATCH:
            self.turns += 1

    def idle(self) -> None:
        """There are no lines for now."""
        if self.on:
            with self._lock:
                self._judge_aside()
                self.inline.idle()
        self.turns += 1

    def close(self) -> None:
        """There are no more lines."""
        self.catch_up()
        self.inline.close()

    def fail(self) -> None:
        """The monitor raised."""
        self.inline.fail()

    def _judge_aside(self) -> None:
        for lines in self._aside:
            self._judge(lines)
        self._aside.clear()

    def _judge(self, lines: Sequence[Line]) -> None:
        first, last = lines[0].sequence, lines[-1].sequence
        assert first is not None
        assert last is not None
        follow = self._next in (None, first) and last - first == len(lines) - 1
        self.whole, self._next = self.whole and follow, last + 1
        self.inline.take(lines)
