"""The block ledger of a pool: whose each physical block is, and who loses one that is gone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from monitor.claim import ClaimRun
    from spec.events import Event

__all__ = ["Blocks", "Held", "Lost"]


class Held(NamedTuple):
    """What an event says to be there: for whom anything is new, and what it contradicts.

    `stated` is false where the event does not say which blocks, or how many; `clash` are the claims
    that hold one of the blocks at another position.
    """

    stated: bool
    changed: list[ClaimRun]
    clash: list[ClaimRun]


class Lost(NamedTuple):
    """Who loses a position by an event, and of whom nobody knows whether."""

    losers: dict[str, ClaimRun]
    unseen: list[ClaimRun]


@dataclass(slots=True)
class Blocks:
    """Which claims hold each physical block, and at which of their positions.

    Blocks of an object belong to every claim on it. A load may not name its blocks: `_unnamed` are
    the claims of which some were never named. Of the claims that were forgotten the last one stays
    known as an owner of its blocks, in `_forgotten`, without positions. Whoever holds anything is
    among `_holding`, and among those `_on` its object. `mixed` are the blocks that are held for
    more than one object; `claims` are those in hand. What is said of blocks is said for the sake of
    claims that are tracked: of others nothing is known once they ended. `now` is the number of the
    event in hand, `lost` that of the last one before track was lost.
    """

    claims: Mapping[str, ClaimRun]
    mixed: dict[int, None] = field(default_factory=dict)
    now: int = 0
    lost: int = -1
    _stated: dict[int, int] = field(default_factory=dict)
    _owners: dict[int, dict[str, set[int]]] = field(default_factory=dict)
    _unnamed: dict[str, ClaimRun] = field(default_factory=dict)
    _forgotten: dict[int, str] = field(default_factory=dict)
    _keyed: dict[tuple[int, str], dict[str, ClaimRun]] = field(default_factory=dict)
    _holding: dict[str, ClaimRun] = field(default_factory=dict)
    _on: dict[Hashable, dict[str, ClaimRun]] = field(default_factory=dict)

    def owners(self, blocks: Iterable[int]) -> list[str]:
        """The claims that hold any of these blocks."""
        return sorted({claim_id for block in blocks for claim_id in self._owners.get(block, ())})

    def forget(self, claim: ClaimRun) -> None:
        """The claim is forgotten, and what it holds is followed no more."""
        for block in claim.held.blocks:
            holders, before = self._owners[block], self._forgotten.get(block, "")
            if not holders.get(before):
                holders.pop(before, None)
            holders[claim.claim_id] = set()
            self._forgotten[block] = claim.claim_id
        self._unnamed.pop(claim.claim_id, None)
        self._holding.pop(claim.claim_id, None)
        self._on.get(claim.object, {}).pop(claim.claim_id, None)
        for place in enumerate(claim.keys):
            self._keyed.get(place, {}).pop(claim.claim_id, None)

    def join(self, claim: ClaimRun) -> bool:
        """A claim is on an object from now on: what is held for others on it is held for it.

        Returns:
            Whether any of it may be gone, since it was stated before track was lost.
        """
        for other in list(self._on.get(claim.object, {}).values()):
            if other is not claim and other.tracked and other.held:
                self._give(claim, _shared(other, claim, other.held.pairs()))
                break
        if claim.held:
            self._note(claim)
        return any(self._stated.get(block, 0) <= self.lost for block in claim.held.blocks)

    def _note(self, claim: ClaimRun) -> None:
        self._holding[claim.claim_id] = claim
        if claim.object is not None:
            self._on.setdefault(claim.object, {})[claim.claim_id] = claim

    def state(self, claim: ClaimRun, keys: tuple[str, ...]) -> None:
        """The claim states the contents of its positions: blocks with these contents are its."""
        claim.keys = keys
        for place in enumerate(keys):
            mates = self._keyed.setdefault(place, {})
            for mate in mates.values():
                if mate.tracked:
                    position = place[0]
                    self._give(claim, [(position, block) for block in mate.held.at(position)])
                    break
            mates[claim.claim_id] = claim

    def hold(self, event: Event, claim: ClaimRun, kin: Sequence[ClaimRun]) -> Held:
        """Blocks of a claim are there.

        Args:
            kin: the claims on its object, and it.
        """
        positions, start = event.positions, claim.held.start
        if event.block_ids and positions:
            pairs = list(zip(positions, event.block_ids, strict=False))
            self._stated |= dict.fromkeys(event.block_ids, self.now)
            clash = self._clashes(pairs)
            clash += [claim] if clash else []
            changed: dict[str, ClaimRun] = {}
            for each in kin:
                named = each is claim and event.claim_id is not None
                if self._give(each, pairs if named else _shared(claim, each, pairs)):
                    changed[each.claim_id] = each
            for position, block in pairs:
                for mate in self._mates(claim, position):
                    if self._give(mate, [(position, block)]):
                        changed[mate.claim_id] = mate
            return Held(True, list(changed.values()), clash)
        runs = [(position, position + 1) for position in positions]
        if event.held is not None:
            runs.append((start, start + event.held))
        for each in kin:
            for begin, end in runs:
                each.held.hold_run(begin, end)
            self._unnamed[each.claim_id] = each
            self._note(each)
        return Held(bool(runs), list(kin), [])

    def lose(self, event: Event, meant: Sequence[ClaimRun]) -> Lost:
        """Blocks are gone. Of copies of one position the last one counts.

        Args:
            meant: the claims that the event names, or that are on the object that it names.
        """
        nobody = event.claim_id is None and event.object_id is None
        losers: dict[str, ClaimRun] = {}
        if not event.block_ids:  # all of them
            losers = {claim.claim_id: claim for claim in meant}
            if nobody:
                losers = {name: claim for name, claim in self._holding.items() if claim.held}
                self._holding.clear()
                self._on.clear()
            for claim in losers.values():
                self.wipe(claim)
            if nobody:
                self._owners.clear()
                self._forgotten.clear()
                self._stated.clear()
                self.mixed.clear()
        unseen: dict[str, ClaimRun] = {}
        for place, block in enumerate(event.block_ids):
            holders = self._owners.pop(block, {})
            self._forgotten.pop(block, None)
            self._stated.pop(block, None)
            self.mixed.pop(block, None)
            for claim_id, positions in holders.items():
                holder = self.claims.get(claim_id)
                if holder is not None and holder.loses(block, positions):
                    losers[claim_id] = holder
            for claim in meant:
                if claim.claim_id in holders:
                    continue
                if event.positions:
                    claim.held.drop_unnamed(event.positions[place])
                    losers[claim.claim_id] = claim
                elif claim.held.unnamed:
                    unseen[claim.claim_id] = claim
                    if claim.held.sole:  # whichever it was
                        losers[claim.claim_id] = claim
                elif not holders or not claim.held:
                    losers[claim.claim_id] = claim
            if nobody and not holders:
                unseen.update(self._unnamed)
                self._unnamed.clear()
        return Lost(losers, [claim for claim in unseen.values() if claim.held.unnamed])

    def wipe(self, claim: ClaimRun) -> None:
        """The claim holds nothing any more."""
        for block in claim.held.blocks:
            holders = self._owners.get(block, {})
            holders.pop(claim.claim_id, None)
            if not holders:
                self._owners.pop(block, None)
                self.mixed.pop(block, None)
        claim.held.clear()
        self._on.get(claim.object, {}).pop(claim.claim_id, None)

    def _give(self, claim: ClaimRun, pairs: Iterable[tuple[int, int]]) -> bool:
        """The claim holds these pairs of a position and a block; whether any is new."""
        new = False
        for position, block in pairs:
            holders = self._owners.setdefault(block, {})
            mine = holders.setdefault(claim.claim_id, set())
            if position not in mine:
                new = True
                mine.add(position)
                claim.held.hold([(position, block)])
                if len(holders) > 1 and block not in self.mixed:
                    self._mix(block, claim, holders)
        if new:
            self._note(claim)
        return new

    def _mix(self, block: int, claim: ClaimRun, holders: Iterable[str]) -> None:
        """Claims that ended hold it no more, or it does not matter; the others are on one object,
        but perhaps for this claim."""
        known = (self.claims.get(name) for name in holders)
        live = (c for c in known if c is not None and c is not claim and not c.ended)
        other = next(live, None)
        if other is not None and other.object != claim.object and not claim.ended:
            self.mixed[block] = None

    def _mates(self, claim: ClaimRun, position: int) -> Iterator[ClaimRun]:
        """The claims that hold the same content at this position."""
        if position < len(claim.keys):
            mates = self._keyed.get((position, claim.keys[position]), {}).values()
            yield from (mate for mate in list(mates) if mate.tracked)

    def _clashes(self, pairs: Iterable[tuple[int, int]]) -> list[ClaimRun]:
        """The claims that hold one of these blocks at another position.

        Those that are not tracked any more do not: their blocks may be gone unsaid.
        """
        found: dict[str, ClaimRun] = {}
        for position, block in pairs:
            for name, positions in list(self._owners.get(block, {}).items()):
                holder = self.claims.get(name)
                if holder is None or positions <= {position}:
                    continue
                if holder.tracked:
                    found[name] = holder
                else:
                    holder.loses(block, positions - {position})
                    positions &= {position}
        return list(found.values())


def _shared(
    one: ClaimRun, other: ClaimRun, pairs: Iterable[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Of the pairs of a position and a block that one claim holds those that the other does."""
    return [pair for pair in pairs if pair[0] < other.extent and _alike(one, other, pair[0])]


def _alike(one: ClaimRun, other: ClaimRun, position: int) -> bool:
    """Whether two claims on one object hold the same there: both may state contents that differ."""
    if position >= min(len(one.keys), len(other.keys)):
        return True
    return one.keys[position] == other.keys[position]
