"""Accepts or rejects claims, and ends them: by release, expiry, demotion or pins."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from runtime_hooks.claims.entry import WATCHED
from runtime_hooks.claims.metadata import (
    RESUME,
    Resume,
    UnreadableClaim,
    aside,
    claim_of,
    release_of,
    resume_of,
)
from runtime_hooks.claims.pins import Pins
from runtime_hooks.claims.preregistration import Preregistration
from runtime_hooks.claims.qualified import rejected_name
from runtime_hooks.claims.unanswered import Unanswered
from runtime_hooks.controller.hinted import Hinted
from runtime_hooks.controller.resuming import Resuming
from runtime_hooks.controller.successors import Successors
from runtime_hooks.trace.faults import LOG
from runtime_hooks.trace.names import claim_terms, content_keys, name_of, object_of, reason_of
from spec.claims.lifecycle import RUNTIME as THE_RUNTIME
from spec.claims.lifecycle import Caller
from spec.events.alphabet import Kind
from spec.events.fields import RUNTIME
from spec.language.errors import ClaimError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runtime_hooks.claims.arrivals import Arrival, Prompt
    from runtime_hooks.claims.entry import Entry
    from runtime_hooks.claims.inbox import Inbox
    from runtime_hooks.claims.registry import Now, Registry
    from runtime_hooks.controller.resuming import NextEngine
    from runtime_hooks.enforce.victim_exclusion import EvictablePool
    from runtime_hooks.trace.emitter import Emitter
    from runtime_hooks.tracking.offloaded import OffloadTracker
    from runtime_hooks.tracking.tracker import BlockTracker
    from spec.claims.claim import CacheIdentity, ResidentClaim
    from spec.claims.durations import TimeUnit

__all__ = ["Admission"]

_ALARM: Final = "the monitor's alarm keeps claims from being accepted"
"""What owners learn of an alarm, whose text may name a claim of another owner."""

_UNREADABLE: Final = "it is no claim; the answer to its request says why"


class Admission:
    """Claims from their first mention to their end.

    `pins` and `preregistration` bring claims in other ways than with a request, `successors` those
    that follow others, `hinted` those of KV hints, `resuming` those of the engine before.
    `drains` says that the operator lets the live claims end and no more begin. `decided` counts the
    decisions: by mode, which is empty where there was no claim, those that accepted and those that
    did not. `overdue` counts the claims that were demoted because they were never there.

    Args:
        identity: of the engine's cache.
        prompts: computes the contents of a prompt's whole blocks.
        fewest: the fewest blocks with which the request of an arrival can be served.
        largest_need: the most blocks that any unfinished request needs besides those of claims.
        alarm: the reason why no more claims are accepted; empty while they are.
        tick: called when something happens; updates the time and ends the claims that expired.
        inbox: hands the calls of other threads to the engine's.
        epoch: names this life of the engine.
        now: its clocks.
        next_engine: what it says of claims that outlive it; None where none does.
    """

    def __init__(
        self,
        identity: CacheIdentity,
        pool: EvictablePool,
        registry: Registry,
        tracker: BlockTracker,
        offloaded: OffloadTracker,
        emitter: Emitter,
        *,
        prompts: Callable[[Prompt], Sequence[bytes]],
        fewest: Callable[[Arrival], int],
        largest_need: Callable[[], int],
        alarm: Callable[[], str],
        tick: Callable[[], None],
        inbox: Inbox,
        epoch: str,
        now: Now,
        next_engine: NextEngine | None,
    ) -> None:
        self.drains = False
        self.decided: dict[str, list[int]] = {}
        self.overdue = 0
        names = self._names = registry.names
        self.pins = Pins(names, self._pin, self.release)
        self.hinted = Hinted(
            registry,
            identity.block_size,
            claim=lambda arrival, stated: self.admit(replace(arrival, claim=stated)),
            pin=self._pin,
            cached=self._is_cached,
            release=self.release,
            decline=self._decline,
        )
        self.successors = Successors(
            registry,
            closed=self._closed,
            prepare=partial(tracker.drop_unreachable, claiming=True),
            accept=self._accept,
            reject=self._reject,
            end=self.end,
            largest_need=largest_need,
            tick=tick,
        )
        self.preregistration = Preregistration(
            identity, names, prompts, self.admit, self.release, self.successors.change_mode, inbox
        )
        self.resuming = Resuming(
            registry, epoch, now, self.preregistration, self._decline, next_engine
        )
        self.successors.followed = self.resuming.follow
        self._identity, self._pool, self._registry = identity, pool, registry
        self._tracker, self._offloaded, self._emitter = tracker, offloaded, emitter
        self._fewest, self._largest_need = fewest, largest_need
        self._alarm, self._tick = alarm, tick
        self._accepted: list[Entry] = []  # since `begin`
        self.unanswered = Unanswered()
        self._rejections = 0

    def begin(self) -> None:
        """Begin to decide on one request: `undo` ends what is accepted from now on."""
        self._accepted.clear()

    def undo(self) -> None:
        """End the claims accepted since `begin`: a fault keeps their owner from knowing of them."""
        for entry in self._accepted:
            if self._registry.live.get(entry.claim_id) is entry:
                self.end(entry, Kind.CLAIM_DEMOTED)

    def admit_with(self, arrival: Arrival) -> dict[str, str]:
        """Decide on the claim that came with a request.

        If the request is aborted before its answer, the claim ends, unless it says otherwise.

        Returns:
            Why it was rejected, or empty; and how it outlives the engine, if it does.
        """
        try:
            stated, keep = aside(arrival.claim)
        except ClaimError as error:
            self._reject_unread(arrival.request_id, error)
            return {"claim": str(error)}
        reason, entry = self._admit(replace(arrival, claim=stated))
        if entry is not None and keep:
            self.unanswered.acknowledge(entry)
        elif entry is not None:
            self.unanswered.add(arrival.request_id, entry)
        how = Resume.NEVER if entry is None else self.resuming.of(entry)
        return {"claim": reason} | ({} if how is Resume.NEVER else {RESUME: how.value})

    def answered(self, request_id: str, *, received: bool) -> None:
        """A request ended. If its client did not receive the answer, a claim that came with it is
        released in its owner's name, who may not know of it and may use the id again.
        """
        if received:
            self.unanswered.received(request_id)
            return
        entry = self.unanswered.aborted(request_id)
        if entry is not None and self._registry.live.get(entry.claim_id) is entry:
            self.end(entry, Kind.CLAIM_RELEASED)
            self._names.free(entry.claim_id)

    def acknowledge(self, entry: Entry) -> None:
        """The owner of a claim knows of it in another way than by an answer."""
        self.unanswered.acknowledge(entry)

    def admit(self, arrival: Arrival) -> str:
        """Decide on the claim of an arrival; returns why it was rejected, or empty."""
        return self._admit(arrival)[0]

    def _admit(self, arrival: Arrival) -> tuple[str, Entry | None]:
        """Decide on a claim: why it was rejected, or empty, and the live claim."""
        try:
            claim, how = self._claim_of(arrival.claim, arrival)
        except ClaimError as error:
            self._reject_unread(arrival.request_id, error)
            return str(error), None
        if self._registry.stands(claim, arrival.keys):
            # Its owner tries again, and gets the same answer.
            return "", self._registry.live[claim.claim_id]
        if reason := self._rejection(claim, how, arrival):
            why = f"{self.resuming.why(claim)}{reason}"
            self._reject(claim, why)
            return reason, None
        keys = tuple(arrival.keys[: claim.footprint_blocks])
        if claim.protection_mode not in WATCHED:
            self._tracker.drop_unreachable(keys, claiming=True)
        why = f"{self.resuming.why(claim)}{self._registry.grounds(claim, keys)}"
        entry = self._accept(claim, keys, why)
        self.resuming.keep(entry, how, arrival)
        return "", entry

    def would_reject(self, arrival: Arrival) -> str:
        """Why the claim that a request tries would be rejected, or empty; nothing happens."""
        try:
            claim, how = self._claim_of(aside(arrival.trial)[0], arrival)
            if self._registry.stands(claim, arrival.keys):
                return ""
            return self._rejection(claim, how, arrival)
        except ClaimError as error:
            return str(error)

    def release_for(self, arrival: Arrival) -> str:
        """Release the claim that a request gives up; returns why it is not released, or empty."""
        try:
            return self.release(*release_of(arrival.release, arrival.scope))
        except ClaimError as error:
            return str(error)

    def release(self, claim_id: str, scope: str) -> str:
        """Release a claim in its owner's name; returns why it is not released, or empty.

        Args:
            claim_id: the owner's id of it.
        """
        self._tick()
        entry = self._registry.live.get(self._names.engine_id(claim_id, scope))
        if entry is None:
            return "there is no live claim of that id"
        if entry.claim.owner_scope != scope:
            return "the claim is not owned by who gives it up"
        self.end(entry, Kind.CLAIM_RELEASED)
        return ""

    def expire(self, unit: TimeUnit) -> None:
        """End the claims whose duration is over by this clock."""
        while (entry := self._registry.due(unit)) is not None:
            self._emitter.fact(Kind.DURATION_ELAPSED, claim_id=entry.claim_id)
            self.end(entry, Kind.CLAIM_EXPIRED)

    def demote_overdue(self) -> None:
        """Demote the demotable claims that were not there in time.

        By the contract the runtime may end no others before their duration is over.
        """
        while (entry := self._registry.overdue()) is not None:
            self.overdue += 1
            LOG.info("resident-claims: claim %r was never there, and is demoted", entry.claim_id)
            self.end(entry, Kind.CLAIM_DEMOTED)

    def end(self, entry: Entry, how: Kind) -> None:
        """End the responsibility for a claim: a release is its owner's, any other the runtime's."""
        owner = entry.claim.owner_scope
        released = how is Kind.CLAIM_RELEASED
        by, actor = (owner, Caller(owner)) if released else (RUNTIME, THE_RUNTIME)
        self._emitter.fact(Kind.CLAIM_RETIRED, claim_id=entry.claim_id, by=by)
        self._registry.report(entry, how, actor=actor, by=by)
        self._tracker.remove(entry)
        self._offloaded.remove(entry)
        self._registry.end(entry)
        self.pins.ended(entry.claim_id)
        self.hinted.ended(entry)
        self.preregistration.ended(entry.claim_id)
        self.resuming.ended(entry.claim_id)

    def _rejection(self, claim: ResidentClaim, how: Resume, arrival: Arrival) -> str:
        """Why the claim cannot be accepted: its own faults, or what unfinished requests need."""
        if arrival.no_admit:
            return "its request asks not to be cached"
        if why := self._closed(claim):
            return why
        if why := self.resuming.rejection(claim, how, arrival):
            return why
        if why := self._tracker.unreachable_end(arrival.keys, claim.footprint_blocks):
            return why
        reusable, footprint = arrival.keys[: arrival.reusable], claim.footprint_blocks
        own = self._fewest(arrival) - self._tracker.ledger.spared(reusable, more=footprint)
        return self._registry.rejection(claim, arrival.keys, max(own, self._largest_need()))

    def _closed(self, claim: ResidentClaim) -> str:
        """Why no claim of this id is accepted, or no claim at all."""
        if self.preregistration.is_waiting(claim.claim_id):
            return f"claim id {self._shown(claim)} is registered ahead, for another request"
        if self.drains:
            return "the operator drains this engine: it accepts no more claims"
        alarm = self._alarm()
        return _ALARM if alarm and self._names.qualified else alarm

    def _accept(self, claim: ResidentClaim, keys: tuple[bytes, ...], why: str) -> Entry:
        """Accept a claim. In a mode without acceptance the registration alone is reported."""
        blocks = self._registry.groups.needed(keys)
        fields = {**claim_terms(claim, len(blocks)), "object_id": object_of(keys[-1])}
        named = content_keys(keys)
        self._emitter.fact(Kind.CLAIM_REGISTERED, **fields, keys=named)
        self._decided(claim.protection_mode)[0] += 1
        entry = self._registry.add(claim, keys, fields, named)
        self._accepted.append(entry)
        self._tracker.add(entry)
        if not entry.watched:
            self._emitter.fact(Kind.CLAIM_COMMITTED, **fields)
            self._emitter.report(Kind.CLAIM_ACCEPTED, **fields, reason=reason_of(why))
        self._tracker.find(entry)
        self._offloaded.add(entry)
        return entry

    def _reject(self, claim: ResidentClaim, why: str) -> None:
        """Report a rejection, under a name that no other claim has: the id stays free.

        A rejected claim of a watched mode has no object: events on its blocks do not concern it.
        """
        fields = {**claim_terms(claim), "claim_id": self._rejected_name(claim.claim_id)}
        if claim.protection_mode in WATCHED:
            del fields["object_id"]
        self._decided(claim.protection_mode)[1] += 1
        self._emitter.fact(Kind.CLAIM_REGISTERED, **fields)
        self._report_rejection(fields["claim_id"], why)

    def _reject_unread(self, request_id: str, error: ClaimError) -> None:
        """Report the rejection of what a request states as a claim.

        What cannot be read may hold anything, so the trace does not quote it.
        """
        self._decided("")[1] += 1
        name = self._rejected_name(name_of(f"claim of {request_id}"))
        why = _UNREADABLE if isinstance(error, UnreadableClaim) else str(error)
        self._report_rejection(name, why)

    def _decline(self, name: str, why: str) -> None:
        """Report why a KV hint, or a part of it, has no claim."""
        self._report_rejection(self._rejected_name(name_of(name)), why)

    def _rejected_name(self, claim_id: str) -> str:
        self._rejections += 1
        return rejected_name(claim_id, self._rejections)

    def _report_rejection(self, name: str, why: str) -> None:
        self._emitter.report(Kind.CLAIM_REJECTED, claim_id=name, reason=reason_of(why))

    def _decided(self, mode: str) -> list[int]:
        return self.decided.setdefault(mode, [0, 0])

    def _pin(self, arrival: Arrival, stated: dict[str, Any]) -> str:
        """Claim the prompt of a request that ended; returns why that was rejected, or empty."""
        if not self._is_cached(arrival):
            return "its prompt is not in the cache"
        blocks = len(arrival.keys)
        return self.admit(replace(arrival, claim=stated, blocks=blocks, reusable=blocks))

    def _is_cached(self, arrival: Arrival) -> bool:
        """Whether all whole blocks of a prompt are in the cache."""
        needed = self._registry.groups.needed(arrival.keys)
        return len(dict(self._pool.find(needed))) == len(needed)

    def _claim_of(self, raw: object, arrival: Arrival) -> tuple[ResidentClaim, Resume]:
        """The claim that a request states, as the engine knows it, and how it outlives that."""
        identity, (stated, how) = self._cache_of(arrival), resume_of(raw)
        claim = claim_of(stated, identity, arrival.keys, arrival.scope)
        return self._names.of_engine(claim), how

    def _shown(self, claim: ResidentClaim) -> str:
        """The id of a claim as its owner knows it."""
        return self._names.owners_id(claim.claim_id, claim.owner_scope)

    def _cache_of(self, arrival: Arrival) -> CacheIdentity:
        """The cache identity of the blocks that a request uses."""
        own = {"namespace": arrival.namespace, "adapter": arrival.adapter}
        return self._identity.model_copy(update=own)
