"""Tracks which positions of which claims are one block.

`certain` takes positions for one block only where that is known; `possible` wherever it may be.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence, Set

    from monitor.evaluate.claim import ClaimRun

__all__ = ["Cells", "Freed", "Run", "certain", "possible"]


class Freed(NamedTuple):
    """What a set of claims frees together, and what would not be freed without each of them."""

    blocks: int
    shares: dict[str, int]


class Run(NamedTuple):
    """So many blocks with the same owners."""

    blocks: int
    owners: frozenset[str]


class Cells:
    """Sums over runs of blocks (`monitor.pool.sums.Sums`)."""

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
    """The claims on one object, with the positions of each, and what is known of these."""

    def __init__(self, cache: str | bytes | None) -> None:
        self.cache = cache
        self.runs: dict[str, tuple[int, int]] = {}
        self.inside: dict[int, tuple[str, Hashable]] = {}  # a content key, else a physical block
        self.blocks: dict[int, set[int]] = {}

    @property
    def span(self) -> int:
        return max(end for _, end in self.runs.values())

    def owners(self, position: int) -> frozenset[str]:
        return frozenset(n for n, (begin, end) in self.runs.items() if begin <= position < end)

    def known(self, position: int, bare: Set[int]) -> set[tuple[str, Hashable]]:
        """What is known of a position: its key, and the physical blocks that hold it.

        Args:
            bare: blocks that hold a position without a stated key. Where both state one, it
                decides.
        """
        inside, blocks = self.inside.get(position), self.blocks.get(position, set())
        keyed = inside is not None and inside[0] == "key"
        found: set[tuple[str, Hashable]] = {("block", b) for b in blocks if not keyed or b in bare}
        return found if inside is None else found | {inside}


def _bare(objects: Iterable[_Object]) -> set[int]:
    """The physical blocks that hold a position without a stated key."""
    return {
        block
        for of in objects
        for position, blocks in of.blocks.items()
        if of.inside.get(position, ("block", 0))[0] == "block"
        for block in blocks
    }


def _parts(claim: ClaimRun) -> Iterator[tuple[Hashable, int, int]]:
    """The positions of which the claim states the content, and those where its object says it."""
    keyed = min(len(claim.keys), claim.declared)
    if keyed:
        yield ("content", claim.claim_id), 0, keyed
    if keyed < claim.declared:
        yield claim.object, keyed, claim.declared


def _objects(claims: Iterable[ClaimRun]) -> list[_Object]:
    found: dict[Hashable, _Object] = {}
    keys: dict[Hashable, dict[int, str]] = {}  # of each object, as claims on it state them
    for claim in claims:
        for of, begin, end in _parts(claim):
            there = found.setdefault(of, _Object(claim.cache_identity))
            there.runs[claim.claim_id] = begin, end
            for position, block in claim.held.places(end):
                if position >= begin:
                    there.inside.setdefault(position, ("block", block))
                    there.blocks.setdefault(position, set()).update(claim.held.at(position))
        for position, key in enumerate(claim.keys[: claim.declared]):
            found["content", claim.claim_id].inside[position] = "key", key
            keys.setdefault(claim.object, {}).setdefault(position, key)
    for about, stated in keys.items():
        if (rest := found.get(about)) is not None:
            rest.inside |= {p: ("key", k) for p, k in stated.items() if rest.owners(p)}
    return list(found.values())


def _points(objects: Sequence[_Object]) -> list[int]:
    """Before which positions anything may change: the owners, or what is known."""
    found = {0}
    for of in objects:
        found.update(*of.runs.values())
        for position in of.inside:
            found |= {position, position + 1}
    return sorted(found)


def certain(claims: Sequence[ClaimRun]) -> Iterator[Run]:
    """The blocks where positions are one only if that is known."""
    known: dict[Hashable, _Cell] = {}
    objects = _objects(claims)
    bare = _bare(objects)
    for of in objects:
        points = [point for point in _points([of]) if point < of.span]
        for begin, end in zip(points, [*points[1:], of.span], strict=True):
            owners, inside = of.owners(begin), of.known(begin, bare)
            if inside:
                _Cell(set(owners), inside).enter(known)
            elif owners:
                yield Run(end - begin, owners)
    yield from _of_one(known)


def possible(claims: Sequence[ClaimRun]) -> Iterator[Run]:
    """The blocks where positions are one wherever they may be.

    Equal positions of objects of one cache may be one block, unless both state their contents and
    these differ, or both are held in blocks and these differ.
    """
    objects = _objects(claims)
    points, bare = _points(objects), _bare(objects)
    most = max(of.span for of in objects)
    points = [point for point in points if point < most]
    known: dict[Hashable, _Cell] = {}  # by a key or block: it may be at another position, too
    for begin, end in zip(points, [*points[1:], most], strict=True):
        for cell in _merged([of for of in objects if of.owners(begin)], begin):
            owners = set[str]().union(*(of.owners(begin) for of in cell))
            inside = {each for of in cell for each in of.known(begin, bare)}
            if not inside:
                yield Run(end - begin, frozenset(owners))
            else:
                _Cell(owners, inside).enter(known)
    yield from _of_one(known)


@dataclass(eq=False)
class _Cell:
    """A block of which something is known: its owners, and the keys and blocks that it may be."""

    owners: set[str]
    inside: set[tuple[str, Hashable]]

    def enter(self, known: dict[Hashable, _Cell]) -> None:
        """It is one with those that are known of any of its keys and blocks."""
        for other in {
            id(known[each]): known[each] for each in self.inside if each in known
        }.values():
            self.owners |= other.owners
            self.inside |= other.inside
        known |= dict.fromkeys(self.inside, self)


def _of_one(known: Mapping[Hashable, _Cell]) -> Iterator[Run]:
    """Each of these blocks once."""
    for found in {id(cell): cell for cell in known.values()}.values():
        yield Run(1, frozenset(found.owners))


def _merged(there: Sequence[_Object], position: int) -> list[list[_Object]]:
    """The objects of which this position may be one block, each with all that may be one with any
    of the others.

    Two may be one unless they are in different caches, both state a key and these differ, or blocks
    are known of both, not both have a key, and no block is in both.
    """
    groups = list(range(len(there)))  # a forest: each tree is a group

    def root(one: int) -> int:
        while groups[one] != one:
            groups[one] = one = groups[groups[one]]
        return one

    def join(some: Sequence[int]) -> None:
        for other in some[1:]:
            groups[root(other)] = root(some[0])

    for hubs, others in _ties(there, position):
        if not hubs:
            continue
        of_hubs, of_others = (_by_cache(there, some) for some in (hubs, others))
        anywhere = of_others.pop(None, [])  # may be one with each hub
        join(anywhere)
        if (everywhere := of_hubs.pop(None, [])) and others:  # each may be one with all others
            join([*everywhere, *others])
        for cache, some in of_hubs.items():
            near = [*of_others.get(cache, []), *anywhere[:1]]
            join([*some, *near] if near else [])
    found: dict[int, list[_Object]] = {}
    for one, of in enumerate(there):
        found.setdefault(root(one), []).append(of)
    return list(found.values())


def _ties(there: Sequence[_Object], position: int) -> Iterator[tuple[list[int], list[int]]]:
    """Each of the first may be one with each of the second, but for their caches."""
    every = range(len(there))
    inside = [of.inside.get(position, ("nothing", None)) for of in there]
    blocks = [of.blocks.get(position, set()) for of in there]
    kinds = {
        kind: [one for one in every if inside[one][0] == kind]
        for kind in ("nothing", "key", "block")
    }
    of_key: dict[Hashable, list[int]] = {}
    of_block: dict[int, tuple[list[int], list[int]]] = {}  # without a key, and all
    for one in kinds["key"]:
        of_key.setdefault(inside[one][1], []).append(one)
    for one in (*kinds["key"], *kinds["block"]):
        for block in blocks[one]:
            bare, holders = of_block.setdefault(block, ([], []))
            holders.append(one)
            if inside[one][0] == "block":
                bare.append(one)
    yield kinds["nothing"], list(every)
    yield [one for one in kinds["key"] if not blocks[one]], kinds["block"]
    yield from ((some, some) for some in of_key.values())
    yield from of_block.values()


def _by_cache(there: Sequence[_Object], some: Iterable[int]) -> dict[str | bytes | None, list[int]]:
    found: dict[str | bytes | None, list[int]] = {}
    for one in some:
        found.setdefault(there[one].cache, []).append(one)
    return found
