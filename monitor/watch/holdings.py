"""Keeps which blocks one observer says are held, in which tier, and when that changed last."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from spec.events.alphabet import Kind
from spec.stream.pool import GPU

if TYPE_CHECKING:
    from monitor.watch.prefixes import Key

__all__ = ["GONE", "MOST_STAMPS", "Copies", "Holdings", "Stamp", "Stamps"]

MOST_STAMPS: Final = 1 << 20
"""Blocks of one observer of which it is kept when they changed last."""

GONE: Final = frozenset({Kind.BLOCK_EVICTED, Kind.HOST_COPY_LOST})
"""Events by which blocks with keys are gone. One without keys empties its tier."""

_Place: TypeAlias = "tuple[str, int, Key]"


class Copies(IntEnum):
    """How many copies of a key the GPU has, or at least one, or perhaps none.

    A store may repeat one that is held, and a removal may be of one copy of several
    (vllm/v1/core/block_pool.py of 0.32). So a removal after two stores leaves perhaps none.
    """

    NONE = 0
    ONE = 1
    SOME = 2
    PERHAPS = 3

    def stored(self) -> Copies:
        """After one more store."""
        return Copies.ONE if self is Copies.NONE else Copies.SOME

    def removed(self) -> Copies:
        """After a removal."""
        return Copies.NONE if self is Copies.ONE else Copies.PERHAPS

    @property
    def is_held(self) -> bool | None:
        """Whether there is a copy; None if that is not known."""
        return None if self is Copies.PERHAPS else self is not Copies.NONE


class Stamp(NamedTuple):
    """A batch: its time on the clock of its observer, and its number; None if it has none."""

    time_ns: int
    batch: int | None = None


class Stamps:
    """When what an observer says of a block changed last: after `MOST_STAMPS` blocks, and for
    blocks that it never named, the latest time at which that may have been.

    Args:
        since: when the observer was read first.
    """

    def __init__(self, since: Stamp = Stamp(0)) -> None:  # noqa: B008 - a Stamp is immutable
        self._floor = since
        self._of: dict[_Place, Stamp] = {}

    def note(self, tier: str, group: int, key: Key, stamp: Stamp) -> None:
        """What is said of a block changed."""
        self._of.pop((tier, group, key), None)
        self._of[tier, group, key] = stamp
        if len(self._of) > MOST_STAMPS:
            oldest = next(iter(self._of))
            self._floor = max(self._floor, self._of.pop(oldest), key=lambda each: each.time_ns)

    def clear(self, stamp: Stamp) -> None:
        """What is said of any block may have changed."""
        self._of.clear()
        self._floor = stamp

    def of(self, tier: str, group: int, key: Key) -> Stamp:
        """When what is said of a block changed last."""
        return self._of.get((tier, group, key), self._floor)

    def names(self, tier: str, group: int, key: Key) -> bool:
        """Whether the observer named a block since everything was cleared last."""
        return (tier, group, key) in self._of


class Holdings:
    """The blocks that one stream of KV events says are held, by tier and group of caches.

    Attributes:
        unknown: why it is not known what the GPU holds of blocks that no event has stated; empty if
            the run was read from its beginning.
        hides_tiers: whether other tiers may have copies of which no store was read.
        stated: the tiers in which any block was stored or removed.
        last: the last batch; `batches` counts them.
        stamps: when what the stream says of a block changed last.
    """

    def __init__(self) -> None:
        self.unknown, self.hides_tiers = "no batch was read", True
        self.stated = set[str]()
        self.last, self.batches = Stamp(0), 0
        self.stamps = Stamps()
        self._gpu: dict[tuple[int, Key], Copies] = {}
        self._tiers: dict[str, set[tuple[int, Key]]] = {}

    def __len__(self) -> int:
        """Blocks of which something is known, in all tiers."""
        return len(self._gpu) + sum(map(len, self._tiers.values()))

    def read(self, time_ns: int | None, batch: int | None) -> None:
        """A batch is read, before its events."""
        self.last, self.batches = (
            Stamp(max(self.last.time_ns, time_ns or 0), batch),
            1 + self.batches,
        )

    def forget(self, unknown: str) -> None:
        """Forget the blocks in all tiers.

        Args:
            unknown: why the contents of the cache are not known; empty if the cache is empty.
        """
        self._gpu.clear()
        self._tiers.clear()
        self.stamps.clear(self.last)
        self.unknown, self.hides_tiers = unknown, bool(unknown)

    def copies(self, group: int, key: Key) -> Copies | None:
        """The copies of a key on the GPU; None if no event stated it since all was forgotten."""
        return self._gpu.get((group, key))

    def keys(self, tier: str) -> set[Key]:
        """The blocks in a tier of which any event stated something since all was forgotten."""
        return {key for _, key in (self._gpu if tier == GPU else self._tiers.get(tier, ()))}

    def put(self, group: int, key: Key, copies: Copies | None) -> None:
        """The GPU has so many copies of a key; None: as many as of keys that no event stated."""
        was = self.has(GPU, group, key)
        if copies is None:
            self._gpu.pop((group, key), None)
        else:
            self._gpu[group, key] = copies
        if self.has(GPU, group, key) is not was:
            self.stamps.note(GPU, group, key, self.last)

    def has_copy(self, tier: str, group: int, key: Key) -> bool:
        """Whether a tier other than the GPU is known to have a copy."""
        return (group, key) in self._tiers.get(tier, ())

    def copy(self, tier: str, group: int, key: Key, *, add: bool) -> bool:
        """A tier other than the GPU has a copy, or none any more. Return True if that is new."""
        if self.has_copy(tier, group, key) is add:
            return False
        copies = self._tiers.setdefault(tier, set())
        (copies.add if add else copies.discard)((group, key))
        self.stamps.note(tier, group, key, self.last)
        return True

    def clear(self, tier: str) -> None:
        """Empty a tier. When the GPU is cleared, every key is known to be absent from it."""
        for group, key in self._gpu if tier == GPU else self._tiers.pop(tier, set()):
            self.stamps.note(tier, group, key, self.last)
        if tier == GPU:
            if self.unknown:
                self.stamps.clear(self.last)
            self._gpu.clear()
            self.unknown = ""

    def has(self, tier: str, group: int, key: Key) -> bool | None:
        """Whether a tier has a block; None if that is not known."""
        if tier != GPU:
            return self.has_copy(tier, group, key) or (None if self.hides_tiers else False)
        found = self.copies(group, key)
        if found is None:
            return None if self.unknown else False
        return found.is_held
