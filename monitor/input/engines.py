"""Finds the ranks of engines among some files, by the mark that each begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from monitor.input.errors import InputError
from monitor.input.lines import STDIN, Lines
from monitor.input.logs import PLAIN
from spec.events.canonical import Mark, StreamMark

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from monitor.input.logs import Extraction
    from monitor.input.records import Record

__all__ = ["HINT", "MOST_RANKS", "Engines", "Rank", "engines_in", "explained"]

MOST_RANKS: Final = 64
HINT: Final = "the file of a rank has nothing but its own lines, and time_ns on each event"


class Rank(NamedTuple):
    """A file that begins with the mark of one rank."""

    rank: int
    ranks: int
    engine: str
    path: str
    stream: str


class Engines(NamedTuple):
    """The ranks among some files: those of whole engines, which are merged, each once; and the
    files of others, with why they are not.
    """

    merged: list[list[Rank]]
    apart: dict[str, str]

    def __bool__(self) -> bool:
        return bool(self.merged or self.apart)


def engines_in(paths: Sequence[str], how: Extraction = PLAIN) -> Engines:
    """The ranks among some files, of which the first lines are read. Of one file none is read: it
    says itself that it is a rank, and is no whole engine.

    Args:
        how: how lines of events are taken out of a log.
    """
    found = Engines([], {})
    if len({*paths}) == 1:
        return found
    by_engine: dict[str, list[Rank]] = {}
    for path in dict.fromkeys(paths):
        if (rank := _rank_of(path, how)) is not None:
            by_engine.setdefault(rank.engine, []).append(rank)
    for ranks in by_engine.values():
        ranks.sort(key=lambda each: each.rank)
        if why := _problem(ranks):
            found.apart.update((each.path, f"{_says(each)}, and {why}") for each in ranks)
        else:
            found.merged.append(ranks)
    return found


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


def _rank_of(path: str, how: Extraction) -> Rank | None:
    """Which rank the first line of a file says that it is, if any. That holds for a mark, too, that
    its reader refuses for something else.
    """
    if path == STDIN:
        return None
    lines = Lines(path, how=how).blocks()
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
    return Rank(rank, ranks, mark.engine or mark.stream, path, mark.stream)


def explained(record: Record, apart: Mapping[str, str]) -> Record:
    """The record, with what is known of why nothing is concluded from its rank by itself.

    Args:
        apart: why the rank of a file is not merged with others, as `Engines` has it.
    """
    stamp, file = record.stamp, record.at.file
    if not stamp.alone or stamp.rank is None:
        return record
    rank = Rank(stamp.rank, stamp.ranks, stamp.engine, file, stamp.stream)
    why = apart.get(file) or f"{_says(rank)}, and {_problem([rank])}"
    stamp = replace(stamp, alone=why)
    return replace(record, stamp=stamp)
