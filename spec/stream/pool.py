"""Tracks which content is held where: blocks and copies of keys by tier. It knows no claims.

A **key** names the content of one logical block: the content key that the engine states, within a
cache identity and a group; or, where none is stated, a position of an object. Keys are compared and
hashed as values, so that what two claims have in common needs no rule of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from spec.stream.breaks import Contradiction
from spec.stream.codes import Code

if TYPE_CHECKING:
    from spec.events.canonical import CacheGroup

__all__ = [
    "FULL",
    "GPU",
    "Block",
    "Group",
    "Key",
    "Object",
    "Pool",
    "Touch",
    "groups_of",
    "longest_hit",
]

Block: TypeAlias = int | str
"""A physical block, as the engine names it."""

Content: TypeAlias = int | str
"""A content key, as the engine states it: its block hash."""

GPU: Final = "gpu"


class Key(NamedTuple):
    """The content of one logical block in one group of caches.

    `of` is the cache identity where `name` is a content key, and the object where it is a position.
    """

    of: str | Object | None
    group: int
    name: Content


class Group(NamedTuple):
    """A group of KV caches, and which blocks of it a hit needs: all of a `full` group, the last
    `window` blocks of a `window` group, the last block of a `state` group.

    A block covers `span` positions, and is at the last of them.
    """

    kind: str = "full"
    window: int = 0
    span: int = 1

    def needs(self, start: int, end: int) -> range:
        """The positions that a hit on positions `start` to `end` needs in this group."""
        first = start + -(start + 1) % self.span
        if self.kind == "full":
            return range(first, end, self.span)
        blocks = self.window if self.kind == "window" else 1
        end -= end % self.span
        return range(max(first, end - blocks * self.span + self.span - 1), end, self.span)

    def ends(self, end: int) -> bool:
        """Whether whole blocks cover the positions before this one."""
        return end % self.span == 0


FULL: Final = Group()


def groups_of(stated: Iterable[CacheGroup]) -> dict[int, Group]:
    """The groups that a mark states, by number."""
    return {each.group: Group(each.kind, each.window or 0, each.span or 1) for each in stated}


def longest_hit(
    groups: Mapping[int, Group], start: int, end: int, held: Callable[[int, int], bool]
) -> int:
    """The longest prefix from `start`, at most to `end`, that a hit can use of all groups.

    Args:
        held: whether the block of a group at a position is there.
    """
    full = [(number, group) for number, group in groups.items() if group.kind == "full"]
    most = start
    while most < end and all(held(n, most) for n, group in full if group.ends(most + 1)):
        most += 1
    others = [(number, group) for number, group in groups.items() if group.kind != "full"]
    for length in range(most - start, 0, -1):
        if not all(group.ends(start + length) for group in groups.values()):
            continue
        if all(held(n, at) for n, g in others for at in g.needs(start, start + length)):
            return length
    return 0


@dataclass(eq=False)
class Object:
    """What claims are made for. `contents` are the keys of its first positions, once stated.

    `places` are the groups and positions that blocks or copies were stated of before their content
    was. One block may hold the position of another object as well, and then both have one key:
    `same` has the positions that took a key from elsewhere, `shared` those that gave theirs.
    """

    object_id: str | None = None
    identity: str | None = None
    token_map: str | None = None
    contents: tuple[Content, ...] = ()
    places: set[tuple[int, int]] = field(default_factory=set)
    same: dict[tuple[int, int], Key] = field(default_factory=dict)
    shared: set[tuple[int, int]] = field(default_factory=set)

    def key(self, group: int, position: int) -> Key:
        """The key of a position."""
        if position < len(self.contents):
            return Key(self.identity, group, self.contents[position])
        other = self.same.get((group, position)) if self.same else None
        if other is None:
            return Key(self, group, position)
        return other.of.key(group, position) if isinstance(other.of, Object) else other

    @property
    def named(self) -> int:
        """How many of its first positions have a key that other objects may have."""
        found = len(self.contents)
        while (0, found) in self.same or (0, found) in self.shared:
            found += 1
        return found

    @property
    def known(self) -> int:
        """The first position after those of which anything was stated."""
        return max(len(self.contents), *(at + 1 for _, at in self.places), 0)

    def bind(self, identity: str | None, token_map: str | None) -> None:
        """Take the identity and the map of positions that an event states first."""
        self.identity, self.token_map = self.identity or identity, self.token_map or token_map

    def agrees(self, identity: str | None, token_map: str | None) -> bool:
        """Whether an event that states these may mean this object."""
        pairs = ((self.identity, identity), (self.token_map, token_map))
        return all(own is None or stated is None or own == stated for own, stated in pairs)


@dataclass
class Touch:
    """What an event did to one claim: positions that it gained or lost, or that loads brought.

    `blocks` are those that are gone; another block may still hold the content.
    """

    gained: set[int] = field(default_factory=set)
    lost: set[int] = field(default_factory=set)
    brought: set[int] = field(default_factory=set)
    blocks: set[Block | None] = field(default_factory=set)


class Pool:
    """The blocks of the GPU and the copies in all tiers, by key.

    `groups` are the groups of caches. `changed` has each key whose copies changed since it was last
    emptied, with the tier; `copied` counts the keys of which a tier has copies, of each tier.
    """

    def __init__(self) -> None:
        self.groups: dict[int, Group] = {0: FULL}
        self.blocks: dict[Block, Key | None] = {}
        self.held: dict[Key, set[Block | None]] = {}
        self.copies: dict[str, dict[Key, int]] = {}
        self.copied = 0
        self.unnamed: dict[Key, None] = {}
        self.changed: dict[tuple[str, Key], None] = {}

    # What is there.

    def on_gpu(self, key: Key) -> bool:
        """Whether a block holds the key."""
        return key in self.held

    def in_tiers(self, key: Key) -> bool:
        """Whether a tier other than the GPU has a copy of the key."""
        return any(key in tier for tier in self.copies.values())

    @property
    def holds_anything(self) -> bool:
        """Whether a block is known, or a tier holds a copy."""
        return bool(self.held or self.blocks or any(self.copies.values()))

    @property
    def count(self) -> int:
        """How many blocks and copies are known; copies of one key in one tier are one."""
        return len(self.blocks) + len(self.unnamed) + self.copied

    # What happens to it.

    def place(self, key: Key | None, block: Block | None) -> None:
        """A block of the GPU holds this from now on.

        A block whose id is not stated is counted once a key.
        """
        if block is not None:
            before = self.blocks.get(block)
            if before is not None and before != key:
                self._free(before, block)
            self.blocks[block] = key
        elif key is not None:
            self.unnamed[key] = None
        if key is None:
            return
        found = self.held.get(key)
        if found is None:
            found = self.held[key] = set()
            self.changed[GPU, key] = None
        found.add(block)

    def free(self, block: Block) -> Key | None:
        """A block of the GPU holds nothing any more; return what it held."""
        key = self.blocks.pop(block, None)
        if key is not None:
            self._free(key, block)
        return key

    def free_unnamed(self, key: Key) -> bool:
        """The same of the block without an id that holds a key; whether there is one."""
        if None not in self.held.get(key, ()):
            return False
        self._free(key, None)
        return True

    def free_all(self, key: Key) -> None:
        """No block of the GPU holds the key any more."""
        for block in tuple(self.held.get(key, ())):
            if block is not None:
                del self.blocks[block]
            self._free(key, block)

    def _free(self, key: Key, block: Block | None) -> None:
        found = self.held[key]
        found.discard(block)
        if block is None:
            self.unnamed.pop(key, None)
        if not found:
            del self.held[key]
            self.changed[GPU, key] = None

    def copy(self, tier: str, key: Key, *, at_least_one: bool = False) -> None:
        """A tier has one more copy of the key, or at least one."""
        copies = self.copies.setdefault(tier, {})
        count = copies.get(key, 0)
        copies[key] = max(count, 1) if at_least_one else count + 1
        self.copied += not count
        self.changed[tier, key] = None

    def drop(self, tier: str, key: Key) -> None:
        """A tier has one copy of the key less; raises Contradiction if it had none."""
        copies = self.copies.get(tier, {})
        if key not in copies:
            raise Contradiction(
                Code.COPY_NOT_THERE, f"the tier {tier} loses a copy that it did not have"
            )
        copies[key] -= 1
        if not copies[key]:
            del copies[key]
            self.copied -= 1
            if not copies:
                del self.copies[tier]
        self.changed[tier, key] = None

    def clear(self, tier: str) -> None:
        """A tier holds nothing any more."""
        if tier == GPU:
            for key in self.held:
                self.changed[GPU, key] = None
            self.blocks.clear()
            self.held.clear()
            self.unnamed.clear()
        copies = self.copies.pop(tier, {})
        self.copied -= len(copies)
        for key in copies:
            self.changed[tier, key] = None

    # Names of keys.

    def rename(self, renamed: Iterable[tuple[Key, Key]]) -> None:
        """Move what is known of keys to their new names, which is neither gain nor loss."""
        for old, new in renamed:
            if old == new:
                continue
            blocks = self.held.pop(old, None)
            if blocks is not None:
                others = self.held.setdefault(new, set())
                others |= blocks
                if None in blocks:
                    del self.unnamed[old]
                    self.unnamed[new] = None
                self.blocks.update((block, new) for block in blocks if block is not None)
            for copies in self.copies.values():
                if count := copies.pop(old, 0):
                    self.copied -= new in copies
                    copies[new] = copies.get(new, 0) + count

    @property
    def has_one_cache(self) -> bool:
        """Whether there is one group of caches, of which a hit needs every block."""
        return len(self.groups) == 1 and self.groups.get(0) == FULL

    def lead(self, obj: Object, start: int, end: int, *, tiers: bool = False) -> int:
        """The longest prefix from `start`, at most to `end`, that a hit could use on the GPU.

        Args:
            tiers: copies in all tiers count as well.
        """
        held = self.anywhere if tiers else self.on_gpu
        if self.has_one_cache:
            at = start
            while at < end and held(obj.key(0, at)):
                at += 1
            return at - start
        end = min(end, obj.known)
        return longest_hit(self.groups, start, end, lambda group, at: held(obj.key(group, at)))

    def anywhere(self, key: Key) -> bool:
        """Whether a block holds the key, or a tier has a copy of it."""
        return key in self.held or self.in_tiers(key)

    def needs(self, obj: Object, start: int, end: int) -> Iterator[Key]:
        """The keys that a hit on these positions of an object needs, in every group."""
        return (obj.key(n, at) for n, g in self.groups.items() for at in g.needs(start, end))

    def has_copy(self, obj: Object, start: int, end: int) -> bool:
        """Whether another tier has a copy of a key that a hit on these positions needs.

        Positions of which nothing was stated have none.
        """
        return any(
            self.in_tiers(obj.key(number, at))
            for number, group in self.groups.items()
            for at in takewhile(obj.known.__gt__, group.needs(start, end))
        )

    def size(self, start: int, end: int) -> int:
        """How many blocks a hit on these positions needs, in all groups."""
        return sum(len(group.needs(start, end)) for group in self.groups.values())
