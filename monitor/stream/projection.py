"""Delivers each event of one stream to the claims that it concerns."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from monitor.evaluate.partial_observation import BLOCKS, NAMES
from monitor.input.records import Doubt
from monitor.pool.objects import means, open_without
from monitor.pool.terms import binds, unstated
from monitor.pool.unreported import is_moot, tell
from monitor.requests.blame import tell_outcome
from monitor.requests.routes import follow_routes
from monitor.stream.authority import ends_early
from monitor.stream.cached_events import WAYS, CachedEvents
from monitor.stream.joined_claims import BEHIND
from monitor.stream.stream_state import AT_REQUEST, BEGINS, INTRODUCES, REGISTRY
from spec.events.alphabet import BLOCKS_GONE, FACTS, REPORTS, Kind
from spec.events.fields import ABOUT_BLOCKS, RENEWS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from monitor.evaluate.claim import ClaimRun
    from monitor.evaluate.compile import Compiled
    from monitor.evaluate.restless import Restless
    from monitor.input.batches import Run
    from monitor.input.records import At
    from monitor.stream.keep import Keep
    from monitor.stream.shortcuts import Way
    from spec.events.canonical import Event

__all__ = ["Stream"]

_STATES = REGISTRY | INTRODUCES
_BLOCKS_THERE = frozenset({Kind.BLOCK_CACHED, Kind.LOAD_FINISHED})
_UNSEEN = "lines are missing, and the caching of blocks that it holds may be among them"
_STRAYED = "it may be about blocks past the end of the claim, whose loss is not a loss of the claim"
_WHOSE = "claims on this object ended so long ago that it is unknown whether the event is theirs"


class Stream(CachedEvents):
    """The claims of one stream (one engine, one pool, one run).

    Each base class takes one group of events: requests (`RequestEvents`), blocks (`BlockEvents`).
    This class takes the events about claims, and routes all others. `ways` are the short ways to
    take events in, by their kinds.
    """

    DERIVED: ClassVar[Mapping[str, object]] = {"ways": WAYS}
    """What no snapshot holds, with what it is without it."""

    def __init__(
        self,
        compiled: Compiled | Sequence[Compiled],
        name: str,
        keep: Keep | None = None,
        ways: dict[Kind, Way] = WAYS,
    ) -> None:
        super().__init__(compiled, name, keep)
        self.ways = ways

    def take_run(self, run: Run) -> bool:
        """Project the events of a run; False, and nothing has changed, if the lines of the run do
        not follow what was read.
        """
        if (clock := self.begin(run)) is None:
            return False
        for event, at in zip(run.events, run.places, strict=True):
            if clock.passes(event.time_ns or 0):
                self.elapse(event.time_ns, at)
            self.take(event, at)
        return True

    def take_next(self, event: Event, at: At) -> bool:
        """Project an event on a canonical line of its own; False, and nothing has changed, if the
        line does not follow what was read.
        """
        if (clock := self.begin_one(event)) is None:
            return False
        if clock.passes(event.time_ns or 0):
            self.elapse(event.time_ns, at)
        self.take(event, at)
        return True

    def take(self, event: Event, at: At) -> None:
        """Project one event onto every claim that it concerns."""
        if self._limited and (beyond := self._store.beyond(event)):
            limit, why = beyond
            self.left_out += 1
            self.reached.setdefault(limit, why)
            self.lose(at, why)
            return
        way = self.ways.get(event.kind)
        if way is None or self._track.lost is not None or not way(self, event, at):
            self._take_long(event, at)
        elif self._store.unsettled:
            self._store.settle()

    def _take_long(self, event: Event, at: At) -> None:
        """Take an event in by all that may matter."""
        self._count += 1
        self._store.blocks.now = self._count
        if self._track.losses != self._losses:
            self._losses, self._store.blocks.lost = self._track.losses, self._count - 1
        if self._track.missing != self._missing:
            self._missing = self._track.missing
            self._store.blocks.miss(self._count - 1)
        if event.kind in RENEWS and event.request_id is not None:
            self.requests.renew(event.request_id)
        if self.left is None and self.requests.is_out_of_hand(event):
            self.left = at, "an event names a request that has not arrived or has ended"
        if event.kind in AT_REQUEST:
            self._take_request(event, at)
        elif event.kind in BLOCKS_GONE:
            self._take_blocks_gone(event, at)
        elif event.claim_id is not None:
            self._take_claim(event, event.claim_id, at)
        else:
            self._take_unnamed(event, at)
        if event.request_id is not None:
            if event.kind is Kind.PREFIX_REUSED:
                self._tell_others(event, event.request_id, at)
            self.requests.drop(event.request_id)
        self._settle(at)

    def _take_unnamed(self, event: Event, at: At) -> None:
        """A fact that names no claim is about the claims on its object, or of its blocks."""
        if event.object_id is None and event.kind is Kind.BLOCK_CACHED:
            for left in self._move(event, [], at):
                self._there(event, left, at)
            return
        if (among := self._store.copies(event)) is not None:
            for restless in list(among.claims.values()):
                if not means(event, restless):  # nor will it ever be: claims state ever more
                    del among.claims[restless.claim_id]
                    continue
                view = self._view(event, restless, at)
                view.mine, view.named = True, False
                self._deliver(restless, view, among)
            return
        settled = self.left is not None and self.contradicted is not None
        if (users := self._store.users(event, settled=settled)) is not None:
            self._take_use_of_all(event, users, at)
            return
        meant = self._store.meant(event)
        names = [claim.claim_id for claim in meant]
        if event.object_id is None:
            names = self._store.blocks.owners(event.block_ids)
            meant = [claim for name in names if (claim := self._store.known(name)) is not None]
            judges = self._store.judges.values()
            only = frozenset[str]().union(*(open_without(event.kind, j.names) for j in judges))
            if not names and only:
                self._store.apart |= len(judges) > 1
                why = f"{event.kind} names neither a claim nor an object"
                if event.kind is Kind.PREFIX_REUSED and event.request_id is not None:
                    self._tell_others(event, event.request_id, at)  # before they are in doubt
                self.doubt(Doubt(why, only=only), at)
        for left in self._move(event, meant, at) if event.kind in _BLOCKS_THERE else ():
            self._there(event, left, at)
        lost = len(meant) < len(names) or self.past.others_on(event.object_id)
        if event.kind is Kind.LOAD_FAILED and event.request_id is not None and lost:
            self.requests.get(event.request_id).unnamed = (at, _WHOSE)
        if event.kind in _BLOCKS_THERE:
            self._hold(event, meant, at)
            return
        for claim in meant:
            self._concern(event, claim, at, named=False)

    def _take_use_of_all(self, event: Event, users: Restless[ClaimRun], at: At) -> None:
        """A look-up or a reuse of an object, of which only these claims may take note."""
        for claim in list(users.claims.values()):
            if not means(event, claim):  # nor will it ever be: claims state ever more
                del users.claims[claim.claim_id]
                continue
            take = partial(self._concern, event, claim, at, named=False)
            self._store.use(claim, event, at, users, take)
        users.last = at

    def _take_claim(self, event: Event, claim_id: str, at: At) -> None:
        extent = self.claims[claim_id].extent if claim_id in self.claims else 0
        claim = self._claim(event, claim_id, at)
        bound, unwatched = binds(claim, event), claim.unwatched
        if event.kind in INTRODUCES:
            claim.size = max(claim.size, event.footprint or 0)
        commits = event.kind is Kind.CLAIM_COMMITTED and bound
        if claim.known or (bound and event.kind in BEGINS):
            keys, grows = event.content_keys if commits else (), extent < claim.extent
            self._join(claim, at, grows=grows, commits=commits, keys=keys)
        claim.early |= bound and ends_early(event, claim)
        if event.kind is Kind.CLAIM_RETIRED and not claim.responsible:
            self._unwatch(claim, event)
            if bound and (not claim.committed or claim.constants.lapses):
                return
        elapses = event.kind is Kind.DURATION_ELAPSED and event.kind not in self._derived
        if bound and elapses and (fault := self._clock.early(claim, event)):
            self._contradict([claim], at, fault)
        if bound and len(set(event.content_keys)) < len(event.content_keys):
            why = "a claim has one content at two of its positions"
            self._contradict([claim], at, why)
            self._track.lose(at, f"facts contradict: {why}")
        over = (unwatched and event.kind in FACTS) or (bound and is_moot(claim, event))
        if event.kind in _BLOCKS_THERE and bound:
            for left in self._move(event, [claim], at):
                self._there(event, left, at)
        self._concern(event, claim, at, mine=bound and not over, named=not over)
        if self._ranked and event.kind in _STATES:  # or a registry may hold it from now on
            self._store.ranks.note(claim)
        claim.accepted = claim.accepted or event.kind is Kind.CLAIM_ACCEPTED
        entered = event.kind in INTRODUCES and (claim.accepted or claim.constants.watched)
        if entered and (missing := unstated(claim)):
            claim.distrust(at, missing)
        if event.kind is Kind.DURATION_ELAPSED:
            claim.elapsed = True
            self._clock.tell(claim)
        elif event.kind is Kind.CLAIM_COMMITTED:
            self._clock.start(claim, at, event.time_ns)
        elif event.kind is Kind.CLAIM_REGISTERED and not claim.committed:
            self._clock.enter(claim)
        if event.kind in REPORTS and not claim.known:
            self._misnamed(event, claim, at)
        if not bound:
            self._two_identities(event, claim, at)

    def _concern(
        self, event: Event, claim: ClaimRun, at: At, *, mine: bool = True, named: bool = True
    ) -> None:
        """Deliver to a claim an event about its object, or under its id."""
        if mine and event.kind in _BLOCKS_THERE:
            self._hold(event, [claim], at)
            return
        view = self._view(event, claim, at)
        view.mine, view.named = mine, named
        if mine:
            follow_routes(claim, view)
            if event.kind in ABOUT_BLOCKS and self._may_hold_more(claim):
                claim.doubt(BLOCKS, at, _UNSEEN if self._store.blocks.missed >= 0 else BEHIND)
        if event.request_id is not None:
            request = self.requests.get(event.request_id)
            if self._open(claim, event, at):
                claim.touch(event.request_id)
                if mine and event.kind is Kind.CLAIM_RESTORE_REQUIRED:
                    claim.waiting |= {event.request_id}
            if mine and event.kind is Kind.LOAD_FAILED:
                claim.waiting -= {event.request_id}
            elif mine and event.kind is Kind.CLAIM_RESTORED:
                claim.waiting -= claim.waiting
            if event.kind is Kind.LOAD_FAILED and claim.lost:
                request.unnamed = claim.taint
            elif event.kind is Kind.LOAD_FAILED and claim.known:
                request.fail(claim.claim_id)
            elif event.kind is Kind.CLAIM_RESTORATION_FAILED:
                self._track.doubt_failures(claim, request)
                tell_outcome(view, event, claim.claim_id, request)
        if (
            mine
            and event.kind is Kind.CLAIM_BLOCK_LOST
            and claim.strayed
            and claim.compiled.of_losses
        ):
            claim.distrust(at, _STRAYED, claim.compiled.of_losses)
        empty = event.kind is Kind.PREFIX_LOOKUP and event.held is None
        if mine and event.kind is Kind.PREFIX_LOOKUP and not claim.ended:
            self._look_up(event, claim, at)
        if empty and mine:  # a look-up that says nothing of what it found shows nothing
            claim.note(view)
        else:
            self._deliver(claim, view)
        if mine and event.kind is Kind.CLAIM_BLOCK_LOST:
            tell(claim, event)

    def _misnamed(self, event: Event, stranger: ClaimRun, at: At) -> None:
        """A report under an id that no registry holds, about the object of claims that it does."""
        meant = self._store.meant(event)
        if stranger.lost:
            for claim in meant:
                claim.doubt(
                    NAMES, at, f"it is unknown whether claim {stranger.claim_id} was registered"
                )
            return
        if event.object_id is not None and self.past.others_on(event.object_id):
            self.past.misname(event.object_id)
        if self.past.others_on(event.object_id) and not any(claim.past for claim in meant):
            stranger.lost = True
            stranger.distrust(at, _WHOSE, frozenset({"claim_identity"}))
        for claim in meant:
            self._track.doubt_names(claim)
            self._store.too_late(claim, event)
            self._concern(event, claim, at, named=False)
