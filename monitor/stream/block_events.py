"""Applies events about blocks to the claims that hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.evaluate.event_view import EventView
from monitor.evaluate.partial_observation import BLOCKS, CACHED_BY
from monitor.pool.ranks import Evicted, is_ranked, is_unsure
from monitor.pool.unreported import lose
from monitor.stream.joined_claims import BEHIND
from monitor.stream.request_events import RequestEvents
from spec.events.alphabet import BLOCKS_GONE, Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Sequence

    from monitor.evaluate.claim import ClaimRun
    from monitor.input.records import At
    from spec.events.canonical import Event

__all__ = ["BlockEvents"]

_GONE_UNSEEN = "a block was lost that the claim may hold, because a line is missing"
_COMPUTED = "several requests were unfinished, and no line states which of them computed blocks"


class BlockEvents(RequestEvents):
    """Events on blocks: cached, loaded, looked up, evicted or lost."""

    def _take_blocks_gone(self, event: Event, at: At) -> None:
        """Blocks are gone from their owners, and from the claims that the event means."""
        meant, misnamed = self._store.meant(event), None
        if event.claim_id is not None:
            named = self._claim(event, event.claim_id, at)
            misnamed = None if self._check_identity(event, named, at) else named
            meant = [] if named.unwatched else [named]
        if not event.block_ids:
            self._store.late(event, meant, at)
        if self._store.blocks.are_unseen(event.block_ids):
            self._store.distrust_hidden(at, _GONE_UNSEEN)
        ranked = self._ranked
        follows = ranked or self._of_losses
        owners = {b: self._store.blocks.owners([b]) for b in event.block_ids if follows}
        stated = ranked and event.lowest_priority is not None
        least, blurred = self._least(owners.values()) if stated else (None, False)
        gone: dict[str, list[int]] = {}
        for block, names in owners.items():
            for name in names:
                gone.setdefault(name, []).append(block)
        losers, unseen, strays = self._store.blocks.lose(event, meant)
        for claim in self._store.blocks.ahead.exposed(losers.values()):
            if claim is not misnamed:
                claim.doubt(BLOCKS, at, BEHIND)
        for name, claim in losers.items() if self._of_losses else ():
            if claim.compiled.of_losses:
                lose(claim, gone.get(name, ()))
        for claim in strays:
            claim.strayed = True
        for claim in losers.values():
            if claim.compiled.tiered:
                claim.note_computed(computed=False)
        self._store.room.forget()
        views = [
            (
                claim,
                EventView(event.kind, at, event.request_id, mine=True, named=True, lead=claim.lead),
            )
            for claim in losers.values()
            if claim is not misnamed
        ]
        if ranked:
            for claim in (*losers.values(), *strays):
                self._store.ranks.note(claim)
            if event.kind is Kind.BLOCK_EVICTED:
                lost = [(claim, view) for claim, view in views if is_ranked(claim)]
                blurred = blurred or any(is_unsure(claim) for claim, _ in views)
                evicted = Evicted(event.lowest_priority, least, blurred)
                self._store.ranks.judge(lost, evicted, self._track.lost)
                late = [claim for name, claim in self._store.owing.items() if name not in losers]
                for claim in late if lost else ():  # news of it was due before this
                    if claim.compiled.ranked:
                        self._deliver(claim, EventView(event.kind, at))
        for claim, view in views:
            self._deliver(claim, view)
        for claim in unseen:
            if claim.alive:
                claim.distrust(
                    at, "a block was lost that may be one of a load that names no blocks"
                )
        if misnamed is not None:
            self._two_identities(event, misnamed, at)

    def _least(self, owners: Iterable[Collection[str]]) -> tuple[int | None, bool]:
        """The lowest priority of a block that goes: a block has that of the highest of its claims;
        None where none has one. And whether the priority of one of them is unknown.

        Args:
            owners: of each block.
        """
        found, blurred = [], False
        for names in owners:
            claims = [self.claims[name] for name in names if name in self.claims]
            blurred = blurred or any(map(is_unsure, claims))
            ranks = [each.priority or 0 for each in claims if is_ranked(each) and not each.disputed]
            found += [max(ranks)] if ranks else []
        return min(found, default=None), blurred

    def _move(self, event: Event, meant: Sequence[ClaimRun], at: At) -> list[ClaimRun]:
        """Blocks are at some position, and not at another where they were held; that is delivered
        to others too.
        """
        named = self.claims.get(event.claim_id or "")
        clash, left = self._store.blocks.move(event, named)
        if clash and self._store.observed >= BLOCKS_GONE:
            why = (
                "a block is cached at a position, or with a content, that differs from the held one"
            )
            self._contradict([*clash, *meant], at, why)
            self._track.lose(at, f"facts contradict: {why}")
        names = {claim.claim_id for claim in meant}
        return [each for each in left if each.claim_id not in names]

    def _hold(self, event: Event, claims: Sequence[ClaimRun], at: At) -> None:
        """Blocks of the claims that an event means are there, and of every claim on their objects.

        All are updated before the event is delivered to any of them.
        """
        self._store.late(event, claims, at)
        changed = {claim.claim_id: claim for claim in claims}
        asked: set[Hashable] = set()
        beside, stated = self._store.objects.beside, True
        for claim in claims:
            # What a claim holds all with its contents do: they are asked once.
            start = 0 if event.block_ids and event.positions else claim.held.start
            among = (claim.object, start, claim.keys) if claim.known else None
            again = among in asked
            kin = [] if again else [c for c in beside(claim) if c.tracked]
            if among is not None:
                asked.add(among)
            alone = not any(each is claim for each in kin)
            kin = [*kin, claim] if alone else kin
            held = self._store.blocks.hold(event, claim, kin, asked=again)
            changed.update((each.claim_id, each) for each in held.changed)
            stated = stated and held.stated
        self._store.room.forget()
        for each in () if stated else changed.values():
            if not each.ended and each.lead < each.constants.threshold:
                each.distrust(at, "the load does not state how many blocks it brought back")
        direct = {claim.claim_id for claim in claims}
        for name, each in changed.items():
            self._there(event, each, at, direct=name in direct)

    def _there(self, event: Event, claim: ClaimRun, at: At, *, direct: bool = False) -> None:
        """Deliver to a claim that blocks are present, its own or shared ones."""
        computed = event.request_id
        if event.kind is Kind.BLOCK_CACHED and computed is None and not event.found:
            in_hand = self.requests.in_hand  # no line says which request computed it
            computed = next(iter(in_hand)) if len(in_hand) == 1 else None
            away = claim.responsible and claim.fact("lead") < claim.constants.threshold
            if claim.compiled.tiered and away and len(in_hand) > 1:
                claim.doubt(CACHED_BY, at, _COMPUTED)
        if claim.compiled.tiered:
            self._note_computed(event, claim)
        if self._ranked:
            self._store.ranks.note(claim)
        view = self._view(event, claim, at)
        view.mine, view.direct, view.lead = True, direct, claim.lead
        if event.kind is Kind.LOAD_FINISHED:
            view.intact = claim.restored and bool(direct or claim.fact("host"))
        followed, view.request_id = computed, computed
        if event.kind is Kind.LOAD_FINISHED and not direct:  # no load of its own
            followed, view.request_id = None, None
        elif event.kind is Kind.BLOCK_CACHED and not claim.compiled.tiered:
            followed = None
        if followed is not None and self._open(claim, event, at, followed):
            claim.touch(followed)
        self._deliver(claim, view)

    @staticmethod
    def _note_computed(event: Event, claim: ClaimRun) -> None:
        """What was computed of a claim, and what a load brought, is known apart."""
        if event.kind is Kind.BLOCK_CACHED:
            claim.note_computed(computed=not event.found)
            return
        brought = [(at, at + 1) for at in event.positions]
        if event.held is not None and not (event.block_ids and event.positions):
            brought.append((claim.held.start, claim.held.start + event.held))
        claim.note_computed(computed=False, brought=brought)

    def _look_up(self, event: Event, claim: ClaimRun, at: At) -> None:
        """What a look-up finds of a claim is what is held, as far as it asked for it.

        Where hooks do not observe each loss, finding less contradicts nothing.
        """
        if not self._store.observed >= BLOCKS_GONE:
            return
        if event.held is None or claim.predicate is None:
            return
        wanted = None if event.asked is None else event.asked - claim.predicate.start
        if self._store.may_hold_more(claim) and (wanted is None or event.held < wanted):
            claim.distrust(
                at,
                "a look-up found fewer blocks than the claim may hold; some of its blocks are no "
                "longer tracked",
            )
        if event.held >= claim.lead:
            return
        if wanted is None:
            why = (
                "a look-up found fewer blocks than are held, and does not state how many it "
                "asked for"
            )
            self.left = self.left or (at, why)
            claim.distrust(at, why)
        elif event.held < min(wanted, claim.lead):
            self._contradict(
                [claim], at, "a look-up found fewer blocks than are held of those it asked for"
            )
