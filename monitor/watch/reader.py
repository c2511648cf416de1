"""Makes readers that join KV events with the claims of a registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.input.dialects import Reader
from monitor.input.dialects.kv_events import KvEventsDialect
from monitor.watch.join import Join
from monitor.watch.prefixes import Tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from monitor.watch.join import Change
    from monitor.watch.registry import Watching

__all__ = ["Joins"]


class Joins:
    """The joins of a registry with all streams that are read; `made` has them as they came, and
    `sources` what each is read from.

    Args:
        on_change: called with each change of a claim.
        check: called before another join is made.
    """

    def __init__(
        self,
        watching: Watching,
        on_change: Callable[[Change], None] = lambda _: None,
        check: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._watching, self._on_change, self._check = watching, on_change, check
        self._tree = Tree(watching.claims, watching.block_size, watching.hashing)
        self.made: list[Join] = []
        self.sources: list[str] = []

    def reader(self, file: str) -> Reader:
        """A reader of KV events from one file or source, and of no other lines."""

        def join(stream: str) -> Join:
            self._check(file)
            self.sources.append(file)
            self.made.append(Join(self._watching, self._tree, stream, self._on_change))
            return self.made[-1]

        return Reader(file, ("kv_events",), {"kv_events": KvEventsDialect(file, join)})
