"""Reads records from trace files, with an account of each file."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from monitor.input.dialects import Reader
from monitor.input.errors import InputError
from monitor.input.lines import Lines
from monitor.input.logs import PLAIN
from monitor.input.plain import event_of, plain_record
from monitor.input.records import CANONICAL, Account
from monitor.input.resequencer import Resequencer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from monitor.input.logs import Extraction
    from monitor.input.records import Record
    from monitor.input.reorder_window import Window

__all__ = ["Numbers", "Source"]


class Source:
    """The records of trace files in the order given; `accounts` grows while they are read.

    A path given twice is read once: the same lines are no second evidence. Iterate once: standard
    input cannot be read twice.

    Args:
        paths: `-` is standard input; gzip, xz, zstd and msgpack are recognised by their content.
        lenient: skip and count the lines that cannot be read, instead of raising for the first.
        window: put the lines of each stream into the order of their numbers, as far as this
            reaches. A line that cannot be read may be any of those that are missing: what is held
            back is given up before it is rejected.
        stdin: what `-` stands for, by default the standard input of the process.
        on_reject: called for each line that is skipped, where it stands among the records.
        how: how lines of events are taken out of a log. Where other lines are skipped, every stream
            has sequence numbers.
        reader_of: makes the reader of a file.
    """

    def __init__(
        self,
        paths: Sequence[str],
        *,
        lenient: bool = False,
        window: Window | None = None,
        stdin: BinaryIO | None = None,
        on_reject: Callable[[InputError], None] | None = None,
        how: Extraction = PLAIN,
        reader_of: Callable[[str], Reader] = Reader,
    ) -> None:
        self.accounts: list[Account] = []
        self._how, self._reader_of = how, reader_of
        self._paths = tuple(dict.fromkeys(paths))
        self._lenient, self._window = lenient, window
        self._stdin, self._on_reject = stdin, on_reject
        self._done = 0
        self._lines: Lines | None = None

    def __iter__(self) -> Iterator[Record]:
        """The records, an `Event` in each that has one.

        Raises:
            InputError: a file or a line cannot be read; with `lenient`, only a file.
        """
        for path in self._paths:
            account = Account(path)
            self.accounts.append(account)
            yield from self._file(account)

    @property
    def size(self) -> int:
        """Bytes read so far, in all files, as they lie on disk."""
        return self._done + (self._lines.size if self._lines else 0)

    def _file(self, account: Account) -> Iterator[Record]:
        lines = self._lines = Lines(account.file, stdin=self._stdin, how=self._how)
        numbers = Numbers() if self._how.skip else None
        reader = self._reader_of(account.file)
        order = None if self._window is None else Resequencer(self._window)
        for number, content in lines:
            account.lines += 1
            try:
                records = self._read(reader, number, content)
            except InputError as error:
                if not self._lenient:
                    raise
                if order is not None:
                    yield from order.flush()
                account.reject(error)
                if self._on_reject is not None:
                    self._on_reject(error)
                continue
            if numbers is not None:
                numbers.check(records, account.file)
            yield from records if order is None else order.take_all(records)
        account.sha256 = lines.sha256
        self._done, self._lines = self.size, None
        records = reader.flush()
        if numbers is not None:
            numbers.check(records, account.file)
        yield from records if order is None else order.take_all(records)
        account.form = "; ".join(filter(None, (reader.says, lines.says)))
        if order is not None:
            yield from order.flush()
            account.disorder = order.disorder

    def _read(self, reader: Reader, number: int, content: bytes | InputError) -> Sequence[Record]:
        """The records that are complete with a line; raises InputError where it is refused."""
        if isinstance(content, InputError):
            raise content
        if reader.is_canonical and (event := event_of(content)) is not None:
            return (plain_record(event, reader.file, number),)
        return reader.feed(content, number)


class Numbers:
    """Checks that the streams of one source have sequence numbers.

    Without them a skipped event would not be missed.
    """

    def __init__(self) -> None:
        self._known: set[str] = set()

    def check(self, records: Iterable[Record], file: str) -> None:
        """Raise InputError if a record shows that its stream has none."""
        for record in records:
            stamp = record.stamp
            may_lack = stamp.stream in self._known and stamp.form is not CANONICAL
            if stamp.form.skips or (stamp.sequence is None and not may_lack):
                reason = "the stream has no sequence numbers: a skipped event would not be missed"
                hint = "leave out --others skip, and give the lines of events alone"
                raise InputError(file, reason, line=record.at.line, hint=hint)
            self._known.add(stamp.stream)
