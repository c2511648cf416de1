"""Reads records from trace files, with an account of each file."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from monitor.input.dialects import Reader
from monitor.input.errors import InputError
from monitor.input.lines import Lines
from monitor.input.plain import event_of, plain_record
from monitor.input.records import Account

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from monitor.input.records import Record

__all__ = ["Source", "read"]


class Source:
    """The records of some files in the order given; `accounts` grows while they are read.

    `text` counts the bytes of the lines that became records. Iterate once: standard
    input cannot be read twice.
    """

    def __init__(
        self,
        paths: Sequence[str],
        *,
        lenient: bool = False,
        stdin: BinaryIO | None = None,
        on_reject: Callable[[InputError], None] | None = None,
    ) -> None:
        self.accounts: list[Account] = []
        self.text = 0
        self._paths = tuple(dict.fromkeys(paths))
        self._lenient = lenient
        self._stdin = stdin
        self._on_reject = on_reject
        self._done = 0
        self._lines: Lines | None = None

    def __iter__(self) -> Iterator[Record]:
        """The records, an `Event` in each that has one.

        Raises:
            InputError: a file or a line cannot be read; with `lenient`, only a file.
        """
        for account in self._accounts():
            yield from self._file(account)

    def _accounts(self) -> Iterator[Account]:
        for path in self._paths:
            account = Account(path)
            self.accounts.append(account)
            yield account

    @property
    def size(self) -> int:
        """Bytes read so far, in all files, as they lie on disk."""
        return self._done + (self._lines.size if self._lines else 0)

    def _file(self, account: Account) -> Iterator[Record]:
        lines = self._lines = Lines(account.file, stdin=self._stdin)
        reader = Reader(account.file)
        for number, content in lines:
            yield from self._record(account, reader, number, content)
        account.sha256 = lines.sha256
        self._done, self._lines = self.size, None
        yield from reader.flush()

    def _record(
        self, account: Account, reader: Reader, number: int, content: bytes | InputError
    ) -> Iterable[Record]:
        """The records that are complete with a line; none where it is refused and counted."""
        account.lines += 1
        self.text += len(content) if isinstance(content, bytes) else 0
        try:
            if isinstance(content, InputError):
                raise content
            if reader.is_canonical and (event := event_of(content)) is not None:
                return (plain_record(event, account.file, number),)
            return reader.feed(content, number)
        except InputError as error:
            if not self._lenient:
                raise
            account.rejected += 1
            account.rejection = account.rejection or error
            if self._on_reject is not None:
                self._on_reject(error)
            return ()


def read(
    paths: Sequence[str],
    *,
    lenient: bool = False,
    stdin: BinaryIO | None = None,
    on_reject: Callable[[InputError], None] | None = None,
) -> Source:
    """The records of trace files; `-` is standard input, gzip is recognised by its content.

    A path given twice is read once: the same lines are no second evidence.

    Args:
        lenient: skip and count the lines that cannot be read, instead of raising for the first.
        stdin: what `-` stands for, by default the standard input of the process.
        on_reject: called for each line that is skipped, where it stands among the records.
    """
    return Source(paths, lenient=lenient, stdin=stdin, on_reject=on_reject)
