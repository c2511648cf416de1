"""Tracks the logical positions that a claim holds, in blocks with and without ids."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

__all__ = ["Placed", "Positions", "alike"]

_NONE: Final[frozenset[int]] = frozenset()
_SHORT: Final = 64  # positions of an event that many claims may have in common
_FEW: Final = 8  # events that placed blocks, which are kept as they are


_Runs: TypeAlias = "tuple[int, ...]"
"""A set of positions as runs that lie apart, whatever their length: the begin of each, and its end,
which is exclusive, all in order. A position is in a run if an odd number of these is not above it.
"""


def alike(positions: Sequence[int]) -> tuple[int, ...]:
    """These positions as a tuple: one for all that are equal, as far as that is likely."""
    return _alike(tuple(positions)) if len(positions) <= _SHORT else tuple(positions)


@lru_cache(maxsize=1024)
def _alike(positions: tuple[int, ...]) -> tuple[int, ...]:
    return positions


@lru_cache(maxsize=1024)
def _run(begin: int, end: int) -> _Runs:
    """The positions from one to before another: one for all claims that hold the same."""
    return begin, end


def _with(runs: _Runs, begin: int, end: int) -> _Runs:
    """The positions, and those from one to before another."""
    first, last = bisect_left(runs, begin), bisect_right(runs, end)
    new = (begin, end) if not last & 1 else (begin,)
    return runs[:first] + (new[1:] if first & 1 else new) + runs[last:]


def _without(runs: _Runs, begin: int, end: int) -> _Runs:
    """The positions but for those from one to before another."""
    first, last = bisect_left(runs, begin), bisect_right(runs, end)
    left = (begin,) if first & 1 else ()
    return runs[:first] + ((*left, end) if last & 1 else left) + runs[last:]


def _size(runs: _Runs) -> int:
    """How many positions there are."""
    return sum(runs[1::2]) - sum(runs[::2])


def _pairs(runs: _Runs) -> list[tuple[int, int]]:
    """The begin and the end of each run."""
    return list(zip(runs[::2], runs[1::2], strict=True))


def _end(runs: _Runs, position: int) -> int | None:
    """The end of the run that covers the position; None where none does."""
    place = bisect_right(runs, position)
    return runs[place] if place & 1 else None


class Placed:
    """Blocks that one event gave to one claim, and the one position of each.

    What the claim holds and what is known of the owners of blocks have it in common.
    """

    __slots__ = ("blocks", "claim_id", "positions")

    def __init__(self, claim_id: str, blocks: tuple[int, ...], positions: tuple[int, ...]) -> None:
        self.claim_id, self.blocks, self.positions = claim_id, blocks, positions

    @property
    def first(self) -> int:
        """The first of the positions."""
        first = self.positions[0]
        for position in self.positions:
            if position < first:
                first = position
        return first

    def position(self, block: int) -> int:
        """Where one of the blocks is."""
        return self.positions[self.blocks.index(block)]


class Positions:
    """The logical positions that a claim holds, in blocks with or without known ids.

    `fresh` are those of single blocks that are new since they were last taken; None where they are
    not followed.
    """

    __slots__ = ("_held", "_placed", "_several", "_unnamed", "fresh", "start")

    def __init__(self, start: int = 0) -> None:
        self.start = start
        self.fresh: set[int] | None = None
        # By events, one or more; then all of it, once any is asked for or changes.
        self._placed: Placed | tuple[Placed, ...] | None = None
        self._several: dict[int, set[int]] | None = None
        self._unnamed: _Runs = ()
        self._held: _Runs = ()

    @property
    def _named(self) -> dict[int, set[int]]:
        """The blocks with ids that hold each position."""
        if self._several is None:
            named: dict[int, set[int]] = {}
            for run in self._runs:
                named.update((p, {b}) for p, b in zip(run.positions, run.blocks, strict=True))
            self._several, self._placed = named, None
        return self._several

    @property
    def _runs(self) -> tuple[Placed, ...]:
        """What is `_placed`, the first one first."""
        placed = self._placed
        if placed is None:
            return ()
        return placed if isinstance(placed, tuple) else (placed,)

    def _add(self, run: Placed) -> None:
        """Blocks with ids are held at positions at which none was."""
        if self._several is None and len(self._runs) < _FEW:
            self._placed = (*self._runs, run) if self._placed is not None else run
        else:
            each = zip(run.positions, run.blocks, strict=True)
            self._named.update((position, {block}) for position, block in each)

    @property
    def lead(self) -> int:
        """Positions held one after another from `start` on."""
        held, start = self._held, self.start
        if len(held) == 2 and held[0] == start:
            return held[1] - start
        return (_end(held, start) or start) - start

    @property
    def end(self) -> int | None:
        """Where the positions end that are held, all one after another from `start` on; None where
        others are held, too.
        """
        held, start = self._held, self.start
        if not held:
            return start
        return held[1] if len(held) == 2 and held[0] == start else None

    def __bool__(self) -> bool:
        return bool(self._held)

    @property
    def unnamed(self) -> bool:
        """Whether any position is held in a block without a known id."""
        return bool(self._unnamed)

    @property
    def sole(self) -> bool:
        """Whether no position that a named block holds is held in one without a known id, too."""
        return all(_end(self._unnamed, position) is None for position in self._named)

    @property
    def blocks(self) -> set[int]:
        """The blocks that were named."""
        return set().union(*self._named.values())

    @property
    def count(self) -> int:
        """How many positions are held in blocks that were named."""
        if self._several is None:
            return sum(len(run.blocks) for run in self._runs)
        return len(self._several)

    @property
    def total(self) -> int:
        """In how many blocks positions are held; a block counts for each of them."""
        if self._several is None:
            return self.count + _size(self._unnamed)
        return sum(map(len, self._several.values())) + _size(self._unnamed)

    @property
    def placed(self) -> int:
        """Positions from 0 on that are all held in blocks that were named."""
        return 0 if self._unnamed else _end(self._held, 0) or 0

    def places(self, before: int) -> Iterator[tuple[int, int]]:
        """The positions before this one that are held in named blocks, each with one of them."""
        return ((p, min(blocks)) for p, blocks in self._named.items() if p < before)

    def at(self, position: int) -> set[int]:
        """The named blocks that hold the position."""
        return self._named.get(position, set())

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Each position that is held in a named block, with each of them."""
        return ((p, block) for p, blocks in self._named.items() for block in blocks)

    def by_position(self) -> dict[int, frozenset[int]]:
        """The positions that are held in named blocks, with these."""
        return {position: frozenset(blocks) for position, blocks in self._named.items()}

    def runs(self) -> list[tuple[int, int]]:
        """The positions that are held in blocks without known ids, from each to before each."""
        return _pairs(self._unnamed)

    def all_runs(self) -> list[tuple[int, int]]:
        """The positions that are held, from each to before each."""
        return _pairs(self._held)

    def take_fresh(self) -> AbstractSet[int]:
        """The positions that are new, which are so no more."""
        if not (fresh := self.fresh):
            return _NONE
        self.fresh = set()
        return fresh

    def unnamed_at(self, position: int) -> bool:
        """Whether the position is held in a block without a known id."""
        return bool(bisect_right(self._unnamed, position) & 1)

    def covers(self, begin: int, end: int) -> bool:
        """Whether blocks without known ids hold all from one position to before another."""
        return begin >= end or (_end(self._unnamed, begin) or begin) >= end

    def holds(self, position: int) -> bool:
        """Whether the position is held."""
        return bool(bisect_right(self._held, position) & 1)

    def hold(self, pairs: Iterable[tuple[int, int]]) -> None:
        """These pairs of a position and a block are held."""
        for position, block in pairs:
            if self.fresh is not None and not self.holds(position):
                self.fresh.add(position)
            self._named.setdefault(position, set()).add(block)
            self._held = _with(self._held, position, position + 1)

    def place(self, run: Placed) -> None:
        """These positions, of which none is held, are held in these blocks, one for each."""
        positions = run.positions
        if self.fresh is not None:
            self.fresh.update(positions)
        self._add(run)
        first, last = positions[0], positions[-1]
        if last - first == len(positions) - 1 == max(positions) - min(positions):
            held = self._held
            self._held = _with(held, first, last + 1) if held else _run(first, last + 1)
        else:
            for position in positions:
                self._held = _with(self._held, position, position + 1)

    def extend(self, run: Placed, end: int, *, fresh: bool) -> None:
        """These positions, from the end of all that is held on, are held in these blocks, one for
        each.

        Args:
            end: where what is held ends.
            fresh: they are fresh, where that is followed; if not, nothing is from now on.
        """
        if self.fresh is not None:
            if fresh:
                self.fresh.update(run.positions)
            elif self.fresh:
                self.fresh = set()
        if self._placed is None and self._several is None:
            self._placed = run
        else:
            self._add(run)
        self._held = _run(self.start, end + len(run.blocks))

    def take(self, position: int, block: int) -> bool:
        """A named block is gone that held a position; whether nothing holds it any more."""
        named = self._named
        holders = named.get(position)
        if holders is not None:
            holders.discard(block)
            if holders:
                return False
            del named[position]
        self._several = named or None
        if self._unnamed and self.unnamed_at(position):
            return False
        self._held = _without(self._held, position, position + 1)
        return True

    def are_all(self, run: Placed) -> bool:
        """Whether this is all that is held."""
        return self._placed is run and not self._unnamed

    def hold_run(self, begin: int, end: int) -> None:
        """The positions from `begin` to before `end` are held, in blocks without known ids."""
        if self.fresh is not None and begin + 1 == end and not self.holds(begin):
            self.fresh.add(begin)
        if begin < end:
            self._unnamed = _with(self._unnamed, begin, end)
            self._held = _with(self._held, begin, end)

    def drop(self, pairs: Iterable[tuple[int, int]]) -> None:
        """These pairs of a position and a named block are gone."""
        for position, block in pairs:
            holders = self._named.get(position, set())
            holders.discard(block)
            if not holders:
                self._named.pop(position, None)
            self._lose(position)
        self._several = self._several or None

    def drop_unnamed(self, begin: int, end: int | None = None) -> bool:
        """The unnamed blocks from one position to before another, or at one, are gone; whether
        nothing else holds one of these.
        """
        end = begin + 1 if end is None else end
        if begin >= end:
            return False
        self._unnamed = _without(self._unnamed, begin, end)
        named = [position for position in self._named if begin <= position < end]
        held, self._held = self._held, _without(self._held, begin, end)
        lost = _size(held) - _size(self._held)
        for position in named:
            self._held = _with(self._held, position, position + 1)
        return lost > len(named)

    def clear(self) -> None:
        """Nothing is held any more."""
        self._placed = self._several = None
        self._unnamed = self._held = ()

    def _lose(self, position: int) -> None:
        if position not in self._named and not self.unnamed_at(position):
            self._held = _without(self._held, position, position + 1)
