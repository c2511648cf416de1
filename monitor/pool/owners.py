"""Keeps the claims that hold each block, in short where a block is of one claim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.evaluate.positions import Placed, alike

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

__all__ = ["Owners"]

_TOGETHER: Final = 64  # blocks of one run: one of them is sought among these
_SPARE: Final = 1_024  # places of the list that may be empty, besides as many as are not


class Owners:
    """The ids of the claims that hold each block, each with its positions.

    Blocks that one event gave to one claim, one for each position, have one record in common: it is
    in a list at the number of each of them, or in a dictionary where the list would be mostly
    empty. A block leaves it for a dictionary of its own once it is asked for as one.
    """

    def __init__(self) -> None:
        self._runs: list[Placed | None] = []
        self._far: dict[int, Placed] = {}  # of blocks whose numbers are not below its length
        self._number = 0  # of the blocks in both
        self._several: dict[int, dict[str, set[int]]] = {}

    def __len__(self) -> int:
        """Blocks of which an owner is known."""
        return self._number + len(self._several)

    def place(self, claim_id: str, blocks: Sequence[int], positions: tuple[int, ...]) -> Placed:
        """These blocks, which are free, are a claim's, one at each position; the record that
        says so.
        """
        placed = Placed(claim_id, tuple(blocks), positions)
        if len(blocks) <= _TOGETHER:
            self._put(blocks, placed)
            return placed
        for at in range(0, len(blocks), _TOGETHER):
            some = tuple(blocks[at : at + _TOGETHER])
            self._put(some, Placed(claim_id, some, alike(positions[at : at + _TOGETHER])))
        return placed

    def _put(self, blocks: Sequence[int], placed: Placed) -> None:
        runs = self._runs
        size = len(runs)
        self._number += len(blocks)
        for block in blocks:
            if block >= size:
                self._reach(block)
                size = len(runs)
            if block < size:
                runs[block] = placed
            else:
                self._far[block] = placed

    def _reach(self, block: int) -> None:
        """Make the list long enough for a block, if it is not mostly empty then.

        It grows by a share of its length: each time, all far blocks are looked through.
        """
        runs, far = self._runs, self._far
        if block < 2 * self._number + _SPARE:
            size = max(block + 1, self._number + _SPARE, len(runs) + len(runs) // 4)
            runs.extend([None] * (size - len(runs)))
            for near in [each for each in far if each < size] if far else ():
                runs[near] = far.pop(near)

    def _take(self, block: int) -> Placed | None:
        """The record of a block, which it leaves."""
        runs = self._runs
        if block < len(runs):
            run, runs[block] = runs[block], None
        else:
            run = self._far.pop(block, None)
        self._number -= run is not None
        return run

    def _of(self, block: int) -> Placed | None:
        """The record of a block, if it has one."""
        runs = self._runs
        return runs[block] if block < len(runs) else self._far.get(block)

    def are_free(self, blocks: Sequence[int]) -> bool:
        """Whether nothing is known of an owner of these blocks."""
        runs = self._runs
        size = len(runs)
        for block in blocks:
            if block < size:
                if runs[block] is not None:
                    return False
            elif block in self._far:
                return False
        return not self._several or self._several.keys().isdisjoint(blocks)

    def names(self, block: int) -> Collection[str]:
        """The claims that hold a block."""
        run = self._of(block)
        return self._several.get(block, ()) if run is None else (run.claim_id,)

    def sole(self, block: int) -> tuple[str, int] | None:
        """The one claim of a block and its one position; None where there is not one."""
        if (run := self._of(block)) is not None:
            return run.claim_id, run.position(block)
        holders = self._several.get(block, {})
        if len(holders) != 1:
            return None
        ((name, positions),) = holders.items()
        if len(positions) != 1:
            return None
        (position,) = positions
        return name, position

    def run(self, blocks: Sequence[int]) -> Placed | None:
        """The record of these blocks, if one event gave them, and no others, to one claim; None
        where that is not so, or any of them is asked for as one since.
        """
        runs = self._runs
        size, first = len(runs), blocks[0]
        run = runs[first] if first < size else self._far.get(first)
        if run is None or run.blocks != blocks:
            return None
        for block in blocks:
            if (runs[block] if block < size else self._far.get(block)) is not run:
                return None
        return run

    def get(self, block: int) -> dict[str, set[int]] | None:
        """The claims that hold a block, to be changed; None where nothing is known of one."""
        if (run := self._take(block)) is not None:
            self._several[block] = {run.claim_id: {run.position(block)}}
        return self._several.get(block)

    def of(self, block: int) -> dict[str, set[int]]:
        """The same; where nothing is known, none from now on."""
        found = self.get(block)
        return self._several.setdefault(block, {}) if found is None else found

    def pop(self, block: int) -> dict[str, set[int]]:
        """The claims that held a block; nothing is known of one any more."""
        self.get(block)
        return self._several.pop(block, {})

    def drop(self, block: int) -> None:
        """Nothing is known of an owner any more."""
        self._take(block)
        self._several.pop(block, None)

    def drop_run(self, blocks: Sequence[int]) -> None:
        """The same of the blocks of one `run`."""
        runs = self._runs
        size = len(runs)
        self._number -= len(blocks)
        for block in blocks:
            if block < size:
                runs[block] = None
            else:
                del self._far[block]

    def clear(self) -> None:
        """Nothing is known of any."""
        self._runs.clear()
        self._far.clear()
        self._several.clear()
        self._number = 0
