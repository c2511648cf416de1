"""Keeps the claims that hold each block, in short where a block is of one claim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.evaluate.positions import Placed, alike

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

__all__ = ["Owners"]

_TOGETHER: Final = 64  # blocks of one run: one of them is sought among these


class Owners:
    """The ids of the claims that hold each block, each with its positions.

    Blocks that one event gave to one claim, one for each position, have one record in common. A
    block leaves it for a dictionary of its own once it is asked for as one.
    """

    def __init__(self) -> None:
        self._runs: dict[int, Placed] = {}
        self._several: dict[int, dict[str, set[int]]] = {}

    def __len__(self) -> int:
        """Blocks of which an owner is known."""
        return len(self._runs) + len(self._several)

    def place(self, claim_id: str, blocks: Sequence[int], positions: tuple[int, ...]) -> Placed:
        """These blocks, which nobody holds, are a claim's, one at each position; the record that
        says so.
        """
        placed = Placed(claim_id, tuple(blocks), positions)
        if len(blocks) <= _TOGETHER:
            runs = self._runs
            for block in blocks:
                runs[block] = placed
            return placed
        for at in range(0, len(blocks), _TOGETHER):
            some = tuple(blocks[at : at + _TOGETHER])
            run = Placed(claim_id, some, alike(positions[at : at + _TOGETHER]))
            self._runs.update(dict.fromkeys(some, run))
        return placed

    def are_free(self, blocks: Sequence[int]) -> bool:
        """Whether nothing is known of an owner of these blocks."""
        runs = self._runs
        for block in blocks:
            if block in runs:
                return False
        return not self._several or self._several.keys().isdisjoint(blocks)

    def names(self, block: int) -> Collection[str]:
        """The claims that hold a block."""
        run = self._runs.get(block)
        return self._several.get(block, ()) if run is None else (run.claim_id,)

    def sole(self, block: int) -> tuple[str, int] | None:
        """The one claim of a block and its one position; None where there is not one."""
        if (run := self._runs.get(block)) is not None:
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
        run = runs.get(blocks[0])
        if run is None or run.blocks != blocks:
            return None
        for block in blocks:
            if runs.get(block) is not run:
                return None
        return run

    def get(self, block: int) -> dict[str, set[int]] | None:
        """The claims that hold a block, to be changed; None where nothing is known of one."""
        if (run := self._runs.pop(block, None)) is not None:
            self._several[block] = {run.claim_id: {run.position(block)}}
        return self._several.get(block)

    def of(self, block: int) -> dict[str, set[int]]:
        """The same; where nothing is known, nobody from now on."""
        found = self.get(block)
        return self._several.setdefault(block, {}) if found is None else found

    def pop(self, block: int) -> dict[str, set[int]]:
        """The claims that held a block; nothing is known of one any more."""
        self.get(block)
        return self._several.pop(block, {})

    def drop(self, block: int) -> None:
        """Nothing is known of an owner any more."""
        self._runs.pop(block, None)
        self._several.pop(block, None)

    def drop_all(self, blocks: Iterable[int]) -> None:
        """The same of several blocks."""
        for known in (self._runs, self._several):
            if known:
                for block in blocks:
                    known.pop(block, None)

    def clear(self) -> None:
        """Nothing is known of any."""
        self._runs.clear()
        self._several.clear()
