"""Reads the files of an engine's ranks as one stream, in the order of the time that all state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from monitor.input.dialects.canonical import MOST_RANKS
from monitor.input.errors import InputError
from monitor.input.lines import STDIN, Lines
from monitor.input.rank_lines import fault_of
from monitor.input.rank_merge import RankMerge
from monitor.input.resequencer import Disorder
from monitor.input.sources import Source, read
from spec.events.canonical import Mark, StreamMark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import BinaryIO

    from monitor.input.records import Record
    from monitor.input.sources import Account

__all__ = ["HINT", "Engines", "Merged", "Rank", "engines_in", "explained"]

_HELD: Final = 1_000
"""Lines that may be held back: more than the few of each rank, which is read as it is needed."""

HINT: Final = "the file of a rank has nothing but its own lines, and time_ns on each event"


class Rank(NamedTuple):
    """A file that begins with the mark of one rank; what it observes is None where that is all."""

    rank: int
    ranks: int
    engine: str
    path: str
    observes: frozenset[str] | None
    stream: str


class Engines(NamedTuple):
    """The ranks among some files: those of whole engines, which are merged, each once; and the
    files of others, with why they are not.
    """

    merged: list[tuple[Rank, ...]]
    apart: dict[str, str]

    def __bool__(self) -> bool:
        return bool(self.merged or self.apart)


def engines_in(paths: Sequence[str]) -> Engines:
    """The ranks among some files, of which the first lines are read. Of one file none is read: it
    says itself that it is a rank, and is no whole engine.
    """
    found = Engines([], {})
    if len({*paths}) == 1:
        return found
    for ranks in _by_engine(paths):
        if why := _problem(ranks):
            found.apart.update((each.path, f"{_says(each)}, and {why}") for each in ranks)
        else:
            found.merged.append(ranks)
    return found


def _by_engine(paths: Sequence[str]) -> list[tuple[Rank, ...]]:
    found: dict[str, list[Rank]] = {}
    for path in dict.fromkeys(paths):
        if (rank := _rank_of(path)) is not None:
            found.setdefault(rank.engine, []).append(rank)
    return [tuple(sorted(ranks, key=lambda each: each.rank)) for ranks in found.values()]


def _problem(ranks: Sequence[Rank]) -> str:
    """Why the files of one engine are not merged; empty where they are."""
    first, numbers = ranks[0], [each.rank for each in ranks]
    if other := next((each for each in ranks if each.ranks != first.ranks), None):
        one = f"line 1 of {first.path} states {first.ranks} ranks, line 1 of {other.path}"
        return f"{one} {other.ranks}: all ranks of an engine state one number"
    if twice := next((each for n, each in enumerate(ranks) if each.rank in numbers[:n]), None):
        both = " and ".join(f"line 1 of {e.path}" for e in ranks if e.rank == twice.rank)
        what = f"{both} are all rank {twice.rank}"
        return f"{what}: number the ranks from 0 to {first.ranks - 1}, each once"
    if gone := [str(rank) for rank in range(first.ranks) if rank not in numbers]:
        which = f"rank {gone[0]}" if len(gone) == 1 else f"ranks {', '.join(gone)}"
        return f"no file of {which} is checked: name those of all ranks, or follow what they share"
    return ""


def _says(rank: Rank) -> str:
    return f"line 1 of {rank.path} is rank {rank.rank} of {rank.ranks} of {rank.engine}"


def _rank_of(path: str) -> Rank | None:
    """Which rank the first line of a file says that it is, if any."""
    if path == STDIN:
        return None
    lines = Lines(path).blocks()
    try:
        block = next(lines, b"")
        first = block.splitlines()[0] if isinstance(block, bytes) and block else b""
        mark = msgspec.json.decode(first, type=StreamMark)
    except (InputError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None  # whoever reads the file finds what is wrong
    finally:
        lines.close()  # type: ignore[attr-defined]
    opens = mark.kind is Mark.STREAM_OPENED and mark.sequence in (None, 0)
    rank, ranks = mark.rank, mark.ranks or 0
    if not opens or rank is None or not rank < ranks <= MOST_RANKS or ranks == 1:
        return None
    observes = None if mark.observes is None else frozenset(mark.observes)
    engine = mark.engine or mark.stream
    return Rank(rank, ranks, engine, path, observes, mark.stream)


def explained(record: Record, apart: Mapping[str, str]) -> Record:
    """The record, with what is known of why nothing is concluded from its rank by itself.

    Args:
        apart: why the rank of a file is not merged with others, as `Engines` has it.
    """
    stamp, file = record.stamp, record.at.file
    if not stamp.alone or stamp.rank is None:
        return record
    rank = Rank(stamp.rank, stamp.ranks, stamp.engine, file, None, stamp.stream)
    why = apart.get(file) or f"{_says(rank)}, and {_problem([rank])}"
    stamp = msgspec.structs.replace(stamp, alone=why)
    return msgspec.structs.replace(record, stamp=stamp)


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
    ) -> None:
        self._engines = {ranks[0].path: ranks for ranks in engines.merged}
        others = {each.path for ranks in engines.merged for each in ranks[1:]}
        self._paths = [path for path in dict.fromkeys(paths) if path not in others]
        self._apart = engines.apart
        self._lenient, self._stdin, self._on_reject = lenient, stdin, on_reject
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
        source = read([path], lenient=self._lenient, stdin=self._stdin, on_reject=on_reject)
        self._sources.append(source)
        return source

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
            merge.lose(of.rank, f"line {error.line} of rank {of.rank} could not be read")
            if self._on_reject is not None:
                self._on_reject(error)

        source = self._source(of.path, reject)
        for record in source:
            if fault := _fault(record, of):
                error = InputError(of.path, fault, line=record.at.line, hint=HINT)
                if not self._lenient:
                    raise error
                (account,) = source.accounts
                account.rejected += 1
                account.rejection = account.rejection or error
                reject(error)
            else:
                yield record


def _fault(record: Record, of: Rank) -> str:
    """What a line of a file of a rank lacks; empty where it is as it should be."""
    if record.stamp.stream != of.stream:
        return f"the line is of another stream than rank {of.rank} of {of.engine}"
    return fault_of(record, of.rank)
