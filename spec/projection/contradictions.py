"""Detects facts that contradict each other; what they concern is inconclusive.

What the hooks of a stream do not observe contradicts nothing: each contradiction rests on kinds of
facts, and where one of these is not observed there is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import cache
from types import MappingProxyType
from typing import Final

from spec.claims.claim import Mode
from spec.contract.facts import FACTS_ARE_FACTS, ROOM, Assumption
from spec.contract.interpret import Look, Truths, at_kind, truth_of
from spec.events.alphabet import FACTS, Kind
from spec.events.canonical import Event
from spec.events.fields import REQUEST_KINDS
from spec.projection.concerns import is_direct
from spec.projection.pool import Claim, Pool, alike, held_by, is_over, is_tracked, lead
from spec.projection.sight import Moment, Sight

__all__ = ["RESTS", "block_twice", "of_claim", "of_request", "out_of_hand"]

_LOST: Final = frozenset({Kind.BLOCK_EVICTED, Kind.BLOCK_LOST})

RESTS: Final[Mapping[str, frozenset[Kind]]] = MappingProxyType(
    {each.name: each.rests_on for each in FACTS_ARE_FACTS}
    | {
        "look-ups find what is held": _LOST,
        "a request to end": frozenset({Kind.REQUEST_ARRIVED}),
        "one request of a name": frozenset({Kind.REQUEST_FINISHED}),
        "one position a block": _LOST,
    }
)
"""The kinds of facts on which each assumption rests."""


def observed(name: str, observes: frozenset[Kind] | None) -> bool:
    """Whether what an assumption rests on is observed; None observes everything."""
    return observes is None or RESTS[name] <= observes


def of_claim(
    sight: Sight,
    look: Look,
    observes: frozenset[Kind] | None,
    derived: frozenset[Kind] = frozenset(),
) -> str:
    """What a fact about a claim contradicts of what was known of it; empty where nothing.

    A load for another claim on the same content is none of this one.

    Args:
        look: the variables before the event.
        derived: facts that are read from reports.
    """
    event, claim = sight.event, sight.claim
    if not is_direct(sight):
        return ""
    for assumption, truth in _assumed(event.kind) if claim.predicate is not None else ():
        holds, _ = truth(look)
        unstated = assumption.name == ROOM and event.footprint is None
        if not (holds or unstated) and observed(assumption.name, observes):
            return f"facts contradict: {assumption.broken}"
    if event.kind is Kind.DURATION_ELAPSED and event.kind not in derived:
        return _of_duration(sight)
    if len(set(event.content_keys)) < len(event.content_keys):
        return "facts contradict: a claim has one content at two of its positions"
    looks = event.kind is Kind.PREFIX_LOOKUP and claim.predicate is not None
    looks = looks and observed("look-ups find what is held", observes)
    if looks and event.held is not None and not is_over(sight.pool, claim):
        return _of_lookup(sight, event.held)
    return ""


@cache
def _assumed(kind: Kind) -> list[tuple[Assumption, Truths]]:
    """The assumptions about facts of this kind."""
    return [(each, truth_of(at_kind(each.holds, kind))) for each in FACTS_ARE_FACTS]


def _of_duration(sight: Sight) -> str:
    """An expiring claim has a duration, stated or not; of a foreign mode it is unknown."""
    claim, time = sight.claim, sight.moment.time_ns
    lasts = (claim.mode or sight.moment.mode) in set(Mode) - {Mode.EXPIRING}
    if claim.introduced and claim.duration is None and lasts:
        return "facts contradict: the duration of a claim elapses that has none"
    if claim.elapsed or (time is None and claim.end is None):
        return ""
    if time is None:
        return "facts contradict: the duration elapses, and the line has no time"
    early = time < max(claim.least or 0, claim.end or 0)
    return "facts contradict: the duration elapses too early" * early


def _of_lookup(sight: Sight, found: int) -> str:
    """A look-up finds what is held, as far as its prompt could use it."""
    held, asked = lead(sight.pool, sight.claim), sight.event.asked
    if asked is None:
        return "a look-up finds less than is held, and does not state what it asked for" * (
            found < held
        )
    wanted = min(asked - sight.claim.start, held)
    return "facts contradict: a look-up finds less than is held" * (found < wanted)


def of_request(moment: Moment, missing: int, observes: frozenset[Kind] | None) -> str:
    """What a fact about a request contradicts; empty where nothing.

    Args:
        missing: the last event before which lines may be missing, below 0 if none may.
    """
    event, request = moment.event, moment.pool.request_of(moment.event)
    request = request if request is not None and request.in_hand else None
    ends, arrives = event.kind is Kind.REQUEST_FINISHED, event.kind is Kind.REQUEST_ARRIVED
    if ends and request is None and missing < 0 and observed("a request to end", observes):
        return "facts contradict: a request ends that has not arrived or has already ended"
    again = arrives and request is not None and missing < request.since
    if again and observed("one request of a name", observes):
        return "facts contradict: a request arrives that is still unfinished"
    return ""


def out_of_hand(pool: Pool, event: Event) -> bool:
    """Whether an event is of a request before its arrival, or a fact of one that has ended.

    The theorem assumes that there is none (`proofs.model.environment.faithful`). It contradicts
    nothing.
    """
    kind, request = event.kind, pool.request_of(event)
    if event.request_id is None or kind not in REQUEST_KINDS | {Kind.BLOCK_CACHED}:
        return False
    there = request is not None and request.in_hand
    if kind is Kind.REQUEST_ARRIVED:
        return there
    return not there and (kind in FACTS or request is None or not request.ended)


def block_twice(
    moment: Moment, stale: Set[int | None], observes: frozenset[Kind] | None
) -> list[Claim]:
    """The claims that hold a block of the event at another position, or with another content than
    the claim has that the event names, with no loss between.

    Blocks of claims that ended, or that were never committed, may be lost without a report.

    Args:
        stale: blocks that may have been lost unseen.
    """
    event = moment.event
    if not observed("one position a block", observes) or event.kind not in (
        Kind.BLOCK_CACHED,
        Kind.LOAD_FINISHED,
    ):
        return []
    new = set(zip(event.positions, event.block_ids, strict=False))
    named = moment.pool.claims.get(event.claim_id or "")
    return [
        claim
        for claim in moment.pool.claims.values()
        if is_tracked(moment.pool, claim)
        and any(
            block == other
            and block not in stale
            and (_elsewhere(event, claim) or _differ(claim, at, named, position))
            for at, other in held_by(moment.pool, claim)
            for position, block in new
        )
    ]


def _elsewhere(event: Event, claim: Claim) -> bool:
    """Whether an event that names no claim states another cache than the claim is in."""
    own = claim.stated.get("cache_identity")
    return (
        event.claim_id is None
        and None not in (own, event.cache_identity)
        and (own != event.cache_identity)
    )


def _differ(one: Claim, here: int, other: Claim | None, there: int) -> bool:
    """Whether two positions cannot be one block; of no claim in particular nothing is stated."""
    return here != there or (other is not None and alike(one, other, here) is False)
