"""Finds the facts that contradict those before them: then not all was observed, or not faithfully.

What a block, an object or a request cannot do is found where those are kept (`Pool`, `Objects`,
`Requests`), and raises Contradiction there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spec.contract.facts import ROOM
from spec.events.alphabet import BLOCKS_GONE, Kind
from spec.stream.breaks import Contradiction
from spec.stream.codes import Code
from spec.stream.durations import Durations
from spec.stream.facts import FACTS_ABOUT_BLOCKS
from spec.stream.generate import assumed

if TYPE_CHECKING:
    from spec.stream.claim import Claim
    from spec.stream.fields import Moment

__all__ = ["check", "check_reuse"]


_ELAPSED: Final = Kind.DURATION_ELAPSED
_LOOKUP: Final = Kind.PREFIX_LOOKUP


def check(at: Moment) -> None:
    """Compare a fact with those before it, where the stream observes what they rest on.

    Raises:
        Contradiction: they contradict.
    """
    kind = at.kind
    for claim in at.concerns:
        if claim in at.direct or kind not in FACTS_ABOUT_BLOCKS:
            _check_entry(at, claim)
            if kind is _ELAPSED and kind not in at.line.derived:
                Durations.check(claim, at.line.time_ns)
    if kind is _LOOKUP and at.event.held is not None and at.observes >= BLOCKS_GONE:
        for claim in at.direct:
            if "predicate" in claim.stated and not claim.over:
                _check_look_up(at, claim)


def check_reuse(at: Moment) -> None:
    """What is reused is held.

    Raises:
        Contradiction: it is not.
    """
    for claim in at.direct if at.observes >= BLOCKS_GONE else ():
        if "predicate" not in claim.stated or claim.over:
            continue
        found = claim.threshold
        if at.request is not None:
            found = min(found, at.request.found.get(claim.claim_id, found))
        if claim.lead_in(at.run.pool) < found:
            text = "facts contradict: what is reused is not held"
            raise Contradiction(Code.REUSE_NOT_HELD, text)


def _check_entry(at: Moment, claim: Claim) -> None:
    event = at.event
    assumptions = assumed(at.kind, claim.mode)
    if not assumptions or "predicate" not in claim.stated:
        return
    if at.kind is Kind.STORE_FINISHED and event.contents:
        return
    fields = {"mine": at.concerns[claim].mine, "footprint": event.footprint}
    # One assumption reads the threshold. It is about blocks: groups may need more or fewer.
    needed = at.run.pool.size(claim.start, claim.start + claim.threshold)
    for assumption, rests_on, holds in assumptions:
        if not rests_on <= at.observes or (assumption.name == ROOM and event.footprint is None):
            continue
        if holds(fields, False, needed, claim.facts, None, None, None, None) is False:
            text = f"facts contradict: {assumption.broken}"
            raise Contradiction(Code.ENTRY_CONTRADICTS, text)


def _check_look_up(at: Moment, claim: Claim) -> None:
    """A look-up finds what is held, as far as its prompt could use it."""
    event, found = at.event, at.event.held or 0
    held, why, pool = claim.lead_in(at.run.pool), "", at.run.pool
    if event.asked is None:
        if found < held:
            why = "a look-up finds less than is held, and does not state what it asked for"
    elif found < pool.lead(claim.obj, claim.start, min(event.asked, claim.extent)):
        why = "facts contradict: a look-up finds less than is held"
    if not why and found > held and not any(claim.copies.values()):
        most = pool.lead(claim.obj, claim.start, claim.extent, tiers=True)
        if found > most and Kind.BLOCK_CACHED in at.observes:
            why = "facts contradict: a look-up finds more than is held"
    if why:
        raise Contradiction(Code.LOOKUP_CONTRADICTS, why)
