"""Follows the blocks of a pool: which claims come to hold a block, and which lose one."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from monitor.pool.changes import Held, Lost, Moved
from monitor.pool.holders import Holders
from monitor.pool.objects import is_elsewhere
from monitor.pool.shares import differ, shared, stating, where_alike

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from monitor.evaluate.claim import ClaimRun
    from spec.events.canonical import Event

__all__ = ["Blocks"]

_MOST_ASKED: Final = 512  # claims on one object that are asked for what they hold
_NONE: Final[frozenset[int]] = frozenset()
_MOST_MATES: Final = 64  # claims with the same content at one position


class Blocks(Holders):
    """The blocks of a pool, by the events that place, load and remove them."""

    def come(self, claim: ClaimRun) -> None:
        """A claim is on an object from now on: what is held for that is its own."""
        self._off(claim)
        if claim.held:
            self._note(claim)
        if not self.stated.is_empty:
            self._give(claim, list(self.stated.of(claim)))

    def join(self, claim: ClaimRun) -> bool:
        """What others hold on the object to which a claim came is its own.

        Returns:
            Whether all that was stated is remembered.
        """
        if claim.object not in self._on:
            return not self.stated.forgot(claim)
        several = self._on.last_of(claim.object, _MOST_ASKED + 1)
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
        """Whether lines are missing, and some block has no owner and was not stated since."""
        return self.missed >= 0 and any(
            not self._owners.names(block) and block not in self._placed for block in blocks
        )

    def state(
        self,
        claim: ClaimRun,
        *,
        commits: bool = False,
        extends: bool = False,
        brought: Mapping[int, frozenset[int]] | None = None,
    ) -> list[ClaimRun]:
        """The contents of a claim's positions are known. It holds the blocks of another claim that
        is tracked and has the same, and all such claims hold its blocks.

        Args:
            commits: it is tracked from now on.
            extends: others stated more of its contents. At the positions of which they were known
                before nothing is new, and if it is not tracked, it comes to hold nothing.
            brought: the blocks that it held before it came, by positions, where that is known. What
                it holds since is of all with its content if it is of one of them.

        Returns:
            Those that hold more than before.
        """
        if not (commits or claim.tracked):
            self.ahead.state(claim)
        more: dict[str, ClaimRun] = {}
        keys, gains = claim.keys, claim.tracked or not extends
        gives = commits or claim.counts  # of one that is over it may be gone without a report
        first = self._known_to(claim) if extends and not self.brings(claim) else 0
        for position, key in enumerate(keys[first:], first):
            mates = self._keyed.setdefault((position, key), {})
            own = frozenset(claim.held.at(position)) if claim.held else _NONE
            unnamed, known = claim.held.unnamed_at(position), False
            given = own
            tracked = (mate for mate in mates.values() if mate.tracked and mate is not claim)
            for mate in islice(tracked, _MOST_MATES if gains else 0):
                if mate.held.holds(position):
                    there = mate.held.at(position)
                    known = own <= there and mate.held.unnamed_at(position) >= unnamed
                    known = known and not self.brings(claim)
                    if brought is not None:
                        given = own - (there - brought.get(position, _NONE))
                    if self._give(claim, [(position, block) for block in there]):
                        more[claim.claim_id] = claim
                    if mate.held.unnamed_at(position) and not unnamed:
                        self._lend(claim, [(position, position + 1)])
                        more[claim.claim_id] = claim
                    break
            if gives and (own or unnamed) and not known:  # if known, all of them hold it already
                for mate in [each for each in mates.values() if each.tracked and each is not claim]:
                    self._share(mate, [(position, block) for block in given], more)
                    if unnamed and not mate.held.unnamed_at(position):
                        self._lend(mate, [(position, position + 1)])
                        more[mate.claim_id] = mate
            mates[claim.claim_id] = claim
        if commits or claim.tracked:
            self._brought.discard(claim.claim_id)
        return list(more.values())

    def _known_to(self, claim: ClaimRun) -> int:
        """The position before which the contents of a claim were known before."""
        keys, end = claim.keys, len(claim.keys)
        while end and claim.claim_id not in self._keyed.get((end - 1, keys[end - 1]), {}):
            end -= 1
        return end

    def spread(
        self,
        claim: ClaimRun,
        kin: Iterable[ClaimRun],
        pairs: Sequence[tuple[int, int]],
        runs: Sequence[tuple[int, int]],
    ) -> list[ClaimRun]:
        """What a claim holds is of the other claims on its object, too: it comes there, or may have
        brought it along.

        Args:
            pairs: positions that it holds, each with a block.
            runs: positions that it holds in blocks without known ids, from each to before each.

        Returns:
            Those that hold more than before.
        """
        more: dict[str, ClaimRun] = {}
        for other in kin:
            if other is claim or not other.tracked:
                continue
            self._share(other, shared(claim, other, pairs), more)
            alike = [run for each in runs for run in where_alike(claim, other, *each)]
            if self._lend(other, [run for run in alike if not other.held.covers(*run)]):
                more[other.claim_id] = other
        return list(more.values())

    def _share(
        self, claim: ClaimRun, pairs: Sequence[tuple[int, int]], more: dict[str, ClaimRun]
    ) -> None:
        if self._give(claim, pairs):
            more[claim.claim_id] = claim

    def move(self, event: Event, claim: ClaimRun | None = None) -> Moved:
        """Blocks are at some position: at no other for a claim that is not tracked.

        What is stated of an object is remembered for the sake of claims to come.

        Args:
            claim: the one that the event names.
        """
        pairs = list(zip(event.positions, event.block_ids, strict=False))
        moved = self._clashes(event, pairs, claim)
        self.stated.move(pairs)
        if event.claim_id is None:
            self.stated.add(event)
        self._note_stated(event.block_ids if pairs else ())
        if self.missed >= 0:
            self._placed.update(event.block_ids)
        return moved

    def hold(
        self, event: Event, claim: ClaimRun, kin: Sequence[ClaimRun], *, asked: bool = False
    ) -> Held:
        """Blocks of a claim are there.

        Args:
            kin: the claims on its object, and it.
            asked: others with all its contents hold them already, but for it.
        """
        positions, start = event.positions, claim.held.start
        if event.block_ids and positions:
            pairs = list(zip(positions, event.block_ids, strict=False))
            changed: dict[str, ClaimRun] = {}
            for each in kin:
                named = each is claim and event.claim_id is not None
                if self._give(each, pairs if named else shared(claim, each, pairs)):
                    changed[each.claim_id] = each
            if claim.claim_id in changed:
                self._bring(claim, shared=len(changed) > 1)
            for position, block in () if asked else pairs:
                for mate in self._mates(stating(claim, kin, position), position):
                    if self._give(mate, [(position, block)]):
                        changed[mate.claim_id] = mate
            return Held(True, list(changed.values()))
        own = [(position, position + 1) for position in positions]
        if event.claim_id is None:
            own = [run for run in own if run[0] < claim.extent]
        if event.held is not None:
            own.append((start, start + event.held))
        changed = {claim.claim_id: claim}
        lent = self._lend(claim, own)
        for begin, end in own if not asked else ():
            for each, at, to in self._alike_runs(claim, kin, begin, end):
                if each.tracked and self._lend(each, [(at, to)]):
                    changed[each.claim_id] = each
        if lent:
            self._bring(claim, shared=len(changed) > 1)
        stated = bool(positions) or event.held is not None
        if not stated and not asked:
            alike = (each for each in kin if any(where_alike(claim, each, 0, each.extent)))
            changed |= {each.claim_id: each for each in (*alike, *self._all_mates(claim))}
        return Held(stated, list(changed.values()))

    def lose(self, event: Event, meant: Sequence[ClaimRun]) -> Lost:
        """Blocks are gone. Of copies of one position the last one counts.

        Args:
            meant: the claims that the event names, or that are on the object that it names.
        """
        anonymous = event.claim_id is None and event.object_id is None
        losers: dict[str, ClaimRun] = {}
        strays: dict[str, ClaimRun] = {}
        blocks = event.block_ids
        self._placed.difference_update(blocks)
        if not blocks and anonymous:
            return self._lose_all()
        if not blocks:  # all of these claims, and of the object
            blocks = tuple(set[int]().union(*(claim.held.blocks for claim in meant)))
            blocks += tuple(self.stated.about(event) if event.claim_id is None else ())
            losers = {c.claim_id: c for c in meant if not c.held or c.holds_own}
            strays = {c.claim_id: c for c in meant if c.claim_id not in losers}
            whole = event.claim_id is not None
            held = [(c, c.held.all_runs() if whole else c.held.runs()) for c in meant]
            for claim, runs in held:
                for run in runs:
                    self._lose_run(claim, *run, losers, strays)
            meant = ()
        unseen: dict[str, ClaimRun] = {}
        forgot: list[ClaimRun] = []
        for place, block in enumerate(blocks):
            holders = self._owners.pop(block)
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
            if anonymous and not holders:
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
        holding = {name: claim for name, claim in self.claims.items() if claim.held}
        losers = {name: claim for name, claim in holding.items() if claim.holds_own}
        for claim in holding.values():
            self.wipe(claim)
        self._off_all()
        self.ahead.clear()
        self._forgotten.clear()
        self._stated.clear()
        self._owners.clear()
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
        kin = list(self._on.of(claim.object))
        for each, first, last in [(claim, begin, end), *self._alike_runs(claim, kin, begin, end)]:
            cut = min(max(first, each.own_end), last)
            if each.held.drop_unnamed(first, cut):
                losers[each.claim_id] = each
            if each.held.drop_unnamed(cut, last):
                strays[each.claim_id] = each

    def _clashes(
        self, event: Event, pairs: Iterable[tuple[int, int]], claim: ClaimRun | None
    ) -> Moved:
        """The claims that hold one of these blocks elsewhere, or with another content.

        Those that are not tracked any more do not: their blocks may be gone without a report.
        """
        clash: dict[str, ClaimRun] = {}
        left: dict[str, ClaimRun] = {}
        for position, block in pairs:
            for name, positions in list((self._owners.get(block) or {}).items()):
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
                        holders = self._owners.of(block)
                        self._shares -= len(holders) > 1
                        del holders[name]
        return Moved(list(clash.values()), list(left.values()))
