"""Computes the blocks that responsible claims take in a pool; shared blocks count once.

A claim takes one block for each of its positions. Two positions are one block if they are the same
position of one object, if their content keys are equal, or if one physical block holds both. Where
that is not known, the sums have two ends: positions that may be shared are, or are not.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from typing import TYPE_CHECKING, Final

from monitor.pool.cells import Cells, Freed, certain, possible
from monitor.pool.sums import Ends

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping

    from monitor.evaluate.claim import ClaimRun
    from monitor.pool.sums import Sums

__all__ = ["MOST", "Room"]

MOST: Final = 1_000_000
"""Blocks and claims that are compared where it is unknown what is shared; with more of them the
sums are not known.
"""


class _Object:
    """The claims on one object: how many blocks each has, and all these numbers in order."""

    __slots__ = ("blocks", "sizes")

    def __init__(self) -> None:
        self.blocks: dict[str, int] = {}
        self.sizes: list[int] = []

    @property
    def span(self) -> int:
        return self.sizes[-1] if self.sizes else 0

    def put(self, claim_id: str, blocks: int) -> None:
        if claim_id in self.blocks:
            del self.sizes[bisect_left(self.sizes, self.blocks.pop(claim_id))]
        if blocks:
            self.blocks[claim_id] = blocks
            insort(self.sizes, blocks)

    def beside_one(self, name: str) -> int:
        """Blocks of the largest claim but this one."""
        if self.blocks[name] < self.sizes[-1]:
            return self.sizes[-1]
        return self.sizes[-2] if len(self.sizes) > 1 else 0

    def beside(self, names: Iterable[str]) -> int:
        """Blocks of the largest claim that is not among these."""
        without = Counter(self.blocks[name] for name in names)
        for size in reversed(self.sizes):
            if not without[size]:
                return size
            without[size] -= 1
        return 0


class Room:
    """The blocks of the responsible claims of one pool, where objects share nothing by content.

    How many blocks were `counted` for a claim, the claim itself says.

    Args:
        known: the claims of the stream, by their ids; all that take blocks are among them.
    """

    def __init__(self, known: Mapping[str, ClaimRun]) -> None:
        self._known = known
        self._objects: dict[Hashable, _Object | str] = {}  # or the id of the one claim on it
        self._contents: dict[str, Hashable] = {}  # of the claims here, as they were counted
        self._ends: Ends | None = None
        self.bound = 0
        self._keyed = set[str]()  # claims that state content keys

    def has(self, name: str) -> bool:
        """Whether a claim takes any blocks."""
        return name in self._contents

    def put(self, claim: ClaimRun, blocks: int) -> None:
        """A claim takes so many blocks from now on."""
        name = claim.claim_id
        if (before := self._contents.pop(name, None)) is not None:
            self._count(before, name, 0)
        elif not blocks:
            self.forget()
            return
        if blocks:
            content = self._contents[name] = claim.content
            self._count(content, name, blocks)
        self._note(claim, blocks)
        if blocks and claim.keys:
            self._keyed.add(name)
        else:
            self._keyed.discard(name)
        self.forget()

    def _note(self, claim: ClaimRun, blocks: int) -> None:
        """So many are counted for a claim."""
        claim.counted = blocks

    def _counted(self, name: str) -> int:
        """How many are counted for a claim."""
        return self._known[name].counted

    def _count(self, content: Hashable, name: str, blocks: int) -> None:
        there = self._objects.get(content)
        if there is None or (isinstance(there, str) and there == name):
            self.bound += blocks - (0 if there is None else self._counted(name))
            if blocks:
                self._objects[content] = name
            elif there is not None:
                del self._objects[content]
            return
        if isinstance(there, str):
            alone, there = there, _Object()
            there.put(alone, self._counted(alone))
            self._objects[content] = there
        span = there.span
        there.put(name, blocks)
        self.bound += there.span - span
        if not there.blocks:
            del self._objects[content]

    def forget(self) -> None:
        """Which blocks are shared may have changed."""
        self._ends = None

    def ends(self, mixed: Mapping[int, object]) -> Ends:
        """Both ends of the sums.

        Args:
            mixed: the physical blocks that are held for more than one object.
        """
        if self._ends is None:
            self._ends = self._compute(mixed)
        return self._ends

    def since(self, number: int, mixed: Mapping[int, object]) -> Ends:
        """Both ends of the sums of those responsible since the event of this number."""
        claims = self._claims()
        if all(claim.took <= number for claim in claims):
            return self.ends(mixed)
        elder = _Elder(self._known)
        for claim in claims:
            if claim.took <= number:
                elder.put(claim, claim.declared)
        return elder.ends(mixed)

    def _claims(self) -> list[ClaimRun]:
        """The claims that take blocks."""
        return [self._known[name] for name in self._contents]

    def _compute(self, mixed: Mapping[int, object]) -> Ends:
        claims = self._claims()
        plain = not self._keyed and not mixed
        high: Sums = self if plain else Cells(certain(claims))
        if len(self._objects) < 2 or _determined(claims):
            return Ends(high)
        size = sum(min(claim.declared, claim.held.count + 2) for claim in claims)
        if size * len(self._objects) > MOST:
            return Ends(high, unknown=True)
        return Ends(high, Cells(possible(claims)))

    # Sums, where only claims on one object share.

    @property
    def total(self) -> int:
        """Blocks of all claims, each once."""
        return self.bound

    def alone(self, claim_id: str) -> int:
        """Blocks that the claim has alone."""
        if claim_id not in self._contents:
            return 0
        there = self._objects[self._contents[claim_id]]
        if isinstance(there, str):
            return self._counted(there)
        return max(0, there.blocks[claim_id] - there.beside_one(claim_id))

    def freed(self, names: Collection[str]) -> Freed:
        """What these claims free: the blocks of which they are all owners."""
        by_object: dict[Hashable, list[str]] = {}
        blocks, shares, contents = 0, dict[str, int](), self._contents
        for name in names:
            if name not in contents:
                continue
            there = self._objects[of := contents[name]]
            if isinstance(there, str):
                shares[name] = self._counted(name)
                blocks += shares[name]
            else:
                by_object.setdefault(of, []).append(name)
        for of, named in by_object.items():
            there = self._objects[of]
            assert isinstance(there, _Object)
            beside = there.beside(named)
            blocks += there.span - beside if beside < there.span else 0
            shares |= {name: max(0, there.blocks[name] - beside) for name in named}
        return Freed(blocks, shares)


class _Elder(Room):
    """The same for some of the claims, which are as they declare, and stay so."""

    def _note(self, claim: ClaimRun, blocks: int) -> None:
        """The claim says what is counted for it in the room of all."""

    def _counted(self, name: str) -> int:
        return self._known[name].declared


def _determined(claims: Iterable[ClaimRun]) -> bool:
    """Whether it is known of every position what it holds: all have keys, or all known blocks."""
    keyed = placed = True
    for claim in claims:
        keyed = keyed and len(claim.keys) >= claim.declared
        placed = placed and claim.held.placed >= claim.declared
        if not (keyed or placed):
            return False
    return True
