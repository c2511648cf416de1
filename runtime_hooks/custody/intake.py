"""Which claims are taken, and how they end: decisions, and the telling of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from runtime_hooks.custody.voice import contents_of, terms
from runtime_hooks.enforce.ledger import WATCHED
from runtime_hooks.requests.ahead import Ahead
from runtime_hooks.requests.metadata import claim_of, name_of, object_of, release_of
from runtime_hooks.requests.pins import Pins
from spec.events.alphabet import Kind
from spec.events.fields import RUNTIME
from spec.language.errors import ClaimError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runtime_hooks.custody.blocks import Custody
    from runtime_hooks.custody.registry import Now, Registry
    from runtime_hooks.custody.tier import Tier
    from runtime_hooks.custody.voice import Voice
    from runtime_hooks.enforce.holds import Holding
    from runtime_hooks.enforce.ledger import Entry
    from runtime_hooks.requests.ahead import Prompt
    from runtime_hooks.requests.arrivals import Arrival
    from spec.claims.claim import CacheIdentity, ResidentClaim, TimeUnit

__all__ = ["Intake"]


class Intake:
    """Claims as they come and go.

    Args:
        identity: of the engine's cache.
        prompts: the contents of a prompt's whole blocks.
        beside: what the neediest request in hand needs beside all claims, in blocks.
        alarm: why no more claims are accepted; empty while they are.
        tick: called at the beginning of each thing that happens.
        now: what the clocks say, at any time.
    """

    def __init__(
        self,
        identity: CacheIdentity,
        pool: Holding,
        registry: Registry,
        custody: Custody,
        tier: Tier,
        voice: Voice,
        *,
        prompts: Callable[[Prompt], Sequence[bytes]],
        beside: Callable[[], int],
        alarm: Callable[[], str],
        tick: Callable[[], None],
        now: Now,
    ) -> None:
        self.pins = Pins(self._pin, self.release)
        self.ahead = Ahead(identity, prompts, self.take, self.release)
        self._identity, self._pool, self._registry = identity, pool, registry
        self._custody, self._tier, self._voice = custody, tier, voice
        self._beside, self._alarm, self._tick, self._now = beside, alarm, tick, now
        self._taken: list[Entry] = []  # since `begin`

    def begin(self) -> None:
        """What came with a request is about to be decided and answered."""
        self._taken.clear()

    def undo(self) -> None:
        """Nobody will be told: give up what was taken since."""
        for entry in self._taken:
            if self._registry.live.get(entry.claim_id) is entry:
                self.end(entry, Kind.CLAIM_DEMOTED, RUNTIME)

    def take(self, arrival: Arrival) -> str:
        """Decide on the claim of a request; why it was turned away, or empty."""
        claim = None
        try:
            claim = claim_of(arrival.claim, self._cache(arrival), arrival.keys, arrival.scope)
            reason = self._fault(claim, arrival)
        except ClaimError as error:
            reason = str(error)
        if claim is None or reason:
            self._turn_away(claim, arrival.request_id)
            return reason
        keys = tuple(arrival.keys[: claim.footprint_blocks])
        if claim.protection_mode not in WATCHED:
            self._custody.clear_way(keys, claiming=True)
        self._accept(claim, keys)
        return ""

    def give_up(self, arrival: Arrival) -> str:
        """A request gives up a claim; why it is not given up, or empty."""
        try:
            return self.release(*release_of(arrival.release, arrival.scope))
        except ClaimError as error:
            return str(error)

    def release(self, claim_id: str, scope: str) -> str:
        """The owner gives a claim up; why that is not done, or empty."""
        self._tick()
        entry = self._registry.live.get(claim_id)
        if entry is None:
            return "there is no live claim of that id"
        if entry.claim.owner_scope != scope:
            return "the claim is not owned by who gives it up"
        self.end(entry, Kind.CLAIM_RELEASED, scope)
        return ""

    def expire(self, unit: TimeUnit) -> None:
        """End the claims whose duration is over by this clock."""
        while (entry := self._registry.due(unit, self._now)) is not None:
            self._voice.fact(Kind.DURATION_ELAPSED, claim_id=entry.claim_id)
            self.end(entry, Kind.CLAIM_EXPIRED, RUNTIME)

    def end(self, entry: Entry, how: Kind, by: str) -> None:
        """Responsibility for a claim ends."""
        about = {"claim_id": entry.claim_id, "by": by}
        self._voice.fact(Kind.CLAIM_RETIRED, **about)
        self._voice.report(how, **about)
        self._custody.remove(entry)
        self._tier.remove(entry)
        self._registry.end(entry)
        self.pins.ended(entry.claim_id)
        self.ahead.ended(entry.claim_id)

    def _accept(self, claim: ResidentClaim, keys: tuple[bytes, ...]) -> None:
        """Take a claim without fault. A mode without acceptance begins with the registration."""
        said = {**terms(claim), "object_id": object_of(keys[-1])}
        self._voice.fact(Kind.CLAIM_REGISTERED, **said)
        entry = self._registry.add(claim, keys, self._now)
        self._taken.append(entry)
        self._custody.add(entry)
        if not entry.watched:
            self._voice.fact(Kind.CLAIM_COMMITTED, **said, content_keys=contents_of(keys))
            self._voice.report(Kind.CLAIM_ACCEPTED, **said)
        self._custody.find(entry)
        self._tier.begin(entry)

    def _pin(self, arrival: Arrival, stated: dict[str, Any]) -> str:
        """Claim the prompt of a request that has ended; why that was turned away, or empty."""
        if len(dict(self._pool.find(arrival.keys))) < len(arrival.keys):
            return "its prompt is not in the cache"
        blocks = len(arrival.keys)
        return self.take(replace(arrival, claim=stated, blocks=blocks, reusable=blocks))

    def _fault(self, claim: ResidentClaim, arrival: Arrival) -> str:
        """Why the claim cannot be accepted: itself, or what it would leave to requests in hand."""
        if arrival.no_admit:
            return "its request asks not to be cached"
        if self.ahead.waits(claim.claim_id):
            return f"claim id {claim.claim_id} is registered ahead, for another request"
        if why := self._alarm():
            return why
        reusable, footprint = arrival.keys[: arrival.reusable], claim.footprint_blocks
        own = arrival.blocks - self._custody.ledger.spared(reusable, more=footprint)
        return self._registry.fault(claim, arrival.keys, max(own, self._beside()))

    def _cache(self, arrival: Arrival) -> CacheIdentity:
        """The identity of the blocks that a request uses."""
        own = {"namespace": arrival.namespace, "adapter": arrival.adapter}
        return self._identity.model_copy(update=own)

    def _turn_away(self, claim: ResidentClaim | None, request_id: str) -> None:
        """Tell a rejection, under the claim's own id where nobody else has or had it.

        A claim that would only be watched has no object: what is there of it is news to nobody.
        """
        name = name_of(f"claim of {request_id}")
        if claim is not None:
            waits = self.ahead.waits(claim.claim_id)
            if not waits and self._registry.decide(claim):
                name = claim.claim_id
            said = {**terms(claim), "claim_id": name}
            if claim.protection_mode in WATCHED:
                del said["object_id"]
            self._voice.fact(Kind.CLAIM_REGISTERED, **said)
        self._voice.report(Kind.CLAIM_REJECTED, claim_id=name)
