"""Short stories of what may happen to a claim, as canonical events that are not stamped yet.

Three claims share a pool of 6 usable blocks. Each story is about one of them and one request; told
one after another, or mixed, they make streams in which something happens.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from spec.events.alphabet import Kind
from spec.events.canonical import CapacityProof, Event

CLAIMS: Final = ("claim:a", "claim:b", "claim:c")
REQUESTS: Final = ("request:1", "request:2", "request:3")
USABLE: Final = 6
PREDICATES: Final = {
    "claim:a": "leading_prefix_at_least(2)",
    "claim:b": "leading_prefix_at_least(1)",
    "claim:c": "contiguous_range(1, 2)",
}
FOOTPRINTS: Final = {"claim:a": 3, "claim:b": 1, "claim:c": 3}
PRIORITIES: Final = {"claim:a": 1, "claim:b": 5, "claim:c": 5}

Story = Callable[[str, str], list[Event]]


def blocks(claim: str, *positions: int) -> dict[str, Any]:
    """The blocks of a claim at these positions; ids tell the claim and the position."""
    return {
        "block_ids": tuple(10 * (CLAIMS.index(claim) + 1) + p for p in positions),
        "positions": positions,
    }


def contents(claim: str) -> tuple[str, ...]:
    """The contents of its positions, which no other claim has."""
    return tuple(f"{claim}/{position}" for position in range(FOOTPRINTS[claim]))


def say(kind: Kind, claim: str, request: str | None = None, **more: Any) -> Event:
    return Event(kind=kind, claim_id=claim, request_id=request, **more)


def at(kind: Kind, request: str, **more: Any) -> Event:
    return Event(kind=kind, request_id=request, **more)


def registered(claim: str, request: str, **more: Any) -> list[Event]:
    known = say(
        Kind.CLAIM_REGISTERED,
        claim,
        cache_identity="model/16",
        object_id=f"object of {claim}",
        predicate=PREDICATES[claim],
        mode="demotable",
        owner_scope="owner",
        priority=PRIORITIES[claim],
        **more,
    )
    return [known]


def accepted(claim: str, request: str, **more: Any) -> list[Event]:
    size = FOOTPRINTS[claim]
    return [
        *registered(claim, request, **more),
        say(Kind.CLAIM_COMMITTED, claim, footprint=size, content_keys=contents(claim)),
        say(Kind.CLAIM_ACCEPTED, claim, footprint=size),
    ]


def timed(claim: str, request: str) -> list[Event]:
    """Accepted for a time that the stream tells."""
    return accepted(claim, request, duration="60 steps")


def registered_for_a_time(claim: str, request: str) -> list[Event]:
    return registered(claim, request, duration="60 steps")


def misstated(claim: str, request: str) -> list[Event]:
    return [*accepted(claim, request)[:2], say(Kind.CLAIM_ACCEPTED, claim, footprint=9)]


def committed(claim: str, request: str) -> list[Event]:
    """The registry takes the claim on and nobody says so."""
    return accepted(claim, request)[:2]


def accepted_only_in_words(claim: str, request: str) -> list[Event]:
    known, _, said = accepted(claim, request)
    return [known, said]


def rejected(claim: str, request: str) -> list[Event]:
    return [*registered(claim, request), say(Kind.CLAIM_REJECTED, claim)]


def turned_down(claim: str, request: str) -> list[Event]:
    return [say(Kind.CLAIM_REJECTED, claim)]


def cached(claim: str, request: str) -> list[Event]:
    return [say(Kind.BLOCK_CACHED, claim, **blocks(claim, 0, 1, 2))]


def materialized(claim: str, request: str) -> list[Event]:
    return [say(Kind.CLAIM_MATERIALIZED, claim)]


def filled(claim: str, request: str) -> list[Event]:
    return cached(claim, request) + materialized(claim, request)


def thinned(claim: str, request: str) -> list[Event]:
    """The tail is evicted; the predicate of the first two claims does not need it."""
    gone: dict[str, Any] = {"block_ids": blocks(claim, 2)["block_ids"]}
    gone["lowest_priority"] = PRIORITIES[claim]
    return [at(Kind.BLOCK_EVICTED, request, **gone), say(Kind.CLAIM_BLOCK_LOST, claim)]


def evicted(claim: str, request: str) -> list[Event]:
    """All blocks are gone, and those of no claim of lower priority could be taken."""
    gone: dict[str, Any] = {"block_ids": blocks(claim, 0, 1, 2)["block_ids"]}
    return [Event(kind=Kind.BLOCK_EVICTED, **gone, lowest_priority=PRIORITIES[claim])]


def evicted_whatever(claim: str, request: str) -> list[Event]:
    """All blocks are gone, and nothing is said of what could be taken."""
    return [Event(kind=Kind.BLOCK_EVICTED, block_ids=blocks(claim, 0, 1, 2)["block_ids"])]


def passed_over(claim: str, request: str) -> list[Event]:
    """A block is gone where one of the lowest claim could be taken."""
    gone = blocks(claim, 2)["block_ids"]
    return [Event(kind=Kind.BLOCK_EVICTED, block_ids=gone, lowest_priority=1)]


def reset(claim: str, request: str) -> list[Event]:
    return [Event(kind=Kind.BLOCK_LOST, block_ids=blocks(claim, 0, 1)["block_ids"])]


def wiped(claim: str, request: str) -> list[Event]:
    return [Event(kind=Kind.BLOCK_LOST)]


def unmaterialized(claim: str, request: str) -> list[Event]:
    return [say(Kind.CLAIM_UNMATERIALIZED, claim)]


def harmed(claim: str, request: str) -> list[Event]:
    return [say(Kind.CLAIM_HARMED, claim)]


def block_lost_told(claim: str, request: str) -> list[Event]:
    return [say(Kind.CLAIM_BLOCK_LOST, claim)]


def another_block_told(claim: str, request: str) -> list[Event]:
    """The first block is said to be lost."""
    return [say(Kind.CLAIM_BLOCK_LOST, claim, block_ids=blocks(claim, 0)["block_ids"])]


def demoted(claim: str, request: str) -> list[Event]:
    return [say(Kind.CLAIM_RETIRED, claim), say(Kind.CLAIM_DEMOTED, claim, by="owner")]


def demoted_aloud_only(claim: str, request: str) -> list[Event]:
    return [say(Kind.CLAIM_DEMOTED, claim, by="owner")]


def released_by_a_stranger(claim: str, request: str) -> list[Event]:
    return [say(Kind.CLAIM_RETIRED, claim), say(Kind.CLAIM_RELEASED, claim, by="somebody")]


def withdrawn(claim: str, request: str) -> list[Event]:
    """Its owner takes it back, decided or not."""
    return [say(Kind.CLAIM_RELEASED, claim, by="owner")]


def dropped(claim: str, request: str) -> list[Event]:
    """The registry ends it by itself, and its owner is said to have."""
    end = say(Kind.CLAIM_RETIRED, claim, by="runtime")
    return [end, say(Kind.CLAIM_RELEASED, claim, by="owner")]


def retired(claim: str, request: str) -> list[Event]:
    return [say(Kind.CLAIM_RETIRED, claim)]


def elapsed(claim: str, request: str) -> list[Event]:
    return [say(Kind.DURATION_ELAPSED, claim)]


def expired(claim: str, request: str) -> list[Event]:
    return [*elapsed(claim, request), say(Kind.CLAIM_EXPIRED, claim, by="runtime")]


def arrives(claim: str, request: str) -> list[Event]:
    return [at(Kind.REQUEST_ARRIVED, request, needed=5, usable=USABLE)]


def fits(claim: str, request: str) -> list[Event]:
    return [at(Kind.REQUEST_ARRIVED, request, needed=1, usable=USABLE)]


def finishes(claim: str, request: str) -> list[Event]:
    return [at(Kind.REQUEST_FINISHED, request)]


def refused(claim: str, request: str) -> list[Event]:
    size = FOOTPRINTS[claim]
    proof = CapacityProof(size, 5, size + 5, USABLE, size - 1)
    blame: dict[str, Any] = {"blocking_claim_ids": (claim,), "proof": proof}
    return [*arrives(claim, request), at(Kind.REQUEST_REFUSED, request, **blame)]


def refused_wrongly(claim: str, request: str) -> list[Event]:
    proof = CapacityProof(1, 1, 1, 1, 1)
    blame: dict[str, Any] = {"blocking_claim_ids": ("claim:stranger",), "proof": proof}
    return [*arrives(claim, request), at(Kind.REQUEST_REFUSED, request, **blame)]


def deferred(claim: str, request: str) -> list[Event]:
    return [at(Kind.REQUEST_DEFERRED, request)]


def looked_up(claim: str, request: str) -> list[Event]:
    return [say(Kind.PREFIX_LOOKUP, claim, request, held=3, asked=3)]


def looked_up_somehow(claim: str, request: str) -> list[Event]:
    """It finds fewer than are held, and does not state what it asked for."""
    return [say(Kind.PREFIX_LOOKUP, claim, request, held=1)]


def turned_away(claim: str, request: str) -> list[Event]:
    return [at(Kind.REQUEST_REFUSED, request)]


def conflict_ended(claim: str, request: str) -> list[Event]:
    return refused(claim, request) + finishes(claim, request)


def offloaded(claim: str, request: str) -> list[Event]:
    return [say(Kind.STORE_FINISHED, claim), say(Kind.CLAIM_OFFLOADED, claim)]


def offloaded_in_words(claim: str, request: str) -> list[Event]:
    """It is said to be offloaded, and nothing was stored."""
    return [say(Kind.CLAIM_OFFLOADED, claim)]


def required(claim: str, request: str) -> list[Event]:
    return [
        *fits(claim, request),
        say(Kind.PREFIX_LOOKUP, claim, request, held=3, asked=3),
        say(Kind.CLAIM_RESTORE_REQUIRED, claim, request),
    ]


def loaded(claim: str, request: str) -> list[Event]:
    return [say(Kind.LOAD_FINISHED, claim, request, **blocks(claim, 0, 1, 2))]


def restored(claim: str, request: str) -> list[Event]:
    return [say(Kind.CLAIM_RESTORED, claim, request, from_tier=True)]


def required_by_another(claim: str, request: str) -> list[Event]:
    """A second request waits for the same restore."""
    other = f"{request}:second"
    return [*fits(claim, other), say(Kind.CLAIM_RESTORE_REQUIRED, claim, other)]


def reused_by_another(claim: str, request: str) -> list[Event]:
    """The second request is served, and ends."""
    other = f"{request}:second"
    return [say(Kind.PREFIX_REUSED, claim, other), at(Kind.REQUEST_FINISHED, other)]


def refused_to_another(claim: str, request: str) -> list[Event]:
    """The second request is refused for the restore that failed, and ends."""
    other = f"{request}:second"
    blame: dict[str, Any] = {"restore": True, "blocking_claim_ids": (claim,)}
    return [at(Kind.REQUEST_REFUSED, other, **blame), at(Kind.REQUEST_FINISHED, other)]


def recomputed(claim: str, request: str) -> list[Event]:
    return [say(Kind.CLAIM_RESTORED, claim, request)]


def computed(claim: str, request: str) -> list[Event]:
    """The request computes the claim's blocks itself."""
    return [say(Kind.BLOCK_CACHED, claim, request, **blocks(claim, 0, 1, 2))]


def found_in_cache(claim: str, request: str) -> list[Event]:
    return [say(Kind.BLOCK_CACHED, claim, request, **blocks(claim, 0, 1, 2), found=True)]


def copy_found(claim: str, request: str) -> list[Event]:
    return [say(Kind.HOST_COPY_FOUND, claim)]


def reused(claim: str, request: str) -> list[Event]:
    return [say(Kind.PREFIX_REUSED, claim, request)]


def load_failed(claim: str, request: str) -> list[Event]:
    return [say(Kind.LOAD_FAILED, claim, request)]


def failure_answered(claim: str, request: str) -> list[Event]:
    outcome: dict[str, Any] = {"outcome": "refusal", "outcome_claim_id": claim}
    blame: dict[str, Any] = {"restore": True, "blocking_claim_ids": (claim,)}
    return [
        say(Kind.CLAIM_RESTORATION_FAILED, claim, request, **outcome),
        at(Kind.REQUEST_REFUSED, request, **blame),
    ]


def refusal_stated(claim: str, request: str) -> list[Event]:
    """A refusal is reported as the outcome, and the request is not refused for it."""
    return failure_answered(claim, request)[:1]


def refused_for_it(claim: str, request: str) -> list[Event]:
    """The request is refused for its failed restore, and no outcome is reported besides."""
    return failure_answered(claim, request)[1:]


def harm_stated(claim: str, request: str) -> list[Event]:
    outcome: dict[str, Any] = {"outcome": "harm", "outcome_claim_id": claim}
    return [say(Kind.CLAIM_RESTORATION_FAILED, claim, request, **outcome)]


def failure_smeared(claim: str, request: str) -> list[Event]:
    other = CLAIMS[CLAIMS.index(claim) - 1]
    blame: dict[str, Any] = {"restore": True, "blocking_claim_ids": (claim, other)}
    return [at(Kind.REQUEST_REFUSED, request, **blame)]


def fallback(claim: str, request: str) -> list[Event]:
    told: dict[str, Any] = {"outcome": "fallback_recompute"}
    return [say(Kind.CLAIM_RESTORATION_FAILED, claim, request, **told)]


def echoed(claim: str, request: str) -> list[Event]:
    told: dict[str, Any] = {"outcome": "refusal", "outcome_claim_id": claim, "echo": True}
    return [say(Kind.CLAIM_RESTORATION_FAILED, claim, request, **told)]


def copy_lost(claim: str, request: str) -> list[Event]:
    return [say(Kind.HOST_COPY_LOST, claim)]


def routed(claim: str, request: str) -> list[Event]:
    route: dict[str, Any] = {"cost": 7, "worker": "worker:1"}
    return [*fits(claim, request), say(Kind.REQUEST_ROUTED, claim, request, **route)]


def rerouted(claim: str, request: str) -> list[Event]:
    """The request is routed once more."""
    return [say(Kind.REQUEST_ROUTED, claim, request, cost=9, worker="worker:2")]


def reroute_told(claim: str, request: str) -> list[Event]:
    return [
        say(Kind.ROUTE_COST_REPORTED, claim, request, cost=9),
        say(Kind.ROUTE_PLACEMENT_REPORTED, claim, request, worker="worker:2"),
    ]


def served_again(claim: str, request: str) -> list[Event]:
    return [say(Kind.REUSE_SERVED, claim, request, hit=False)]


def miss_told(claim: str, request: str) -> list[Event]:
    return [say(Kind.ROUTE_REUSE_REPORTED, claim, request, hit=False)]


def route_told(claim: str, request: str) -> list[Event]:
    return [
        say(Kind.ROUTE_COST_REPORTED, claim, request, cost=7),
        say(Kind.ROUTE_PLACEMENT_REPORTED, claim, request, worker="worker:1"),
    ]


def route_told_wrongly(claim: str, request: str) -> list[Event]:
    return [
        say(Kind.ROUTE_COST_REPORTED, claim, request, cost=8),
        say(Kind.ROUTE_PLACEMENT_REPORTED, claim, request, worker="worker:2"),
        say(Kind.ROUTE_REUSE_REPORTED, claim, request, hit=False),
    ]


def served(claim: str, request: str) -> list[Event]:
    return [say(Kind.REUSE_SERVED, claim, request, hit=True)]


def hit_told(claim: str, request: str) -> list[Event]:
    return [say(Kind.ROUTE_REUSE_REPORTED, claim, request, hit=True)]


def misnamed(claim: str, request: str) -> list[Event]:
    named: dict[str, Any] = {"cache_identity": "model/16", "object_id": f"object of {claim}"}
    return [say(Kind.CLAIM_MATERIALIZED, "claim:unheard-of", **named)]


def rebound(claim: str, request: str) -> list[Event]:
    return [say(Kind.PREFIX_LOOKUP, claim, object_id="another object")]
