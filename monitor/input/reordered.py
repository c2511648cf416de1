"""Reads records from trace files in the order of their sequence numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from monitor.input.resequencer import Resequencer
from monitor.input.sources import read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from monitor.input.errors import InputError
    from monitor.input.records import Account, Record
    from monitor.input.reorder_window import Window

__all__ = ["Reordered"]


class Reordered:
    """The records of some files, put into order within a window.

    Arguments are those of `read`. Iterate once. A line that cannot be read may be any of those that
    are missing: what is held back is given up before it is rejected.
    """

    def __init__(
        self,
        paths: Sequence[str],
        window: Window,
        *,
        lenient: bool = False,
        stdin: BinaryIO | None = None,
        on_reject: Callable[[InputError], None] | None = None,
    ) -> None:
        self._rejected: list[InputError] = []
        self._on_reject = on_reject
        reject = self._rejected.append
        self._source = read(paths, lenient=lenient, stdin=stdin, on_reject=reject)
        self._resequencer = Resequencer(window)

    @property
    def accounts(self) -> list[Account]:
        """What was read of each file."""
        return self._source.accounts

    @property
    def size(self) -> int:
        """Bytes read so far."""
        return self._source.size

    def __iter__(self) -> Iterator[Record]:
        """The records.

        Raises:
            InputError: as `Source` does.
        """
        file = ""
        for record in self._source:
            if record.at.file != file:
                yield from self._resequencer.flush(file)
                file = record.at.file
            yield from self._reject()
            yield from self._resequencer.take(record)
        yield from self._reject()
        yield from self._resequencer.flush()
        for account in self.accounts:
            account.disorder = self._resequencer.disorder(account.file)

    def _reject(self) -> Iterator[Record]:
        """Reject the lines that could not be read since the last record."""
        rejected, self._rejected[:] = list(self._rejected), []
        for error in rejected:
            yield from self._resequencer.flush(error.file)
            if self._on_reject is not None:
                self._on_reject(error)
