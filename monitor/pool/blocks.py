"""Tracks the owners of each physical block of a pool, and who loses a block."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from monitor.pool.objects import is_elsewhere
from monitor.pool.shares import differ, shared, where_alike

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from monitor.evaluate.claim import ClaimRun
    from monitor.pool.stated import Stated
    from spec.events.canonical import Event

__all__ = ["Blocks", "Held", "Lost"]

_MOST_ASKED: Final = 512  # claims on one object that are asked for what they hold
_MOST_MATES: Final = 64  # claims with the same content at one position

SHARES: Final = 300_000
"""Blocks that claims share, each counted once for each claim but the first."""


class Held(NamedTuple):
    """For whom anything is new that an event says to be there.

    `stated` is false where the event does not say which blocks, or how many.
    """

    stated: bool
    changed: list[ClaimRun]


class Moved(NamedTuple):
    """The claims that hold a block of an event at another position, or with another content, and
    those that held it elsewhere until then, of whom nobody follows it.
    """

    clash: list[ClaimRun]
    left: list[ClaimRun]


class Lost(NamedTuple):
    """Who loses a position by an event, and of whom nobody knows whether; `strays` are those that
    lose none of their own, but some behind their end.
    """

    losers: dict[str, ClaimRun]
    unseen: list[ClaimRun]
    strays: list[ClaimRun]


@dataclass(slots=True)
class Blocks:
    """Which claims hold each physical block, and at which of their positions.

    Blocks of an object belong to every claim on it. A load may not name its blocks: `_unnamed` are
    the claims of which some were never named. Of the claims that were forgotten the last one stays
    known as an owner of its blocks, in `_forgotten`, without positions. Whoever holds anything is
    among `_holding`, and among those `_on` its object. `mixed` are the blocks that are held for
    more than one object; `claims` are those in hand. What is said of blocks is said for the sake of
    claims that are tracked: of others nothing is known once they ended. `now` is the number of the
    event in hand, `lost` that of the last one before track was lost, `missed` the same where lines
    may be missing. `full` says that claims share more than is followed.
    """

    claims: Mapping[str, ClaimRun]
    stated: Stated
    mixed: dict[int, None] = field(default_factory=dict)
    now: int = 0
    lost: int = -1
    missed: int = -1
    full: bool = False
    _shares: int = 0
    _stated: dict[int, int] = field(default_factory=dict)
    _placed: set[int] = field(default_factory=set)  # since lines may be missing, and not gone since
    _owners: dict[int, dict[str, set[int]]] = field(default_factory=dict)
    _unnamed: dict[str, ClaimRun] = field(default_factory=dict)
    _forgotten: dict[int, str] = field(default_factory=dict)
    _keyed: dict[tuple[int, str], dict[str, ClaimRun]] = field(default_factory=dict)
    _holding: dict[str, ClaimRun] = field(default_factory=dict)
    _on: dict[Hashable, dict[str, ClaimRun]] = field(default_factory=dict)
    _noted: dict[str, Hashable] = field(default_factory=dict)  # on which object

    def owners(self, blocks: Iterable[int]) -> list[str]:
        """The claims that hold any of these blocks."""
        return sorted({claim_id for block in blocks for claim_id in self._owners.get(block, ())})

    def forget(self, claim: ClaimRun) -> None:
        """The claim is forgotten, and what it holds is followed no more."""
        for block in claim.held.blocks:
            holders, before = self._owners[block], self._forgotten.get(block, "")
            owners = len(holders)
            if not holders.get(before):
                holders.pop(before, None)
            holders[claim.claim_id] = set()
            self._shares += len(holders) - owners
            self._forgotten[block] = claim.claim_id
        self._unnamed.pop(claim.claim_id, None)
        self._holding.pop(claim.claim_id, None)
        self._off(claim)
        for place in enumerate(claim.keys):
            self._keyed.get(place, {}).pop(claim.claim_id, None)

    def join(self, claim: ClaimRun) -> bool:
        """A claim is on an object from now on: what is held for it, or for others on it, is its.

        Returns:
            Whether all that was stated is remembered.
        """
        self._off(claim)
        if claim.held:
            self._note(claim)
        self._give(claim, list(self.stated.of(claim)))
        others = reversed(self._on.get(claim.object, {}).values())
        several = list(islice(others, _MOST_ASKED + 1))
        for other in several[:_MOST_ASKED]:
            if other is not claim and other.tracked:
                self._give(claim, shared(other, claim, other.held.pairs()))
                for begin, end in other.held.runs():
                    self._lend(claim, where_alike(other, claim, begin, end))
                same = (
                    not (claim.keys and other.keys) or claim.keys == other.keys[: len(claim.keys)]
                )
                if same and claim.extent <= other.extent:
                    several = []  # whatever the others hold, this one holds
                    break
        return len(several) <= _MOST_ASKED and not self.stated.forgot(claim)

    def is_stale(self, claim: ClaimRun) -> bool:
        """Whether any block of the claim may be gone, since it was stated before track was lost."""
        if self.lost >= 0 and claim.held.unnamed:
            return True
        return any(self._stated.get(block, 0) <= self.lost for block in claim.held.blocks)

    def miss(self, number: int) -> None:
        """Lines may be missing after the event of this number."""
        self.missed = number
        self._placed.clear()

    def are_unseen(self, blocks: Iterable[int]) -> bool:
        """Whether lines are missing, and some block is nobody's and was not stated since."""
        return self.missed >= 0 and any(
            not self._owners.get(block) and block not in self._placed for block in blocks
        )

    def _note(self, claim: ClaimRun) -> None:
        self._holding[claim.claim_id] = claim
        self._noted[claim.claim_id] = claim.object
        self._on.setdefault(claim.object, {})[claim.claim_id] = claim

    def _off(self, claim: ClaimRun) -> None:
        """The claim holds nothing of the object that it was noted on."""
        about = self._noted.pop(claim.claim_id, None)
        if (there := self._on.get(about)) is not None:
            there.pop(claim.claim_id, None)
            if not there:
                del self._on[about]

    def _lend(self, claim: ClaimRun, runs: Iterable[tuple[int, int]]) -> bool:
        """The claim holds these positions in blocks without known ids; whether there are any."""
        runs = list(runs)
        for begin, end in runs:
            claim.held.hold_run(begin, end)
        if runs:
            self._unnamed[claim.claim_id] = claim
            self._note(claim)
        return bool(runs)

    def state(self, claim: ClaimRun, keys: tuple[str, ...]) -> None:
        """The claim states the contents of its positions: blocks with these contents are its."""
        claim.keys = claim.keys or keys
        for position, key in enumerate(claim.keys):
            mates = self._keyed.setdefault((position, key), {})
            tracked = (mate for mate in mates.values() if mate.tracked and mate is not claim)
            for mate in islice(tracked, _MOST_MATES):
                if mate.held.holds(position):
                    self._give(claim, [(position, block) for block in mate.held.at(position)])
                    if mate.held.unnamed_at(position):
                        self._lend(claim, [(position, position + 1)])
                    break
            mates[claim.claim_id] = claim

    def move(self, event: Event, claim: ClaimRun | None = None) -> Moved:
        """Blocks are at some position: at no other for anybody who is not tracked.

        What is said of an object is remembered for the sake of claims to come.

        Args:
            claim: the one that the event names.
        """
        pairs = list(zip(event.positions, event.block_ids, strict=False))
        moved = self._clashes(event, pairs, claim)
        self.stated.move(pairs)
        if event.claim_id is None:
            self.stated.add(event)
        self._stated |= dict.fromkeys(event.block_ids if pairs else (), self.now)
        if self.missed >= 0:
            self._placed.update(event.block_ids)
        return moved

    def hold(self, event: Event, claim: ClaimRun, kin: Sequence[ClaimRun]) -> Held:
        """Blocks of a claim are there.

        Args:
            kin: the claims on its object, and it.
        """
        positions, start = event.positions, claim.held.start
        if event.block_ids and positions:
            pairs = list(zip(positions, event.block_ids, strict=False))
            changed: dict[str, ClaimRun] = {}
            for each in kin:
                named = each is claim and event.claim_id is not None
                if self._give(each, pairs if named else shared(claim, each, pairs)):
                    changed[each.claim_id] = each
            for position, block in pairs:
                for mate in self._mates(claim, position):
                    if self._give(mate, [(position, block)]):
                        changed[mate.claim_id] = mate
            return Held(True, list(changed.values()))
        own = [(position, position + 1) for position in positions]
        if event.claim_id is None:
            own = [run for run in own if run[0] < claim.extent]
        if event.held is not None:
            own.append((start, start + event.held))
        changed = {claim.claim_id: claim}
        self._lend(claim, own)
        for begin, end in own:
            for each, at, to in self._alike_runs(claim, kin, begin, end):
                if each.tracked and self._lend(each, [(at, to)]):
                    changed[each.claim_id] = each
        stated = bool(positions) or event.held is not None
        if not stated:
            alike = (each for each in kin if any(where_alike(claim, each, 0, each.extent)))
            changed |= {each.claim_id: each for each in (*alike, *self._all_mates(claim))}
        return Held(stated, list(changed.values()))

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
        for position in range(begin, min(end, len(claim.keys))):
            mates = self._keyed.get((position, claim.keys[position]), {})
            yield from ((m, position, position + 1) for m in list(mates.values()) if m is not claim)

    def lose(self, event: Event, meant: Sequence[ClaimRun]) -> Lost:
        """Blocks are gone. Of copies of one position the last one counts.

        Args:
            meant: the claims that the event names, or that are on the object that it names.
        """
        nobody = event.claim_id is None and event.object_id is None
        losers: dict[str, ClaimRun] = {}
        strays: dict[str, ClaimRun] = {}
        blocks = event.block_ids
        self._placed.difference_update(blocks)
        if not blocks and nobody:
            return self._lose_all()
        if not blocks:  # all of these claims, and of the object
            blocks = tuple(set[int]().union(*(claim.held.blocks for claim in meant)))
            blocks += tuple(self.stated.about(event) if event.claim_id is None else ())
            losers = {c.claim_id: c for c in meant if not c.held or c.holds_own}
            strays = {c.claim_id: c for c in meant if c.claim_id not in losers}
            for claim in meant:
                whole = event.claim_id is not None
                for run in claim.held.all_runs() if whole else claim.held.runs():
                    self._lose_run(claim, *run, losers, strays)
            meant = ()
        unseen: dict[str, ClaimRun] = {}
        forgot: list[ClaimRun] = []
        for place, block in enumerate(blocks):
            holders = self._owners.pop(block, {})
            self._shares -= max(0, len(holders) - 1)
            self._forgotten.pop(block, None)
            self._stated.pop(block, None)
            self.mixed.pop(block, None)
            for claim_id, positions in holders.items():
                holder = self.claims.get(claim_id)
                lost = [] if holder is None else holder.loses(block, positions)
                if holder is not None and lost:
                    own = any(holder.owns(position) for position in lost)
                    (losers if own else strays)[claim_id] = holder
            for claim in meant:
                if claim.claim_id in holders:
                    continue
                if event.positions:
                    position = event.positions[place]
                    self._lose_run(claim, position, position + 1, losers, strays)
                    if claim.owns(position) and not claim.held.holds(position):  # no copy is left
                        losers[claim.claim_id] = claim
                    continue
                if claim.held.unnamed:
                    unseen[claim.claim_id] = claim
                places = self.stated.places(block, claim)
                if places and not any(map(claim.owns, places)):
                    continue  # it was behind the claim's end
                its_own = not holders or not claim.held
                if claim.held.sole if claim.held.unnamed else its_own:
                    losers[claim.claim_id] = claim  # whichever position it was
                    forgot += [claim] if self.stated.forgot(claim) else []
            if nobody and not holders:
                unseen.update(self._unnamed)
                self._unnamed.clear()
        self.stated.lose(blocks)
        for claim in forgot:
            losers.pop(claim.claim_id, None)
        return Lost(
            losers,
            [*forgot, *(claim for claim in unseen.values() if claim.held.unnamed)],
            [claim for name, claim in strays.items() if name not in losers],
        )

    def _lose_all(self) -> Lost:
        """Nothing is held any more."""
        holding = {name: claim for name, claim in self._holding.items() if claim.held}
        losers = {name: claim for name, claim in holding.items() if claim.holds_own}
        for claim in holding.values():
            self.wipe(claim)
        ledgers = (self._holding, self._on, self._noted, self._owners, self._forgotten)
        for ledger in (*ledgers, self._stated):
            ledger.clear()
        self._shares = 0
        self.mixed.clear()
        self.stated.clear()
        return Lost(losers, [], [claim for name, claim in holding.items() if name not in losers])

    def _lose_run(
        self,
        claim: ClaimRun,
        begin: int,
        end: int,
        losers: dict[str, ClaimRun],
        strays: dict[str, ClaimRun],
    ) -> None:
        """Blocks without known ids are gone from these positions, for all who share them: who loses
        a position of its own, and who one behind its end.
        """
        kin = list(self._on.get(claim.object, {}).values())
        for each, first, last in [(claim, begin, end), *self._alike_runs(claim, kin, begin, end)]:
            cut = min(max(first, each.own_end), last)
            if each.held.drop_unnamed(first, cut):
                losers[each.claim_id] = each
            if each.held.drop_unnamed(cut, last):
                strays[each.claim_id] = each

    def wipe(self, claim: ClaimRun) -> None:
        """The claim holds nothing any more."""
        for block in claim.held.blocks:
            holders = self._owners.get(block, {})
            several = len(holders) > 1
            self._shares -= holders.pop(claim.claim_id, None) is not None and several
            if not holders:
                self._owners.pop(block, None)
                self.mixed.pop(block, None)
        claim.held.clear()
        self._off(claim)

    def _give(self, claim: ClaimRun, pairs: Iterable[tuple[int, int]]) -> bool:
        """The claim holds these pairs of a position and a block; whether any is new."""
        new = False
        for position, block in pairs:
            holders = self._owners.setdefault(block, {})
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

    def _clashes(
        self, event: Event, pairs: Iterable[tuple[int, int]], claim: ClaimRun | None
    ) -> Moved:
        """The claims that hold one of these blocks elsewhere, or with another content.

        Those that are not tracked any more do not: their blocks may be gone unsaid.
        """
        clash: dict[str, ClaimRun] = {}
        left: dict[str, ClaimRun] = {}
        for position, block in pairs:
            for name, positions in list(self._owners.get(block, {}).items()):
                holder = self.claims.get(name)
                elsewhere = positions - {position}
                if holder is not None and holder.tracked:
                    other = is_elsewhere(event, holder) or (
                        claim is not None and differ(holder, claim, position)
                    )
                    if (elsewhere or other) and self._stated.get(block, 0) > self.missed:
                        clash[name] = holder
                elif holder is not None and elsewhere:
                    holder.loses(block, elsewhere)
                    positions &= {position}
                    left[name] = holder
                    if not positions:
                        self._shares -= len(self._owners[block]) > 1
                        del self._owners[block][name]
        return Moved(list(clash.values()), list(left.values()))
