"""Tracks the logical positions that a claim holds, in blocks with and without ids."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["Positions"]

_FEW = 8  # events that placed blocks, which are kept as they are


@dataclass(slots=True)
class _Runs:
    """A set of positions, kept as runs that lie apart, whatever their length."""

    _begins: tuple[int, ...] = ()
    _ends: tuple[int, ...] = ()  # exclusive

    def __bool__(self) -> bool:
        return bool(self._begins)

    def add(self, begin: int, end: int) -> None:
        first, last = bisect_left(self._ends, begin), bisect_right(self._begins, end)
        begin, end = min([begin, *self._begins[first:last]]), max([end, *self._ends[first:last]])
        self._put(first, last, (begin,), (end,))

    def remove(self, begin: int, end: int) -> int:
        """Take positions out, from one to before another; how many there were."""
        first, last = bisect_right(self._ends, begin), bisect_left(self._begins, end)
        if begin >= end or first >= last:
            return 0
        low, high = self._begins[first], self._ends[last - 1]
        runs = zip(self._begins[first:last], self._ends[first:last], strict=True)
        taken = sum(min(e, end) - max(b, begin) for b, e in runs)
        left = [(b, e) for b, e in ((low, begin), (end, high)) if b < e]
        self._put(first, last, (b for b, _ in left), (e for _, e in left))
        return taken

    def _put(self, first: int, last: int, begins: Iterable[int], ends: Iterable[int]) -> None:
        self._begins = (*self._begins[:first], *begins, *self._begins[last:])
        self._ends = (*self._ends[:first], *ends, *self._ends[last:])

    def end(self, position: int) -> int | None:
        """The end of the run that covers the position; None where none does."""
        run = bisect_right(self._begins, position) - 1
        return self._ends[run] if run >= 0 and position < self._ends[run] else None

    def __iter__(self) -> Iterator[tuple[int, int]]:
        yield from zip(self._begins, self._ends, strict=True)

    def clear(self) -> None:
        self._begins = self._ends = ()


@dataclass(slots=True)
class Positions:
    """The logical positions that a claim holds, in blocks with or without known ids.

    `fresh` are those of single blocks that are new since they were last taken; None where they are
    not followed.
    """

    start: int = 0
    fresh: set[int] | None = None
    _placed: tuple[tuple[Sequence[int], Sequence[int]], ...] = ()  # positions, with a block each
    _several: dict[int, set[int]] | None = None  # all, once any of it is asked for or changes
    _unnamed: _Runs = field(default_factory=_Runs)
    _held: _Runs = field(default_factory=_Runs)

    @property
    def _named(self) -> dict[int, set[int]]:
        """The blocks with ids that hold each position."""
        if self._several is None:
            each = (pair for run in self._placed for pair in zip(*run, strict=True))
            self._several, self._placed = {position: {block} for position, block in each}, ()
        return self._several

    @property
    def lead(self) -> int:
        """Positions held one after another from `start` on."""
        return (self._held.end(self.start) or self.start) - self.start

    def __bool__(self) -> bool:
        return bool(self._held)

    @property
    def unnamed(self) -> bool:
        """Whether any position is held in a block without a known id."""
        return bool(self._unnamed)

    @property
    def sole(self) -> bool:
        """Whether no position that a named block holds is held in one without a known id, too."""
        return all(self._unnamed.end(position) is None for position in self._named)

    @property
    def blocks(self) -> set[int]:
        """The blocks that were named."""
        return set().union(*self._named.values())

    @property
    def count(self) -> int:
        """How many positions are held in blocks that were named."""
        if self._several is None:
            return sum(len(positions) for positions, _ in self._placed)
        return len(self._several)

    @property
    def placed(self) -> int:
        """Positions from 0 on that are all held in blocks that were named."""
        return 0 if self._unnamed else self._held.end(0) or 0

    def places(self, before: int) -> Iterator[tuple[int, int]]:
        """The positions before this one that are held in named blocks, each with one of them."""
        return ((p, min(blocks)) for p, blocks in self._named.items() if p < before)

    def at(self, position: int) -> set[int]:
        """The named blocks that hold the position."""
        return self._named.get(position, set())

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Each position that is held in a named block, with each of them."""
        return ((p, block) for p, blocks in self._named.items() for block in blocks)

    def runs(self) -> list[tuple[int, int]]:
        """The positions that are held in blocks without known ids, from each to before each."""
        return list(self._unnamed)

    def all_runs(self) -> list[tuple[int, int]]:
        """The positions that are held, from each to before each."""
        return list(self._held)

    def take_fresh(self) -> set[int]:
        """The positions that are new, which are so no more."""
        fresh = self.fresh or set()
        self.fresh = None if self.fresh is None else set()
        return fresh

    def unnamed_at(self, position: int) -> bool:
        """Whether the position is held in a block without a known id."""
        return self._unnamed.end(position) is not None

    def holds(self, position: int) -> bool:
        """Whether the position is held."""
        return self._held.end(position) is not None

    def hold(self, pairs: Iterable[tuple[int, int]]) -> None:
        """These pairs of a position and a block are held."""
        for position, block in pairs:
            if self.fresh is not None and not self.holds(position):
                self.fresh.add(position)
            self._named.setdefault(position, set()).add(block)
            self._held.add(position, position + 1)

    def place(self, positions: Sequence[int], blocks: Sequence[int]) -> None:
        """These positions, of which none is held, are held in these blocks, one for each."""
        if self.fresh is not None:
            self.fresh.update(positions)
        if self._several is None and len(self._placed) < _FEW:
            self._placed = (*self._placed, (tuple(positions), tuple(blocks)))
        else:
            self._named.update((p, {block}) for p, block in zip(positions, blocks, strict=True))
        first, last = positions[0], positions[-1]
        if last - first == len(positions) - 1 == max(positions) - min(positions):
            self._held.add(first, last + 1)
        else:
            for position in positions:
                self._held.add(position, position + 1)

    def take(self, position: int, block: int) -> bool:
        """A named block is gone that held a position; whether nothing holds it any more."""
        self.drop([(position, block)])
        return not self.holds(position)

    def hold_run(self, begin: int, end: int) -> None:
        """The positions from `begin` to before `end` are held, in blocks without known ids."""
        if self.fresh is not None and begin + 1 == end and not self.holds(begin):
            self.fresh.add(begin)
        if begin < end:
            self._unnamed.add(begin, end)
            self._held.add(begin, end)

    def drop(self, pairs: Iterable[tuple[int, int]]) -> None:
        """These pairs of a position and a named block are gone."""
        for position, block in pairs:
            holders = self._named.get(position, set())
            holders.discard(block)
            if not holders:
                self._named.pop(position, None)
            self._lose(position)

    def drop_unnamed(self, begin: int, end: int | None = None) -> bool:
        """The unnamed blocks from one position to before another, or at one, are gone; whether
        nothing else holds one of these.
        """
        end = begin + 1 if end is None else end
        self._unnamed.remove(begin, end)
        named = [position for position in self._named if begin <= position < end]
        lost = self._held.remove(begin, end)
        for position in named:
            self._held.add(position, position + 1)
        return lost > len(named)

    def clear(self) -> None:
        """Nothing is held any more."""
        self._placed, self._several = (), None
        self._unnamed.clear()
        self._held.clear()

    def _lose(self, position: int) -> None:
        if position not in self._named and self._unnamed.end(position) is None:
            self._held.remove(position, position + 1)
