"""Writes a trace in the canonical form, each event checked as the reader will check it."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterable
from contextlib import contextmanager
from types import NoneType
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, Self

from monitor.input.compressed import format_promised
from monitor.input.errors import InputError, shown
from monitor.input.given import fields_given, record_of
from spec.events.canonical import EVENT_ENCODER, Event, Mark, StreamMark
from spec.files.plain import open_new
from spec.language.errors import SpecError, require, type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType

__all__ = ["TraceWriter"]


class TraceWriter:
    """Writes the events of one stream, between the marks of its beginning and its end.

    Each line goes to the file in the call that writes it. The events are numbered here. One that is
    refused leaves the file as it was and its number unused, so that a reader sees that something is
    missing: a caller that swallows the error gets no verdict on less than what happened. Left by an
    exception, a `with` block writes no end, and a reader sees that the stream was cut.

    It may be called from several threads; the order of the lines is that of the calls. It belongs
    to the process that made it: in one that was forked from it, each call but `close` is refused,
    and `close` writes nothing. Whatever else writes to the file, its lines are appended, and none
    is written over.

    Args:
        to: a path, at which there must be nothing yet, or a file open for writing bytes, which the
            caller closes.
        stream: the name of the stream; where it is empty, the file is the stream.
        observes: the kinds of facts of which the hooks state each one, where that is not all.
        clock: gives the time of an event that has none, in nanoseconds, such as
            `time.monotonic_ns`.
        rank: which one of several processes this is that observe one pool, from 0: each writes a
            trace of its own, and their readers merge them by the times of the events. Give a
            `clock` that they share, or the time of each event.
        ranks: how many such processes there are.
        engine: the name that they have in common, where each has a stream of another name, as they
            must where they write to one pipe.

    Raises:
        InputError: `stream`, `observes`, `rank`, `ranks` or `engine` is nothing that a trace can
            state.
        OSError: the file is there already, or cannot be made.
        SpecError: `to` is neither a path nor such a file, or `clock` is no function.
    """

    def __init__(
        self,
        to: str | os.PathLike[str] | BinaryIO,
        *,
        stream: str = "",
        observes: Iterable[str] | None = None,
        clock: Callable[[], int] | None = None,
        rank: int | None = None,
        ranks: int | None = None,
        engine: str | None = None,
    ) -> None:
        path = _path_of(to)
        if not (clock is None or callable(clock)):
            cause = f"clock is of type {type_name(clock)}"
            raise SpecError(cause, "give a function, such as time.monotonic_ns")
        require(observes, (Iterable, NoneType), "observes", "the names of kinds of facts")
        self._name = path or str(getattr(to, "name", "<trace>"))
        self._stream, self._clock = stream, clock
        self._lock, self._process = threading.RLock(), os.getpid()
        self._inside = False
        self._sequence = self._lines = self._size = 0
        self._over = ""
        self._timed = ranks not in (None, 1)
        opened = self._mark(
            Mark.STREAM_OPENED,
            observes=None if observes is None else tuple(observes),
            rank=rank,
            ranks=ranks,
            engine=engine,
        )
        if path is None:
            assert not isinstance(to, str | os.PathLike)
            self._file, self._own = to, False
        else:
            if format_promised(path) is not None:
                hint = "give a file that compresses, such as gzip.open(path, 'xb')"
                raise InputError(path, "not compressed here", hint=hint)
            self._file, self._own = _opened(path), True
        try:
            self._put(opened)
        except BaseException:
            self.close(complete=False)
            raise

    def write(self, event: Event | Mapping[str, object]) -> None:
        """Write one event with the next number.

        Args:
            event: an Event without a `sequence`, or its fields as a line of a trace has them.

        Raises:
            InputError: a reader of traces would refuse it.
            OSError: the line cannot be written.
            SpecError: the trace is closed, an earlier line was written in part, this is called
                while it writes, by its clock or a signal handler, or by another process.
        """
        if os.getpid() != self._process:
            cause = f"the trace {self._name} belongs to the process that opened it"
            raise SpecError(cause, "open another trace in this one")
        with self._alone():
            self._require_open()
            number = self._sequence
            self._sequence += 1
            record = record_of(self._stamped(event, number), self._name, self._lines + 1)
            if not record.events:
                self._refuse("kind", "the writer states the marks", "close() writes the last one")
            for each, _ in record.events:
                self._put(each)

    def close(self, *, complete: bool = True) -> None:
        """Write the end of the stream, and close the file if it was opened here.

        The second time, nothing happens.

        Args:
            complete: nothing is missing. If not, the end is left out, and the claims that are alive
                there are inconclusive.
        """
        if os.getpid() != self._process:  # its stream goes on elsewhere
            if self._own:
                self._file.close()
            return
        with self._alone():
            if self._over == "closed":
                return
            try:
                if complete and not self._over:
                    self._put(self._mark(Mark.STREAM_CLOSED))
            finally:
                self._over = "closed"
                if self._own:
                    self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close(complete=kind is None)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One call at a time; one from within another, which could never end, is refused, and its
        number is left unused.
        """
        with self._lock:
            if self._inside:
                self._sequence += 1
                raise SpecError(
                    f"the trace {self._name} is being written to",
                    "call it from no clock and no signal handler",
                )
            self._inside = True
            try:
                yield
            finally:
                self._inside = False

    def _mark(self, kind: Mark, **said: Any) -> StreamMark:
        """A mark with the next number."""
        time_ns = None if self._clock is None else self._clock()
        place: dict[str, Any] = {"sequence": self._sequence, "time_ns": time_ns}
        mark = StreamMark(kind=kind, stream=self._stream, **place, **said)
        self._sequence += 1
        record_of(mark, self._name, self._lines + 1)
        return mark

    def _stamped(self, event: Event | Mapping[str, object], number: int) -> dict[str, object]:
        fields = fields_given(event, self._name, self._lines + 1)
        if fields.get("sequence") is not None:
            self._refuse("sequence", "the writer numbers the events", "leave it out")
        if fields.get("stream") not in (None, "", self._stream):
            reason = f"{shown(fields['stream'])} is not the stream of this trace"
            self._refuse("stream", reason, "leave it out, or write another trace")
        stamp: dict[str, object] = {"stream": self._stream, "sequence": number}
        if self._clock is not None and fields.get("time_ns") is None:
            stamp["time_ns"] = self._clock()
        if self._timed and (fields | stamp).get("time_ns") is None:
            self._refuse("time_ns", "a rank states the time of each event", "give a clock")
        return fields | stamp

    def _put(self, line: Event | StreamMark) -> None:
        """Have a whole line in the file, or nothing of it."""
        whole = EVENT_ENCODER.encode(line) + b"\n"
        rest = memoryview(whole)
        try:
            while rest:
                taken = self._file.write(rest)
                if not taken:
                    raise OSError(f"{self._name}: the file accepts no more data")
                rest = rest[taken:]
        except BaseException:
            self._take_back(whole)
            raise
        self._size += len(whole)
        self._lines += 1

    def _take_back(self, line: bytes) -> None:
        """Leave the whole lines; where that cannot be, write no more after a part of one."""
        self._over = "interrupted: an earlier line was written in part"
        if self._own:
            self._file.seek(self._size)
            written = self._file.read(len(line) + 1)
            if line.startswith(written):  # nothing else wrote there
                self._file.truncate(self._size)
                self._over = ""

    def _require_open(self) -> None:
        if self._over:
            raise SpecError(f"the trace {self._name} is {self._over}", "open another trace")

    def _refuse(self, field: str, reason: str, hint: str) -> NoReturn:
        raise InputError(self._name, reason, line=self._lines + 1, field=field, hint=hint)


def _path_of(to: object) -> str | None:
    """The path that is given; None where a file is. Raises SpecError for anything else."""
    expected = "a path, or a file open for writing bytes"
    if isinstance(to, str | os.PathLike):
        path = os.fspath(to)
        require(path, str, "the path of a trace", expected)
        return str(path)
    if isinstance(to, type | io.TextIOBase) or not callable(getattr(to, "write", None)):
        raise SpecError(f"a trace cannot be written to what is of type {type_name(to)}", expected)
    return None


def _opened(path: str) -> BinaryIO:
    try:
        return open_new(path)
    except ValueError as error:  # such as a NUL in the path
        raise InputError(path, f"cannot be made: {error}", hint="give another path") from None
