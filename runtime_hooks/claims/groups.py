"""Says which blocks a claim needs in an engine with several groups of KV caches.

An engine keeps a cache for each kind of attention of its model. A prompt has a key in each group.
A hit needs every block of a full group, the last ones of a group with a window, and the last one of
a group of states, so these are the blocks of a claim.
"""

from __future__ import annotations

from math import lcm
from typing import TYPE_CHECKING

from spec.stream.pool import FULL, groups_of, longest_hit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from spec.events.canonical import CacheGroup
    from spec.stream.pool import Group

__all__ = ["Groups"]


def _same(key: bytes, group: int) -> bytes:
    return key


class Groups:
    """The groups of caches of one engine.

    The keys of a prompt, one for each position, are those of the group `lead`: the first full one,
    or else the first with a block for each position. `sparse` says that some group keeps only the
    end of a prompt. A hit ends at a multiple of `align` positions.

    Args:
        drops: whether the last block that a look-up finds is dropped, and computed again.
        stated: the groups, of which one has a block for each position, a full one if there is one;
            none where there is one group of full attention.
        in_group: the key of the same block in another group.
        group_of: the group of a key.
    """

    def __init__(
        self,
        stated: Sequence[CacheGroup] = (),
        in_group: Callable[[bytes, int], bytes] = _same,
        group_of: Callable[[bytes], int] = lambda _: 0,
        *,
        drops: bool = False,
    ) -> None:
        self._groups: Mapping[int, Group] = groups_of(stated) or {0: FULL}
        self._in_group, self._group_of, self.drops = in_group, group_of, drops
        self.full = [number for number, group in self._groups.items() if group.kind == "full"]
        self.lead = (self.full or [n for n, group in self._groups.items() if group.span == 1])[0]
        self.sparse = len(self.full) < len(self._groups)
        self.several = self._groups != {0: FULL}
        self.align = lcm(*(group.span for group in self._groups.values()))

    def key(self, key: bytes, group: int) -> bytes:
        """The key in a group, of a block that is named by its key in the group `lead`."""
        return key if group == self.lead else self._in_group(key, group)

    def split(self, pairs: Sequence[tuple[bytes, int]]) -> Iterable[Sequence[tuple[bytes, int]]]:
        """Contents and blocks in parts of one group each, as events state them."""
        if not self.several:
            return (pairs,)
        parts: dict[int, list[tuple[bytes, int]]] = {}
        for key, block in pairs:
            parts.setdefault(self._group_of(key), []).append((key, block))
        return parts.values()

    def position(self, group: int, number: int) -> int:
        """The position of a block by its number in a group: the last one that it covers."""
        return (number + 1) * self._groups[group].span - 1

    def places(self, blocks: int) -> Iterator[tuple[int, int]]:
        """The positions and groups that a hit on so many first blocks needs, by position."""
        needed = [(number, group.needs(0, blocks)) for number, group in self._groups.items()]
        for at in range(blocks):
            yield from ((at, number) for number, positions in needed if at in positions)

    def at(self, blocks: int, position: int) -> slice:
        """Where the places of a position are among `places(blocks)`."""
        needed = [group.needs(0, blocks) for group in self._groups.values()]
        before = (range(each.start, min(position, each.stop), each.step) for each in needed)
        start = sum(map(len, before))
        return slice(start, start + sum(position in positions for positions in needed))

    def needed(self, keys: Sequence[bytes]) -> tuple[bytes, ...]:
        """The keys of the blocks that a hit on this prompt needs, in the order of `places`."""
        if not self.several:
            return tuple(keys)
        return tuple(self.key(keys[at], group) for at, group in self.places(len(keys)))

    def every(self, keys: Sequence[bytes]) -> list[bytes]:
        """The keys of this prompt in every group."""
        return [self.key(key, group) for key in keys for group in self._groups]

    def reach(self, keys: Sequence[bytes], has: Callable[[bytes], bool], start: int = 0) -> int:
        """The longest prefix of a prompt, in blocks, that a hit can use from `start` on.

        Args:
            has: whether a block holds this key.
        """
        return longest_hit(
            self._groups, start, len(keys), lambda group, at: has(self.key(keys[at], group))
        )
