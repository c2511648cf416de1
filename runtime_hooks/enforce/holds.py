"""Which blocks are kept from being victims? One for each content that a kept claim has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runtime_hooks.enforce.ledger import Content

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
        """Those of these contents that are cached and computed, each with a block, and once more
        with each other block that holds it.
        """


class Holds:
    """The blocks held in one pool: of each content that is wanted one, and of its copies none."""

    def __init__(self, pool: Holding) -> None:
        self._pool = pool
        self._pins: dict[int, Content] = {}

    def want(self, contents: Iterable[Content]) -> None:
        """One more claim wants these kept, now and when they come to be there."""
        contents = list(contents)
        for content in contents:
            content.wanted += 1
        self.settle(contents)

    def unwant(self, contents: Iterable[Content]) -> None:
        """One claim fewer wants these; what none does may be taken again, in this order."""
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
        """Blocks of these came or went: hold one of each that is wanted, and none that is gone."""
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

    def suspend(self) -> None:
        """Let go of all for a moment."""
        if self._pins:
            self._pool.release(list(self._pins))

    def resume(self, *, gone: bool) -> None:
        """Hold them again, or forget them where their content went meanwhile."""
        if gone:
            for content in self._pins.values():
                content.pin = None
            self._pins.clear()
        elif self._pins:
            self._pool.hold(list(self._pins))
