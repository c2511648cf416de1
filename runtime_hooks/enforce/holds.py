"""Which blocks are kept from being victims? Each is held once, however many claims share it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Holding", "Holds"]


class Holding(Protocol):
    """The blocks of the engine, as far as holding goes."""

    def hold(self, blocks: Sequence[int]) -> None:
        """From now on these blocks are no victims, whoever else uses them."""

    def release(self, blocks: Sequence[int]) -> None:
        """These may be taken again, in this order where nobody else uses them."""

    def drop(self, blocks: Sequence[int]) -> None:
        """The content of these blocks is to be found no more; it is told as any other loss."""

    def find(self, keys: Sequence[bytes]) -> Iterable[tuple[bytes, int]]:
        """Those of these contents that are cached and computed, each with a block."""


class Holds:
    """The blocks held in one pool, with the number of claims for which each is."""

    def __init__(self, pool: Holding) -> None:
        self._pool = pool
        self._counts: dict[int, int] = {}

    def take(self, blocks: Iterable[int]) -> None:
        """Hold blocks for one more claim."""
        fresh = []
        for block in blocks:
            count = self._counts.get(block, 0)
            self._counts[block] = count + 1
            if not count:
                fresh.append(block)
        if fresh:
            self._pool.hold(fresh)

    def drop(self, blocks: Iterable[int]) -> None:
        """One claim fewer needs these; those that none does may be taken again, in this order."""
        free = []
        for block in blocks:
            count = self._counts.get(block, 0)
            if count > 1:
                self._counts[block] = count - 1
            elif count:
                del self._counts[block]
                free.append(block)
        if free:
            self._pool.release(free)

    def forget(self, blocks: Iterable[int] | None) -> None:
        """The content of these blocks is gone (None: of all): nobody needs them any more."""
        counts = self._counts
        if not counts:
            return
        held = [block for block in (list(counts) if blocks is None else blocks) if block in counts]
        for block in held:
            del counts[block]
        if held:
            self._pool.release(held)

    def suspend(self) -> None:
        """Let go of all for a moment."""
        if self._counts:
            self._pool.release(list(self._counts))

    def resume(self, *, gone: bool) -> None:
        """Hold them again, or forget them where their content went meanwhile."""
        if gone:
            self._counts.clear()
        elif self._counts:
            self._pool.hold(list(self._counts))
