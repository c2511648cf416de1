"""Facts that contradict each other: what they touch is inconclusive.

What the hooks of a stream do not observe contradicts nothing: each contradiction rests on kinds of
facts, and where one of these is not observed there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from spec.alphabet import Kind
from spec.claims import Mode
from spec.facts import FACTS_ARE_FACTS
from spec.projection.concerns import is_direct
from spec.projection.interpret import Look, evaluate
from spec.projection.pool import Claim, Placed, held_by, in_hand, lead
from spec.projection.sight import Moment, Sight

__all__ = ["RESTS", "block_twice", "of_claim", "of_request"]

_COPIED: Final = frozenset({Kind.STORE_FINISHED, Kind.HOST_COPY_FOUND})
_LOST: Final = frozenset({Kind.BLOCK_EVICTED, Kind.BLOCK_LOST})

RESTS: Final[Mapping[str, frozenset[Kind]]] = MappingProxyType(
    {
        "one commitment": frozenset({Kind.CLAIM_RETIRED}),
        "room for the predicate": frozenset(),
        "an entry to end": frozenset({Kind.CLAIM_COMMITTED}),
        "copies of what was there": frozenset({Kind.BLOCK_CACHED, Kind.LOAD_FINISHED}),
        "a copy to lose": _COPIED,
        "a copy to load": _COPIED,
        "a request to end": frozenset({Kind.REQUEST_ARRIVED}),
        "one request of a name": frozenset({Kind.REQUEST_FINISHED}),
        "one position a block": _LOST,
    }
)
"""The kinds of facts on which each assumption rests, besides the one that it is about."""


def observed(name: str, observes: frozenset[Kind] | None) -> bool:
    """Whether what an assumption rests on is observed; None observes everything."""
    return observes is None or RESTS[name] <= observes


def of_claim(sight: Sight, look: Look, observes: frozenset[Kind] | None) -> str:
    """What a fact about a claim contradicts of what was known of it; empty where nothing.

    A load for another claim on the same content is none of this one.

    Args:
        look: the variables before the event.
    """
    event, claim = sight.event, sight.claim
    if not is_direct(sight):
        return ""
    for assumption in FACTS_ARE_FACTS if claim.predicate is not None else ():
        holds, _ = evaluate(assumption.holds, look, event.kind)
        unstated = assumption.name == "room for the predicate" and event.footprint is None
        if not (holds or unstated) and observed(assumption.name, observes):
            return f"facts contradict: {assumption.broken}"
    if event.kind is Kind.DURATION_ELAPSED:
        return _of_duration(sight)
    if event.kind is Kind.PREFIX_LOOKUP and event.held is not None and claim.alive:
        return _of_lookup(sight, event.held)
    return ""


def _of_duration(sight: Sight) -> str:
    """An expiring claim has a duration, stated or not; of a foreign mode nobody knows."""
    claim, time = sight.claim, sight.moment.time_ns
    lasts = (claim.mode or sight.moment.mode) in set(Mode) - {Mode.EXPIRING}
    if claim.introduced and claim.duration is None and lasts:
        return "facts contradict: the duration is over of a claim that has none"
    if time is not None and claim.end is not None and time < claim.end:
        return "facts contradict: the duration is over before the stream's clock says so"
    return ""


def _of_lookup(sight: Sight, found: int) -> str:
    """A look-up finds what is held, as far as its prompt could use it."""
    held, asked = lead(sight.pool, sight.claim), sight.event.asked
    if asked is None:
        return "a look-up finds less than is held, and does not say what it asked for" * (
            found < held
        )
    wanted = min(max(asked - sight.claim.start, 0), held)
    return "facts contradict: a look-up finds less than is held" * (found < wanted)


def of_request(moment: Moment, lost: int, observes: frozenset[Kind] | None) -> str:
    """What a fact about a request contradicts; empty where nothing.

    Args:
        lost: the last event before track of the stream was lost, below 0 if it never was.
    """
    event = moment.event
    request = in_hand(moment.pool).get(event.request_id or "")
    ends, arrives = event.kind is Kind.REQUEST_FINISHED, event.kind is Kind.REQUEST_ARRIVED
    if ends and request is None and lost < 0 and observed("a request to end", observes):
        return "facts contradict: a request ends that is not in hand"
    again = arrives and request is not None and lost < request.since
    if again and observed("one request of a name", observes):
        return "facts contradict: a request arrives that is in hand"
    return ""


def block_twice(
    moment: Moment, stale: frozenset[Placed], observes: frozenset[Kind] | None
) -> list[Claim]:
    """The claims alive that hold a block of the event at another position, with no loss between.

    Args:
        stale: what may have been lost unseen.
    """
    event, sure = moment.event, replace(moment.pool, placed=moment.pool.placed - stale)
    if not observed("one position a block", observes) or event.kind not in (
        Kind.BLOCK_CACHED,
        Kind.LOAD_FINISHED,
    ):
        return []
    new = set(zip(event.positions, event.block_ids, strict=False))
    return [
        claim
        for claim in moment.pool.claims.values()
        if claim.alive
        and any(
            block == other and at != position
            for at, other in held_by(sure, claim)
            for position, block in new
        )
    ]
