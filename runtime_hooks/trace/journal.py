"""Numbers events in the step loop, and hands them to sinks on a thread of its own.

`Journal.write` appends to a bounded queue and never waits. An event that finds the queue full is
dropped and counted. Its number stays used, so every reader sees the gap.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar

from msgspec.structs import replace

from runtime_hooks.trace.faults import LOG
from spec.events.canonical import CacheGroup, Event, Mark, StreamMark

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from spec.events.alphabet import Kind

__all__ = ["REMIND_S", "Journal", "Line", "Sink"]

S = TypeVar("S")

Line: TypeAlias = Event | StreamMark
"""A line of a stream: an event, or a mark."""

REMIND_S: Final = 60.0
"""How often the log says that a sink gets no more lines, in seconds."""

_IDLE_S: Final = 0.2  # events gather meanwhile, because waking up costs more than writing
_PAUSE_S: Final = 0.001
_BATCH: Final = 64
"""Events between two pauses: so many that the pauses cost little, and so few that the engine soon
gets the interpreter.
"""


class Sink(Protocol):
    """Receives the lines of a journal, on its thread."""

    def take(self, lines: Sequence[Line]) -> None:
        """Receive lines in order. The last mark has the number after the last one used."""

    def idle(self) -> None:
        """There are no lines for now."""

    def close(self) -> None:
        """There are no more lines."""

    def fail(self) -> None:
        """Say in the output, if possible, that the sink raised and gets no more lines."""


class Journal:
    """One stream of events, with marks at its beginning and end.

    Call `write`, `gap`, `end` and `close` on one thread. `dropped` counts the events that found the
    queue full, `gaps` the numbers without an event. `lost` names the sinks that raised, and
    `fault` is the last exception.

    Args:
        limit: the most events that may wait to be written.
        groups: the groups of caches of the engine, where it has several.
        unobserved: what is not observed of the engine, in words.
        epoch: names this life of the engine; by default a new one.
    """

    def __init__(
        self,
        stream: str,
        sinks: Sequence[Sink],
        limit: int,
        *,
        groups: tuple[CacheGroup, ...] = (),
        unobserved: tuple[str, ...] = (),
        epoch: str = "",
    ) -> None:
        self.stream, self.epoch = stream, epoch or secrets.token_hex(8)
        self.dropped, self.gaps = 0, 0
        self._groups, self._unobserved = groups, unobserved
        self.fault: BaseException | None = None
        self.lost: list[str] = []
        self._remind_at = 0.0
        self._sinks, self._limit = list(sinks), limit
        self._waiting: deque[tuple[int, int, Kind | Mark, Mapping[str, Any]]] = deque()
        self._number = 1  # the first mark has 0
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="resident-claims", daemon=True)
        self._thread.start()

    def write(self, time_ns: int, kind: Kind | Mark, fields: Mapping[str, Any]) -> None:
        """Number an event or a mark, and queue it."""
        number = self._number
        self._number += 1
        if len(self._waiting) >= self._limit:
            self.dropped += 1
            return
        self._waiting.append((number, time_ns, kind, fields))

    @property
    def used(self) -> int:
        """How many numbers are used."""
        return self._number

    @property
    def drained(self) -> bool:
        """Whether there is space in the queue again for many events, and a sink for them."""
        return bool(self._sinks) and 2 * len(self._waiting) <= self._limit

    @property
    def waiting(self) -> int:
        """How many events wait to be written."""
        return len(self._waiting)

    @property
    def oldest_ns(self) -> int | None:
        """The time of the oldest event that waits to be written; None where none does."""
        try:
            return self._waiting[0][1]
        except IndexError:
            return None

    def sink(self, kind: type[S]) -> S | None:
        """The sink of this class; None where there is none, or it raised."""
        return next((each for each in self._sinks if isinstance(each, kind)), None)

    def gap(self) -> None:
        """Use a number without an event: something happened that was not observed."""
        self._number += 1
        self.gaps += 1

    def end(self) -> None:
        """End as `close` does, and do not wait for it."""
        self._closing.set()

    def close(self, timeout_s: float = 10.0) -> None:
        """Write the queued events, and end; calling it again does nothing."""
        self.end()
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            LOG.error("resident-claims: %d events are not written yet", self.waiting)

    def _run(self) -> None:
        self._mark(Mark.STREAM_OPENED, 0)
        while not self._closing.is_set() or self._waiting:
            self._hand_on()
        self._mark(Mark.STREAM_CLOSED, self._number)
        self._each(lambda sink: sink.close())

    def _mark(self, mark: Mark, number: int) -> None:
        line = StreamMark(kind=mark, stream=self.stream, sequence=number)
        if mark is Mark.STREAM_OPENED:
            line = replace(line, groups=self._groups, unobserved=self._unobserved)
        self._each(lambda sink: sink.take([line]))

    def _hand_on(self) -> None:
        batch = self._batch()
        self._each(lambda sink: sink.take(batch) if batch else sink.idle())
        if self.lost and time.monotonic() >= self._remind_at:
            self._remind()
        self._closing.wait(_PAUSE_S if len(batch) == _BATCH else _IDLE_S)

    def _remind(self) -> None:
        self._remind_at = time.monotonic() + REMIND_S
        LOG.error(
            "resident-claims: %s is written no more (%s); %d events are lost",
            " and ".join(self.lost),
            self.fault,
            self.dropped,
        )

    def _each(self, act: Callable[[Sink], None]) -> None:
        """Call each sink; one that raises gets no more lines, and the others do."""
        for sink in list(self._sinks):
            try:
                act(sink)
            except Exception as fault:
                self.fault = fault
                name = type(sink).__name__
                LOG.error("resident-claims: %s is written no more", name, exc_info=fault)
                self._sinks.remove(sink)
                self.lost.append(name)
                self._remind_at = time.monotonic() + REMIND_S
                if not self._sinks:
                    self._limit = 0  # nothing is queued without a sink
                with suppress(Exception):
                    sink.fail()

    def _batch(self) -> list[Line]:
        waiting = self._waiting
        lines = list[Line]()
        for _ in range(min(len(waiting), _BATCH)):
            number, time_ns, kind, fields = waiting.popleft()
            stamp: dict[str, Any] = {"stream": self.stream, "sequence": number, "time_ns": time_ns}
            if isinstance(kind, Mark):
                lines.append(StreamMark(kind=kind, **stamp, groups=self._groups))
            else:
                lines.append(Event(kind=kind, **stamp, **fields))
        return lines
