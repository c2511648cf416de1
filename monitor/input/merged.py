"""Reads the files of an engine's ranks as one stream, in the order of the time that all state."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from monitor.input.engines import HINT, explained
from monitor.input.errors import InputError
from monitor.input.logs import PLAIN
from monitor.input.rank_merge import RankMerge, fault_of
from monitor.input.records import Disorder
from monitor.input.sources import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import BinaryIO

    from monitor.input.engines import Engines, Rank
    from monitor.input.logs import Extraction
    from monitor.input.records import Account, Record

__all__ = ["Merged"]

_HELD: Final = 1_000
"""Lines that may be held back: more than the few of each rank, which is read as it is needed."""


class Merged:
    """The records of some files, those of the ranks of each engine as one stream.

    Arguments are those of `read`. Iterate once.

    Args:
        engines: as `engines_in` finds them.
    """

    def __init__(
        self,
        paths: Sequence[str],
        engines: Engines,
        *,
        lenient: bool = False,
        stdin: BinaryIO | None = None,
        on_reject: Callable[[InputError], None] | None = None,
        how: Extraction = PLAIN,
    ) -> None:
        self._open = partial(Source, lenient=lenient, stdin=stdin, how=how)
        self._engines = {ranks[0].path: ranks for ranks in engines.merged}
        others = {each.path for ranks in engines.merged for each in ranks[1:]}
        self._paths = [path for path in dict.fromkeys(paths) if path not in others]
        self._apart = engines.apart
        self._lenient, self._on_reject = lenient, on_reject
        self._sources: list[Source] = []

    @property
    def accounts(self) -> list[Account]:
        """What was read of each file."""
        return [account for source in self._sources for account in source.accounts]

    @property
    def size(self) -> int:
        """Bytes read so far."""
        return sum(source.size for source in self._sources)

    def __iter__(self) -> Iterator[Record]:
        """The records.

        Raises:
            InputError: as `Source` does, and where a line of a rank has no time or is of another
                stream.
        """
        for path in self._paths:
            if (of := self._engines.get(path)) is not None:
                yield from self._merge(of)
            else:
                for record in self._source(path, self._on_reject):
                    yield explained(record, self._apart)

    def _source(self, path: str, on_reject: Callable[[InputError], None] | None) -> Source:
        self._sources.append(self._open([path], on_reject=on_reject))
        return self._sources[-1]

    def _merge(self, ranks: Sequence[Rank]) -> Iterator[Record]:
        """The lines of all ranks in the order of time."""
        merge = RankMerge(ranks[0].engine, ranks[0].path, len(ranks), _HELD)
        reading = {each.rank: self._lines(each, merge) for each in ranks}
        while reading:
            # A rank that is closed may go on with another run, which begins when all are closed.
            alive = [rank for rank in reading if not merge.is_over(rank)]
            for rank in merge.blocking() or alive or [*reading]:
                if rank not in reading:  # another run began without it
                    yield from merge.overtake(rank, "its file is at its end")
                elif (record := next(reading[rank], None)) is not None:
                    yield from merge.take(rank, record)
                else:
                    del reading[rank]
                    yield from merge.end_of(rank)
        yield from merge.end()
        if merge.late:  # behind the end of a rank
            self.accounts[-1].disorder = Disorder(late=merge.late)

    def _lines(self, of: Rank, merge: RankMerge) -> Iterator[Record]:
        """The lines of a rank."""

        def reject(error: InputError) -> None:
            why = f"line {error.line} of rank {of.rank} could not be read"
            merge.lose(of.rank, why, unread=True)
            if self._on_reject is not None:
                self._on_reject(error)

        source = self._source(of.path, reject)
        for record in source:
            if fault := _fault(record, of):
                error = InputError(of.path, fault, line=record.at.line, hint=HINT)
                if not self._lenient:
                    raise error
                (account,) = source.accounts
                account.reject(error)
                reject(error)
            else:
                yield record


def _fault(record: Record, of: Rank) -> str:
    """What a line of a file of a rank lacks; empty where it is as it should be."""
    if record.stamp.stream != of.stream:
        return f"the line is of another stream than rank {of.rank} of {of.engine}"
    return fault_of(record, of.rank)
