"""What each field of an event is, to one claim: one definition a field, under the field's name.

A count is of blocks. None is a value that nobody knows.
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
    return concerns.is_mine(sight)


def named(sight: Sight) -> bool:
    return concerns.is_named(sight)


def here(sight: Sight) -> bool:
    """In the scope of the claim alone no event is of a request; `Case` asks it of every request."""
    return False


# Blocks, and ranks.


def lead(sight: Sight) -> int:
    return blocks.lead(sight.later, sight.claim)


def found(sight: Sight) -> bool:
    return sight.event.found


def covers(sight: Sight) -> bool:
    asked, claim = sight.event.asked, sight.claim
    return asked is not None and claim.start + claim.threshold <= asked


def breaks(sight: Sight) -> bool:
    """Of a claim whose entry ended its blocks are not followed: those of then count."""
    claim = sight.claim
    held = int(claim.facts["lead"]) if claim.unwatched else lead(sight)
    return held < claim.threshold


def unsaid(sight: Sight) -> bool:
    return concerns.unsaid(sight.claim, sight.event)


def passed(sight: Sight) -> bool | None:
    loses = ranks.is_ranked(sight.claim) and concerns.is_mine(sight)
    return ranks.passed(sight) if loses else False


def spared(sight: Sight) -> bool:
    return ranks.is_ranked(sight.claim) and ranks.spared(sight)


# Room.


def footprint(sight: Sight) -> int | None:
    return sight.event.footprint


def needed(sight: Sight) -> int | None:
    return sight.event.needed


def usable(sight: Sight) -> int | None:
    return sight.event.usable


def _everyone(sight: Sight) -> Cells:
    return sight.moment.room(sight.sharing)


def _since_arrival(sight: Sight) -> Cells:
    return sight.moment.room(sight.sharing, sight.event.request_id or "")


def rest(sight: Sight) -> int:
    return len(room.rest_of(_everyone(sight), sight.claim))


def stood(sight: Sight) -> int:
    return len(room.rest_of(_since_arrival(sight), sight.claim))


def shared(sight: Sight) -> int:
    ends = sight.event.kind is Kind.REQUEST_FINISHED
    return room.shared_by((_since_arrival if ends else _everyone)(sight), sight.claim)


def others(sight: Sight) -> int:
    return room.needs_of_others(sight.pool, sight.event.request_id)


# Blame.


def _named(sight: Sight) -> set[str]:
    return room.responsible_of(sight.pool, sight.event.accused)


def accuses(sight: Sight) -> bool:
    return bool(sight.event.accused)


def blamed(sight: Sight) -> bool:
    return sight.claim.claim_id in sight.event.accused


def tied(sight: Sight) -> int:
    return room.tied(_everyone(sight), sight.claim, _named(sight))


def blamed_rest(sight: Sight) -> int:
    return room.freed(_everyone(sight), _named(sight) - {sight.claim.claim_id})


def blamed_least(sight: Sight) -> int:
    return room.least_share(_everyone(sight), sight.claim, _named(sight))


def stranger(sight: Sight) -> bool:
    others = set(sight.event.accused) - {sight.claim.claim_id}
    return room.frees_nothing(_everyone(sight), others, _named(sight))


def proof(sight: Sight) -> bool:
    """Its sums are judged by the claims that are in the pool."""
    return sight.event.proof is not None and sight.claim.responsible


def _of_proof(sight: Sight, name: str) -> int | None:
    found: int | None = getattr(sight.event.proof, name, None)
    return found


def said_resident(sight: Sight) -> int | None:
    return _of_proof(sight, "resident")


def said_active(sight: Sight) -> int | None:
    return _of_proof(sight, "active")


def said_total(sight: Sight) -> int | None:
    return _of_proof(sight, "total")


def said_usable(sight: Sight) -> int | None:
    return _of_proof(sight, "usable")


def said_shortfall(sight: Sight) -> int | None:
    return _of_proof(sight, "shortfall")


# Restores, and outcomes.


def _request(sight: Sight) -> Request:
    return sight.pool.request_of(sight.event) or Request()


def restore(sight: Sight) -> bool:
    """The restore of a claim failed; else the refusal is for want of room, whatever it says."""
    return sight.event.restore and bool(_request(sight).failed)


def smear(sight: Sight) -> bool:
    """To a claim that has a part in it: it is responsible, or named, or a load of it failed."""
    event, claim, failed = sight.event, sight.claim, _request(sight).failed
    said = {*(event.blocking_claim_ids or ()), event.outcome_claim_id} - {None}
    part = claim.responsible or claim.claim_id in said | failed
    return part and not said <= failed


def alleges(sight: Sight) -> bool:
    return sight.event.restore and not _request(sight).failed


def echo(sight: Sight) -> bool:
    return sight.event.echo


def outcome(sight: Sight) -> bool:
    event, name = sight.event, sight.claim.claim_id
    ours = event.outcome_claim_id in (None, name)
    if event.outcome == "refusal" and event.blocking_claim_ids is not None:
        ours = ours and name in event.blocking_claim_ids
    return ours and event.outcome in _OUTCOMES


def refusal(sight: Sight) -> bool:
    return outcome(sight) and sight.event.outcome == "refusal"


def harm(sight: Sight) -> bool:
    return outcome(sight) and sight.event.outcome == "harm"


def from_tier(sight: Sight) -> bool:
    """The report says so, and nothing that the predicate needs was computed since it was away."""
    return sight.event.from_tier and _all_loaded(sight.claim, sight.claim.computed)


def intact(sight: Sight) -> bool:
    """A load for another claim on the same content restores no claim without a copy."""
    own = concerns.is_direct(sight) or bool(sight.claim.facts["host"])
    return own and _all_loaded(sight.claim, computed(sight))


def _all_loaded(claim: Claim, made: frozenset[int]) -> bool:
    needed = range(claim.start, claim.start + min(claim.threshold, blocks.LARGEST))
    return made.isdisjoint(needed)


# Who acts, and routes.


def authorised(sight: Sight) -> bool:
    return rights.authorised(sight)


def by(sight: Sight) -> int:
    return routes.number(sight.event.by)


def cost(sight: Sight) -> int | None:
    return sight.event.cost


def worker(sight: Sight) -> int:
    return routes.number(sight.event.worker)


def hit(sight: Sight) -> bool:
    return bool(sight.event.hit)


def behind(sight: Sight) -> bool:
    return len(routes.owed(sight)) > 1


def oldest(sight: Sight) -> bool:
    return routes.owed(sight)[:1] == [routes.told(sight.event)]
