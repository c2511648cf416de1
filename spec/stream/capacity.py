"""Counts the blocks that responsible claims take, each block once; and which priorities hold any.

A claim takes the keys of its first positions, as many as it declared. Two claims take one block
where they have a key in common. Positions of an object whose content is not stated are counted as
spans, so a footprint of a million blocks costs no more than one of ten.

In a pool of several groups a claim takes what a hit at the end of its predicate needs in each
group. Its blocks are unknown unless these are as many as it declared, and their contents stated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from heapq import nsmallest
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from spec.claims.states import Mode

if TYPE_CHECKING:
    from spec.events.canonical import Event
    from spec.stream.claim import Claim
    from spec.stream.pool import Key, Object, Pool, Touch

__all__ = ["Blame", "Capacity", "Cell", "Ranks"]


class Cell(NamedTuple):
    """So many blocks that the same claims take."""

    blocks: int
    owners: frozenset[Claim]


class Blame(NamedTuple):
    """What the claims that an action names would free, in blocks.

    `freed` are the blocks that end with them, `shares` what each of them adds to that, and
    `smallest` the two smallest shares above 0.
    """

    named: frozenset[Claim]
    freed: int
    shares: dict[Claim, int]
    smallest: list[Claim]

    def rest(self, claim: Claim) -> int:
        """What the others free without this one."""
        return self.freed - self.shares.get(claim, 0)

    def least(self, claim: Claim) -> int:
        """The smallest share, above nothing, of another one; 0 for none."""
        return next((self.shares[other] for other in self.smallest if other is not claim), 0)


class Capacity:
    """The blocks that claims take. `total` counts each block once; None if a size is unknown."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._sizes: dict[Claim, tuple[tuple[Key, ...], int]] = {}  # keys, end of the span behind
        self._owners: dict[Key, set[Claim]] = {}
        self._spans: dict[Object, dict[Claim, tuple[int, int]]] = {}
        self._behind: dict[Object, int] = {}
        self._spanned = 0
        self._unknown: set[Claim] = set()

    @property
    def total(self) -> int | None:
        """Blocks of all claims, each once."""
        return None if self._unknown else len(self._owners) + self._spanned

    def conflicts(self, needed: int | None, usable: int | None) -> bool | None:
        """Whether a request that fits an empty pool does not fit beside all claims.

        None if that is unknown.
        """
        total = self.total
        if needed is None or usable is None or total is None:
            return None
        return needed <= usable < total + needed

    def __iter__(self) -> Iterator[Claim]:
        yield from self._sizes
        yield from self._unknown

    def __contains__(self, claim: Claim) -> bool:
        return claim in self._sizes or claim in self._unknown

    def add(self, claim: Claim) -> None:
        """A claim takes its blocks."""
        size, one = claim.size, self._pool.has_one_cache
        named = claim.obj.named if one else len(claim.obj.contents)
        end = min(size or 0, named) if one else claim.stop
        keys = tuple(self._pool.needs(claim.obj, 0, end)) if size and end <= named else ()
        if size is None or not (one or len(keys) == size):
            self._unknown.add(claim)
            return
        self._sizes[claim] = keys, size
        for key in keys:
            self._owners.setdefault(key, set()).add(claim)
        if len(keys) < size:
            self._spans.setdefault(claim.obj, {})[claim] = len(keys), size
            self._measure(claim.obj)

    def remove(self, claim: Claim) -> None:
        """A claim takes no blocks any more. It is on the object that it was on."""
        self._unknown.discard(claim)
        keys, size = self._sizes.pop(claim, ((), 0))
        for key in keys:
            self._owners[key].discard(claim)
            if not self._owners[key]:
                del self._owners[key]
        if len(keys) < size:
            del self._spans[claim.obj][claim]
            self._measure(claim.obj)

    @contextmanager
    def resized(self, claims: Iterable[Claim]) -> Iterator[None]:
        """Within the block, the keys or the sizes of these claims change."""
        counted = [claim for claim in claims if claim in self]
        for claim in counted:
            self.remove(claim)
        try:
            yield
        finally:
            for claim in counted:
                self.add(claim)

    def _measure(self, obj: Object) -> None:
        """Count the blocks behind the stated contents of an object."""
        spans = self._spans.get(obj)
        self._spanned -= self._behind.pop(obj, 0)
        if not spans:
            self._spans.pop(obj, None)
            return
        least, most = min(s for s, _ in spans.values()), max(e for _, e in spans.values())
        self._behind[obj] = most - least
        self._spanned += most - least

    def cells(self, claim: Claim) -> Iterator[tuple[object, Cell]]:
        """The blocks of one claim by who takes them, each with what identifies it."""
        named, size = self._sizes.get(claim, ((), 0))
        for key in named:
            yield key, Cell(1, frozenset(self._owners[key]))
        keys = len(named)
        if keys == size:
            return
        spans = self._spans[claim.obj]
        edges = sorted({edge for span in spans.values() for edge in span if keys <= edge <= size})
        for low, high in pairwise(edges):
            owners = frozenset(c for c, (a, b) in spans.items() if a <= low and high <= b)
            yield (claim.obj, low), Cell(high - low, owners)

    def alone(self, claim: Claim) -> int:
        """Blocks that only this claim takes."""
        return sum(cell.blocks for _, cell in self.cells(claim) if len(cell.owners) == 1)

    def without(self, claim: Claim) -> int | None:
        """Blocks that the other claims take, each once; None if a size is unknown."""
        total = self.total
        return None if total is None else total - self.alone(claim)

    def size(self, claim: Claim) -> int:
        """Blocks that the claim takes, by itself or with others."""
        return self._sizes.get(claim, ((), 0))[1]

    def beside(self, claim: Claim, named: Collection[Claim]) -> int:
        """Blocks of the claim that others take too, of whom one is not among the named."""
        return sum(
            cell.blocks
            for _, cell in self.cells(claim)
            if any(owner is not claim and owner not in named for owner in cell.owners)
        )

    def blame(self, named: frozenset[Claim]) -> Blame:
        """What these claims would free all together."""
        found = {at: cell for claim in named for at, cell in self.cells(claim)}
        freed = [cell for cell in found.values() if cell.owners <= named]
        shares = dict.fromkeys(named, 0)
        for cell in freed:
            for owner in cell.owners:
                shares[owner] += cell.blocks
        smallest = nsmallest(2, (claim for claim in named if shares[claim]), key=shares.__getitem__)
        return Blame(named, sum(cell.blocks for cell in freed), shares, smallest)


class Ranks:
    """The claims of soft_priority that hold blocks, by priority.

    Of a claim whose priority is not stated, or stated twice, it is unknown which others it may
    outlast.
    """

    def __init__(self) -> None:
        self._priority: dict[Claim, int | None] = {}
        self._holders: Counter[int] = Counter()
        self._unsure: set[Claim] = set()

    def follow(self, claim: Claim, pool: Pool) -> None:
        """Note whether a claim holds blocks of the GPU."""
        ranked = self._is_ranked(claim) and _holds(pool, claim)
        unsure = ranked and (claim.disputed or claim.priority is None)
        self.drop(claim)
        if unsure:
            self._unsure.add(claim)
        elif ranked and claim.priority is not None:
            self._priority[claim] = claim.priority
            self._holders[claim.priority] += 1

    def drop(self, claim: Claim) -> None:
        """A claim is no longer followed."""
        before = self._priority.pop(claim, None)
        if before is not None:
            self._holders[before] -= 1
            if not self._holders[before]:
                del self._holders[before]
        self._unsure.discard(claim)

    def higher_kept(self, claim: Claim) -> bool:
        """Whether a claim of higher priority holds a block."""
        own = claim.priority or 0
        return not claim.disputed and any(own < rank for rank in self._holders)

    def lower_available(
        self, event: Event, touched: Mapping[Claim, Touch], claim: Claim
    ) -> bool | None:
        """Whether a block of a claim of lower priority could be evicted instead; None: unknown.

        One could if such a claim still holds blocks, and the event states a lowest priority of
        what could be evicted that is below the claim's. It is unknown where a claim of that
        priority or a lower one loses a block by the same event, since that block may be the one.
        """
        if claim.disputed or claim.priority is None:
            return None
        own, lowest = claim.priority, event.lowest_priority
        lower = [rank for rank in self._holders if rank < own]
        rivals = bool(lower or self._unsure)
        if lowest is None:
            return None if rivals else False
        losers = [each for each, touch in touched.items() if touch.lost or touch.blocks]
        unsure = any(each.mode is Mode.SOFT_PRIORITY and each.priority is None for each in losers)
        unsure = unsure or any(each.disputed for each in losers)
        ranks = {each: each.priority or 0 for each in losers if self._is_ranked(each)}
        least = self._least(touched, ranks, own)
        if own <= lowest:
            return None if rivals and (least < lowest or unsure) else False
        if not (rivals or unsure) and least == lowest:
            return False  # that block went, and no other is left
        if lowest in ranks.values() or least <= lowest or unsure:
            return None
        return True if any(lowest <= rank for rank in lower) else None

    @staticmethod
    def _least(touched: Mapping[Claim, Touch], ranks: dict[Claim, int], own: int) -> int:
        """The lowest priority of a block that goes: that of the highest of its claims."""
        found: dict[object, int] = {}
        for claim, rank in ranks.items():
            for block in touched[claim].blocks:
                found[block] = max(rank, found.get(block, rank))
        return min(found.values(), default=own)

    @staticmethod
    def _is_ranked(claim: Claim) -> bool:
        return claim.mode is Mode.SOFT_PRIORITY and claim.known and claim.live


def _holds(pool: Pool, claim: Claim) -> bool:
    """Whether a block of the GPU holds a key of the claim."""
    end = min(claim.extent, len(claim.obj.contents))
    own = (at for _, at in claim.obj.places if at < claim.extent)
    positions = (*range(end), *own)
    return any(pool.on_gpu(claim.obj.key(g, at)) for g in pool.groups for at in positions)
