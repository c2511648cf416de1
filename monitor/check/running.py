"""Reads records and judges them, to the end or to where a judge is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Protocol

from monitor.durable.collector import seldom
from monitor.input.batches import Batch
from monitor.input.errors import InputError
from monitor.input.merged import Merged, apart_in, engines_in
from monitor.input.reordered import Reordered
from monitor.input.sources import read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from monitor.check.judging import Judging
    from monitor.input.records import Record
    from monitor.input.reorder_window import Window
    from monitor.input.sources import Account
    from spec.claims.claim import Mode

__all__ = ["Records", "run", "source_of"]


class Records(Protocol):
    """Records that are read once, as `Source` reads them from files."""

    @property
    def accounts(self) -> list[Account]:
        """What was read of each file."""

    @property
    def size(self) -> int:
        """Bytes read so far."""

    def __iter__(self) -> Iterator[Record]:
        """The records; raises InputError."""

    def batches(self) -> Iterator[Batch | Record]:
        """Canonical events many at a time, and records; raises InputError."""


_EVERY = 4096  # records between two calls of `progress`


def source_of(
    judging: Judging,
    paths: Sequence[str],
    lenient: bool,
    stdin: BinaryIO | None,
    window: Window | None,
) -> Records:
    """The records of files for a judging, as `check` has the arguments."""
    reject = judging.reject
    engines, apart = engines_in(paths), apart_in(paths)
    if engines and window is not None:
        hint = "leave out --reorder: ranks are put into order by their times"
        raise InputError(engines[0][0].path, "it is a rank of an engine", hint=hint)
    if engines or (apart and window is None):
        return Merged(paths, engines, apart, lenient=lenient, stdin=stdin, on_reject=reject)
    if window is None:
        return read(paths, lenient=lenient, stdin=stdin, on_reject=reject)
    return Reordered(paths, window, lenient=lenient, stdin=stdin, on_reject=reject)


@seldom()
def run(judging: Judging, source: Records, progress: Callable[[int], None] | None) -> Mode | None:
    """Read to the end, or to where a claim states a mode whose judge has to read from the start, or
    the modes have to be judged apart.
    """
    for number, found in enumerate(source.batches()):
        if progress is not None and (isinstance(found, Batch) or number % _EVERY == 0):
            progress(source.size)
        more = judging.take_batch(found) if isinstance(found, Batch) else judging.take(found)
        if more is not None or judging.apart:
            return more
    if progress is not None:
        progress(source.size)
    return None
