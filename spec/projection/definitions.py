"""Defines the fields of an event for one claim: a function for each, under the field's name.

Counts are in blocks. None is an unknown value.
"""

from __future__ import annotations

from typing import Final

from spec.events.alphabet import Kind
from spec.projection import concerns, ranks, rights, room, routes
from spec.projection import pool as blocks
from spec.projection.blocks import computed
from spec.projection.pool import Claim, Request
from spec.projection.room import Cells
from spec.projection.sight import Sight

_OUTCOMES: Final = frozenset({"refusal", "demotion", "expiry", "harm"})


# Whom it concerns.


def mine(sight: Sight) -> bool:
    """Whether the event concerns the claim's object, or the claim by name."""
    return concerns.is_mine(sight)


def named(sight: Sight) -> bool:
    """Whether the event names the claim's id."""
    return concerns.is_named(sight)


def here(sight: Sight) -> bool:
    """False in the scope of the claim; `Case` computes it for each request."""
    return False


# Blocks, and ranks.


def lead(sight: Sight) -> int:
    """Contiguous blocks held from the predicate's start, after the event."""
    return blocks.lead(sight.later, sight.claim)


def found(sight: Sight) -> bool:
    """Whether the blocks were found in the cache."""
    return sight.event.found


def covers(sight: Sight) -> bool:
    """Whether the look-up asked for all blocks that the predicate needs."""
    asked, claim = sight.event.asked, sight.claim
    return asked is not None and claim.start + claim.threshold <= asked


def breaks(sight: Sight) -> bool:
    """Whether the predicate is false after the event; after the entry ended, by the last blocks."""
    claim = sight.claim
    held = int(claim.facts["lead"]) if claim.unwatched else lead(sight)
    return held < claim.threshold


def new_loss(sight: Sight) -> bool:
    """Whether the blocks reported lost were lost and in no earlier report."""
    return concerns.new_loss(sight.claim, sight.event)


def lower_priority_available(sight: Sight) -> bool | None:
    """Whether a claim of lower priority had a block to evict instead; None: unknown."""
    loses = ranks.is_ranked(sight.claim) and concerns.is_mine(sight)
    return ranks.lower_priority_available(sight) if loses else False


def higher_priority_kept(sight: Sight) -> bool:
    """Whether a claim of higher priority keeps its blocks."""
    return ranks.is_ranked(sight.claim) and ranks.higher_priority_kept(sight)


# Room.


def footprint(sight: Sight) -> int | None:
    """The blocks that a commitment or an acceptance states."""
    return sight.event.footprint


def needed(sight: Sight) -> int | None:
    """The blocks that the arriving request needs."""
    return sight.event.needed


def usable(sight: Sight) -> int | None:
    """The usable blocks of the pool."""
    return sight.event.usable


def _everyone(sight: Sight) -> Cells:
    return sight.moment.room(sight.sharing)


def _since_arrival(sight: Sight) -> Cells:
    return sight.moment.room(sight.sharing, sight.event.request_id or "")


def rest(sight: Sight) -> int:
    """The blocks of the other responsible claims of the pool, each block once."""
    return len(room.rest_of(_everyone(sight), sight.claim))


def rest_since_arrival(sight: Sight) -> int:
    """The same for the claims that were responsible since the request arrived."""
    return len(room.rest_of(_since_arrival(sight), sight.claim))


def shared(sight: Sight) -> int:
    """The claim's blocks that `rest` counts as well, or `rest_since_arrival` as a request ends."""
    ends = sight.event.kind is Kind.REQUEST_FINISHED
    return room.shared_by((_since_arrival if ends else _everyone)(sight), sight.claim)


def others(sight: Sight) -> int:
    """The blocks that the other unfinished requests need, in total."""
    return room.needs_of_others(sight.pool, sight.event.request_id)


# Blame.


def _named(sight: Sight) -> set[str]:
    return room.responsible_of(sight.pool, sight.event.accused)


def accuses(sight: Sight) -> bool:
    """Whether the event names a blocking id."""
    return bool(sight.event.accused)


def blamed(sight: Sight) -> bool:
    """Whether the claim is among the blocking ids."""
    return sight.claim.claim_id in sight.event.accused


def shared_unblamed(sight: Sight) -> int:
    """The claim's blocks that are shared with responsible claims that the event does not name."""
    return room.shared_unblamed(_everyone(sight), sight.claim, _named(sight))


def blamed_rest(sight: Sight) -> int:
    """The blocks that the other named claims free without this one."""
    return room.freed(_everyone(sight), _named(sight) - {sight.claim.claim_id})


def blamed_least(sight: Sight) -> int:
    """The blocks that only one other named claim frees, for the one that frees least."""
    return room.least_share(_everyone(sight), sight.claim, _named(sight))


def invalid_blocker(sight: Sight) -> bool:
    """Whether another blocking id is not responsible here, or frees nothing."""
    others = set(sight.event.accused) - {sight.claim.claim_id}
    return room.frees_nothing(_everyone(sight), others, _named(sight))


def proof(sight: Sight) -> bool:
    """Whether there is a capacity proof to judge: the claims in the pool judge its sums."""
    return sight.event.proof is not None and sight.claim.responsible


def _of_proof(sight: Sight, name: str) -> int | None:
    found: int | None = getattr(sight.event.proof, name, None)
    return found


def said_resident(sight: Sight) -> int | None:
    """The protected resident blocks that the capacity proof states."""
    return _of_proof(sight, "resident")


def said_active(sight: Sight) -> int | None:
    """The required active blocks that the capacity proof states."""
    return _of_proof(sight, "active")


def said_total(sight: Sight) -> int | None:
    """The sum of resident and active blocks that the capacity proof states."""
    return _of_proof(sight, "total")


def said_usable(sight: Sight) -> int | None:
    """The usable blocks that the capacity proof states."""
    return _of_proof(sight, "usable")


def said_shortfall(sight: Sight) -> int | None:
    """The missing blocks that the capacity proof states."""
    return _of_proof(sight, "shortfall")


# Restores, and outcomes.


def _request(sight: Sight) -> Request:
    return sight.pool.request_of(sight.event) or Request()


def restore(sight: Sight) -> bool:
    """Whether the restore of a claim failed; otherwise the refusal is for lack of capacity."""
    return sight.event.restore and bool(_request(sight).failed)


def blames_unfailed(sight: Sight) -> bool:
    """For a claim that is responsible, is named, or had a failed load: whether a claim is named
    whose restore did not fail.
    """
    event, claim, failed = sight.event, sight.claim, _request(sight).failed
    blamed = {*(event.blocking_claim_ids or ()), event.outcome_claim_id} - {None}
    part = claim.responsible or claim.claim_id in blamed | failed
    return part and not blamed <= failed


def unfounded_failure(sight: Sight) -> bool:
    """Whether the refusal states a failed restore as its cause, and none failed."""
    return sight.event.restore and not _request(sight).failed


def echo(sight: Sight) -> bool:
    """Whether the report repeats a failure that was already reported."""
    return sight.event.echo


def outcome(sight: Sight) -> bool:
    """Whether the report states an outcome and names the claim, or no claim."""
    event, name = sight.event, sight.claim.claim_id
    ours = event.outcome_claim_id in (None, name)
    if event.outcome == "refusal" and event.blocking_claim_ids is not None:
        ours = ours and name in event.blocking_claim_ids
    return ours and event.outcome in _OUTCOMES


def refusal(sight: Sight) -> bool:
    """Whether the stated outcome is a refusal."""
    return outcome(sight) and sight.event.outcome == "refusal"


def harm(sight: Sight) -> bool:
    """Whether the stated outcome is harm."""
    return outcome(sight) and sight.event.outcome == "harm"


def from_tier(sight: Sight) -> bool:
    """Whether the report states it, and nothing that the predicate needs was computed since."""
    return sight.event.from_tier and _all_loaded(sight.claim, sight.claim.computed)


def intact(sight: Sight) -> bool:
    """Whether a copy of the claim was loaded: a load for other claims restores only one with a
    copy.
    """
    own = concerns.is_direct(sight) or bool(sight.claim.facts["host"])
    return own and _all_loaded(sight.claim, computed(sight))


def _all_loaded(claim: Claim, made: frozenset[int]) -> bool:
    needed = range(claim.start, claim.start + min(claim.threshold, blocks.LARGEST))
    return made.isdisjoint(needed)


# Who acts, and routes.


def authorised(sight: Sight) -> bool:
    """Whether the transition is by the owner, or by the runtime within its rights."""
    return rights.authorised(sight)


def by(sight: Sight) -> int:
    """The caller of the step, as a number; 0 if it is not stated."""
    return routes.number(sight.event.by)


def cost(sight: Sight) -> int | None:
    """The cost of the route."""
    return sight.event.cost


def worker(sight: Sight) -> int:
    """The worker of the route, as a number."""
    return routes.number(sight.event.worker)


def hit(sight: Sight) -> bool:
    """Whether the routed request reused the claim's prefix."""
    return bool(sight.event.hit)


def several_unreported(sight: Sight) -> bool:
    """Whether several facts that the report could be about are not reported yet."""
    return len(routes.owed(sight)) > 1


def matches_oldest(sight: Sight) -> bool:
    """Whether the report agrees with the oldest fact that is not reported yet."""
    return routes.owed(sight)[:1] == [routes.reported(sight.event)]
