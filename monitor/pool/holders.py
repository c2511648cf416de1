"""Tracks which claims hold each physical block of a pool, and at which of their positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.evaluate.positions import alike
from monitor.pool.ahead import Ahead
from monitor.pool.groups import Groups
from monitor.pool.owners import Owners
from monitor.pool.shares import stating, where_alike

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from monitor.evaluate.claim import ClaimRun
    from monitor.pool.stated import Stated

__all__ = ["SHARES", "Holders"]

SHARES: Final = 300_000
"""Blocks that claims share, each counted once for each claim but the first."""


class Holders:
    """Which claims hold each physical block, and at which of their positions.

    Blocks of an object belong to every claim on it. A load may not name its blocks: `_unnamed` are
    the claims of which some were never named. Of the claims that were forgotten the last one stays
    known as an owner of its blocks, in `_forgotten`, without positions. A claim that holds anything
    is among those `_on` its object, which is `noted` of it. `mixed` are the blocks that are held
    for more than one object; `claims` are those in hand. Blocks are followed for the sake of claims
    that are tracked: of others nothing is known once they ended. `now` is the number of the event
    in hand, `lost` that of the last one before track was lost, `missed` the same where lines may be
    missing; `_stated` has those of blocks that were stated since then. `full` says that claims
    share more than is followed. `_brought` are the claims that hold what others with the same
    content may not: it came before they were tracked, or to all on their object before they could
    state their contents.
    """

    def __init__(self, claims: dict[str, ClaimRun], stated: Stated) -> None:
        self.claims, self.stated = claims, stated
        self.mixed: dict[int, None] = {}
        self.now = 0
        self.lost = self.missed = -1
        self.full = False
        self._shares = 0
        self._stated: dict[int, int] = {}
        self._placed: set[int] = set()  # since lines may be missing, and not gone since
        self._owners = Owners()
        self._unnamed: dict[str, ClaimRun] = {}
        self._brought: set[str] = set()
        self._forgotten: dict[int, str] = {}
        self._keyed: dict[tuple[int, str], dict[str, ClaimRun]] = {}
        self._on: Groups[Hashable] = Groups()
        self.ahead = Ahead()

    def owners(self, blocks: Iterable[int]) -> list[str]:
        """The claims that hold any of these blocks."""
        return sorted({claim_id for block in blocks for claim_id in self._owners.names(block)})

    def forget(self, claim: ClaimRun) -> None:
        """The claim is forgotten, and what it holds is followed no more."""
        for block in claim.held.blocks:
            holders, before = self._owners.of(block), self._forgotten.get(block, "")
            owners = len(holders)
            if not holders.get(before):
                holders.pop(before, None)
            holders[claim.claim_id] = set()
            self._shares += len(holders) - owners
            self._forgotten[block] = claim.claim_id
        self._unnamed.pop(claim.claim_id, None)
        self._brought.discard(claim.claim_id)
        self._off(claim)
        self.unstate(claim)

    def unstate(self, claim: ClaimRun) -> None:
        """The contents of a claim are not what they were, or it is forgotten."""
        self.ahead.unstate(claim)
        for place in enumerate(claim.keys):
            if (mates := self._keyed.get(place)) is not None:
                mates.pop(claim.claim_id, None)
                if not mates:
                    del self._keyed[place]

    def _note(self, claim: ClaimRun) -> None:
        if claim.noted is claim.object:
            return
        claim.noted = claim.object
        self._on.add(claim.object, claim)

    def _off(self, claim: ClaimRun) -> None:
        """The claim holds nothing of the object that it was noted on."""
        self._on.remove(claim.noted, claim.claim_id)
        self.ahead.leave(claim, claim.noted)
        claim.noted = None

    def _off_all(self) -> None:
        """No claim holds anything."""
        for claim in self.claims.values():
            claim.noted = None
        self._on.clear()

    def brings(self, claim: ClaimRun) -> bool:
        """Whether others with the content of a claim may lack what it holds."""
        return claim.claim_id in self._brought

    def _bring(self, claim: ClaimRun, *, shared: bool) -> None:
        """Blocks came to a claim, and to others on its object if they are shared."""
        if not claim.tracked or (shared and not claim.committed):
            self._brought.add(claim.claim_id)
        if not claim.tracked:
            self.ahead.hold(claim)

    def _lend(self, claim: ClaimRun, runs: Iterable[tuple[int, int]]) -> bool:
        """The claim holds these positions in blocks without known ids; whether there are any."""
        runs = list(runs)
        for begin, end in runs:
            claim.held.hold_run(begin, end)
        if runs:
            self._unnamed[claim.claim_id] = claim
            self._note(claim)
        return bool(runs)

    def _all_mates(self, claim: ClaimRun) -> Iterator[ClaimRun]:
        """The claims that hold the same content anywhere."""
        for position in range(len(claim.keys)):
            yield from self._mates(claim, position)

    def _alike_runs(
        self, claim: ClaimRun, kin: Iterable[ClaimRun], begin: int, end: int
    ) -> Iterator[tuple[ClaimRun, int, int]]:
        """The other claims that hold the same from a position to before another one, and where.

        Args:
            kin: claims on its object.
        """
        for other in kin:
            if other is not claim:
                yield from ((other, *run) for run in where_alike(claim, other, begin, end))
        kin = [*kin]
        reach = max((len(each.keys) for each in (claim, *kin)), default=0)
        for position in range(begin, min(end, reach)):
            keys = stating(claim, kin, position).keys
            mates = self._keyed.get((position, keys[position]), {}) if position < len(keys) else {}
            yield from ((m, position, position + 1) for m in list(mates.values()) if m is not claim)

    def wipe(self, claim: ClaimRun) -> None:
        """The claim holds nothing any more."""
        for block in claim.held.blocks:
            holders = self._owners.get(block) or {}
            several = len(holders) > 1
            self._shares -= holders.pop(claim.claim_id, None) is not None and several
            if not holders:
                self._owners.drop(block)
                self.mixed.pop(block, None)
        claim.held.clear()
        self._brought.discard(claim.claim_id)
        self._off(claim)

    def _give(self, claim: ClaimRun, pairs: Iterable[tuple[int, int]]) -> bool:
        """The claim holds these pairs of a position and a block; whether any is new."""
        new, pairs = False, list(pairs)
        if not pairs:
            return False
        blocks, positions = [block for _, block in pairs], [position for position, _ in pairs]
        if self._are_new(blocks, positions, claim):
            claim.held.place(self._owners.place(claim.claim_id, blocks, alike(positions)))
            self._note(claim)
            return True
        for position, block in pairs:
            holders = self._owners.of(block)
            if holders and claim.claim_id not in holders:
                if self._shares >= SHARES:
                    self.full = True
                    continue
                self._shares += 1
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

    def are_free(self, blocks: Sequence[int], positions: Sequence[int], claim: ClaimRun) -> bool:
        """Whether these blocks, one for each position, are nobody's, and stated for no object; and
        the claim holds none of the positions.
        """
        return self._are_new(blocks, positions, claim) and self._are_unknown(blocks)

    def is_untouched(self, claim: ClaimRun) -> bool:
        """Whether nothing is known of any block of the object of a claim that holds nothing."""
        if not self.stated.is_empty or claim.object in self._on or claim.noted is not None:
            return False
        return not self.stated.forgot(claim)

    def are_new(self, keys: Sequence[str]) -> bool:
        """Whether these contents differ, and no claim states one of them of the same position."""
        if len(set(keys)) < len(keys):
            return False
        return not any(self._keyed.get(place) for place in enumerate(keys))

    def has_alone(self, claim: ClaimRun, positions: Sequence[int]) -> bool:
        """Whether no other claim states the contents that a claim states of these positions."""
        keys, keyed = claim.keys, self._keyed
        return all(
            len(keyed.get((position, keys[position]), ())) < 2
            for position in positions
            if position < len(keys)
        )

    def are_unowned(self, blocks: Sequence[int]) -> bool:
        """Whether these blocks have no owner, each named once, and are stated for no object."""
        distinct = len(blocks) == 1 or len(set(blocks)) == len(blocks)
        return distinct and self._owners.are_free(blocks) and self._are_unknown(blocks)

    def _are_unknown(self, blocks: Sequence[int]) -> bool:
        """Whether no forgotten claim held these blocks, and none is stated for an object."""
        if self._forgotten and not self._forgotten.keys().isdisjoint(blocks):
            return False
        return self.stated.is_empty or self.stated.are_nowhere(blocks)

    def _are_new(self, blocks: Sequence[int], positions: Sequence[int], claim: ClaimRun) -> bool:
        """Whether nobody holds these blocks, one for each position, and the claim none of these."""
        return (
            0 < len(blocks) == len(positions) == len(set(blocks)) == len(set(positions))
            and self._owners.are_free(blocks)
            and not (claim.held and any(map(claim.held.holds, positions)))
        )

    def place(self, blocks: Sequence[int], positions: Sequence[int], claim: ClaimRun) -> None:
        """The claim holds these blocks, which are free, at these positions."""
        claim.held.place(self._owners.place(claim.claim_id, blocks, alike(positions)))
        self._note_stated(blocks)
        self._note(claim)

    def extend(
        self,
        blocks: Sequence[int],
        positions: Sequence[int],
        claim: ClaimRun,
        end: int,
        *,
        fresh: bool,
    ) -> None:
        """The claim holds these blocks, which are unowned, one after another behind all that it
        holds; `Positions.extend` has the arguments.
        """
        run = self._owners.place(claim.claim_id, blocks, alike(positions))
        self._note_stated(blocks)
        claim.held.extend(run, end, fresh=fresh)
        if claim.noted is None:
            self._note(claim)

    def sole_owners(self, blocks: Sequence[int]) -> list[tuple[ClaimRun | None, int]] | None:
        """The one claim, if any, that holds each of these blocks, and at which one position; None
        where a block has more than one, or it is unknown whether it has any.
        """
        found: list[tuple[ClaimRun | None, int]] = []
        for block in blocks:
            sole = self._owners.sole(block)
            if sole is None:
                if self._unnamed or not self._owners.are_free([block]):
                    return None
                found.append((None, 0))
                continue
            name, position = sole
            claim = self.claims.get(name)
            if claim is None:
                return None
            found.append((claim, position))
        return found if len(set(blocks)) == len(blocks) else None

    def sole_run(self, blocks: Sequence[int]) -> tuple[ClaimRun, int] | None:
        """The claim that holds these blocks and no others, each alone and at one position, and the
        first of these; None where there is none.
        """
        run = self._owners.run(blocks)
        claim = None if run is None else self.claims.get(run.claim_id)
        if run is None or claim is None or not claim.held.are_all(run):
            return None
        return claim, run.first

    def take_run(self, blocks: Sequence[int], claim: ClaimRun, first: int) -> bool:
        """The blocks of a `sole_run` are gone from its claim; whether one of its own is."""
        claim.held.clear()
        for known in (self._stated, self._forgotten, self.mixed):
            if known:
                for block in blocks:
                    known.pop(block, None)
        self._owners.drop_run(blocks)
        if not self.stated.is_empty:
            self.stated.lose(blocks)
        if claim.owns(first):
            return True
        claim.strayed = True
        return False

    def _let_go(self, block: int) -> None:
        """Whatever is known of a block but for its owners, is over."""
        self._stated.pop(block, None)
        self._forgotten.pop(block, None)
        self.mixed.pop(block, None)

    def take_from(
        self, blocks: Sequence[int], owners: Sequence[tuple[ClaimRun | None, int]]
    ) -> list[ClaimRun]:
        """These blocks are gone from their `sole_owners`; those of which one of their own is."""
        losers: dict[str, ClaimRun] = {}
        strays: dict[str, ClaimRun] = {}
        for block, (claim, position) in zip(blocks, owners, strict=True):
            self._let_go(block)
            if claim is None:
                continue
            self._owners.drop(block)
            if claim.held.take(position, block):
                (losers if claim.owns(position) else strays)[claim.claim_id] = claim
        if not self.stated.is_empty:
            self.stated.lose(blocks)
        for name, claim in strays.items():
            claim.strayed |= name not in losers
        return list(losers.values())

    def _note_stated(self, blocks: Iterable[int]) -> None:
        """Blocks are stated by this event; as long as nothing is missing it matters not when."""
        if self.lost >= 0 or self.missed >= 0:
            self._stated.update(dict.fromkeys(blocks, self.now))

    def _mix(self, block: int, claim: ClaimRun, holders: Iterable[str]) -> None:
        """Claims that ended hold it no more, or it does not matter; the others are on one object,
        but perhaps for this claim.
        """
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
