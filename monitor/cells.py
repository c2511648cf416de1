"""Blocks of claims one by one: which positions of which claims are one block.

`certain` takes positions for one block only where that is known; `possible` wherever it may be.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence

    from monitor.claim import ClaimRun

__all__ = ["Cells", "Freed", "Run", "certain", "possible"]


class Freed(NamedTuple):
    """What a set of claims frees together, and what would not be freed without each of them."""

    blocks: int
    shares: Mapping[str, int]


class Run(NamedTuple):
    """So many blocks with the same owners."""

    blocks: int
    owners: frozenset[str]


class Cells:
    """Sums over runs of blocks (`monitor.room.Sums`)."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._runs = tuple(runs)

    @cached_property
    def total(self) -> int:
        """All of them, each once."""
        return sum(run.blocks for run in self._runs)

    @cached_property
    def _alone(self) -> Counter[str]:
        alone: Counter[str] = Counter()
        for run in self._runs:
            if len(run.owners) == 1:
                alone[next(iter(run.owners))] += run.blocks
        return alone

    def alone(self, claim_id: str) -> int:
        """Those that this claim has alone."""
        return self._alone[claim_id]

    def freed(self, names: Collection[str]) -> Freed:
        """What these claims free: the blocks of which they are all owners."""
        among, shares, blocks = frozenset(names), Counter[str](), 0
        for run in self._runs:
            if run.owners <= among:
                blocks += run.blocks
                for owner in run.owners:
                    shares[owner] += run.blocks
        return Freed(blocks, shares)


class _Object:
    """The claims on one object, and what is known of its positions."""

    def __init__(self, cache: str | bytes | None) -> None:
        self.cache = cache
        self.sizes: dict[str, int] = {}
        self.inside: dict[int, tuple[str, Hashable]] = {}  # a content key, else a physical block

    @property
    def span(self) -> int:
        return max(self.sizes.values())

    def owners(self, position: int) -> frozenset[str]:
        return frozenset(name for name, size in self.sizes.items() if position < size)


def _objects(claims: Iterable[ClaimRun]) -> list[_Object]:
    found: dict[Hashable, _Object] = {}
    for claim in claims:
        of = found.get(claim.content)
        if of is None:
            of = found[claim.content] = _Object(claim.binding.get("cache_identity"))
        of.sizes[claim.claim_id] = claim.declared
        for position, block in claim.held.places(claim.declared):
            of.inside.setdefault(position, ("block", block))
    for claim in claims:
        of = found[claim.content]
        for position, key in enumerate(claim.keys[: claim.declared]):
            if of.inside.get(position, ("block", 0))[0] == "block":
                of.inside[position] = ("key", key)
    return list(found.values())


def _points(objects: Sequence[_Object]) -> list[int]:
    """Before which positions anything may change: the owners, or what is known."""
    found = {0}
    for of in objects:
        found.update(of.sizes.values())
        for position in of.inside:
            found |= {position, position + 1}
    return sorted(found)


def certain(claims: Sequence[ClaimRun]) -> Iterator[Run]:
    """The blocks where positions are one only if that is known."""
    cells: dict[Hashable, set[str]] = {}
    for of in _objects(claims):
        points = [point for point in _points([of]) if point < of.span]
        for begin, end in zip(points, [*points[1:], of.span], strict=True):
            owners, inside = of.owners(begin), of.inside.get(begin)
            if inside is None:
                yield Run(end - begin, owners)
            else:
                cells.setdefault(inside, set()).update(owners)
    for owners_of_cell in cells.values():
        yield Run(1, frozenset(owners_of_cell))


def possible(claims: Sequence[ClaimRun]) -> Iterator[Run]:
    """The blocks where positions are one wherever they may be.

    Equal positions of objects of one cache may be one block, unless both state their contents and
    these differ, or both are held in blocks and these differ.
    """
    objects = _objects(claims)
    points = _points(objects)
    most = max(of.span for of in objects)
    points = [point for point in points if point < most]
    elsewhere: dict[Hashable, set[str]] = {}
    for begin, end in zip(points, [*points[1:], most], strict=True):
        there = [of for of in objects if begin < of.span]
        for cell in _merged(there, begin):
            owners = frozenset[str]().union(*(of.owners(begin) for of in cell))
            inside = next((i for of in cell if (i := of.inside.get(begin)) is not None), None)
            if inside is None:
                yield Run(end - begin, owners)
            else:  # the same key or block may be at another position, too
                elsewhere.setdefault(inside, set()).update(owners)
    for owners_of_cell in elsewhere.values():
        yield Run(1, frozenset(owners_of_cell))


def _merged(there: Sequence[_Object], position: int) -> list[list[_Object]]:
    """The objects of which this position may be one block, each in the first cell that it fits."""
    cells: list[list[_Object]] = []
    for of in sorted(there, key=lambda each: each.inside.get(position) is None):
        for cell in cells:
            if all(_may_be_one(of, other, position) for other in cell):
                cell.append(of)
                break
        else:
            cells.append([of])
    return cells


def _may_be_one(one: _Object, other: _Object, position: int) -> bool:
    if None not in (one.cache, other.cache) and one.cache != other.cache:
        return False
    left, right = one.inside.get(position), other.inside.get(position)
    if left is None or right is None or left[0] != right[0]:
        return True
    return left == right
