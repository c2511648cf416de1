"""Excludes blocks from eviction: one block of each content that an enforced claim owns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from runtime_hooks.claims.entry import Content

__all__ = ["EvictablePool", "VictimExclusion"]


class EvictablePool(Protocol):
    """What victim exclusion needs of the engine's block pool."""

    def hold(self, blocks: Sequence[int]) -> None:
        """Exclude these blocks from eviction, in addition to any other use of them."""

    def release(self, blocks: Sequence[int]) -> None:
        """End the exclusion: blocks without another user become evictable, in this order."""

    def drop(self, blocks: Sequence[int]) -> None:
        """Remove these blocks from the cache; the adapter reports this as it reports any loss."""

    def find(self, keys: Sequence[bytes]) -> Iterable[tuple[bytes, int]]:
        """Pairs of content and block for those of these contents that are cached and computed.

        A content that several blocks hold comes once with each.
        """


class VictimExclusion:
    """The excluded blocks of one pool: of each wanted content one block, and none of its copies."""

    def __init__(self, pool: EvictablePool) -> None:
        self._pool = pool
        self._pins: dict[int, Content] = {}

    def want(self, contents: Iterable[Content]) -> None:
        """One more claim wants these contents kept, now and whenever they are cached."""
        contents = list(contents)
        for content in contents:
            content.wanted += 1
        self.settle(contents)

    def unwant(self, contents: Iterable[Content]) -> None:
        """One claim fewer wants these; contents that none wants become evictable, in this order."""
        free = []
        for content in contents:
            content.wanted -= 1
            if not content.wanted and content.pin is not None:
                del self._pins[content.pin]
                free.append(content.pin)
                content.pin = None
        if free:
            self._pool.release(free)

    def settle(self, contents: Iterable[Content]) -> None:
        """Blocks of these were cached or lost: hold one block of each wanted content."""
        free, fresh = [], []
        for content in contents:
            if content.pin is not None and content.pin not in content.blocks:
                del self._pins[content.pin]
                free.append(content.pin)
                content.pin = None
            if content.pin is None and content.wanted and content.blocks:
                content.pin = next(iter(content.blocks))
                self._pins[content.pin] = content
                fresh.append(content.pin)
        if fresh:
            self._pool.hold(fresh)
        if free:
            self._pool.release(free)

    @property
    def blocks(self) -> Collection[int]:
        """The excluded blocks."""
        return self._pins.keys()

    @property
    def contents(self) -> Collection[Content]:
        """Their contents."""
        return self._pins.values()

    def suspend(self) -> None:
        """Release every excluded block for a moment."""
        if self._pins:
            self._pool.release(list(self._pins))

    def resume(self, *, gone: bool) -> None:
        """Hold them again, or forget them where the whole cache was cleared meanwhile."""
        if gone:
            for content in self._pins.values():
                content.pin = None
            self._pins.clear()
        elif self._pins:
            self._pool.hold(list(self._pins))
