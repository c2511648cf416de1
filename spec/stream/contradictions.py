"""Finds the facts that contradict those before them: then not all was observed, or not faithfully.

What a block, an object or a request cannot do is found where those are kept (`Pool`, `Objects`,
`Requests`), and raises Contradiction there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spec.contract.facts import ROOM
from spec.events.alphabet import BLOCKS_GONE, FACTS, Kind
from spec.stream.breaks import Contradiction
from spec.stream.codes import Code
from spec.stream.durations import Durations
from spec.stream.facts import FACTS_ABOUT_BLOCKS
from spec.stream.fields import FIELDS, Moment
from spec.stream.generate import assumed

if TYPE_CHECKING:
    from spec.stream.breaks import Line
    from spec.stream.claim import Claim

__all__ = ["check", "check_reuse"]


def check(at: Moment, line: Line, observes: frozenset[Kind]) -> None:
    """Compare a fact with those before it, where the stream observes what they rest on.

    Raises:
        Contradiction: they contradict.
    """
    event, kind = at.event, at.event.kind
    if kind not in FACTS:
        return
    for claim in at.mine:
        if claim not in at.direct and kind in FACTS_ABOUT_BLOCKS:
            continue
        _check_entry(at, claim, observes)
        if kind is Kind.DURATION_ELAPSED and kind not in line.derived:
            Durations.check(claim, line.time_ns)
    if kind is Kind.PREFIX_LOOKUP and event.held is not None and observes >= BLOCKS_GONE:
        for claim in at.direct:
            if claim.predicate is not None and not claim.over:
                _check_look_up(at, claim, observes)


def check_reuse(at: Moment, observes: frozenset[Kind]) -> None:
    """What is reused is held.

    Raises:
        Contradiction: it is not.
    """
    for claim in at.direct if observes >= BLOCKS_GONE else ():
        if claim.predicate is None or claim.over:
            continue
        found = claim.threshold
        if at.request is not None:
            found = min(found, at.request.found.get(claim.claim_id, found))
        if FIELDS["lead"](at, claim) < found:
            text = "facts contradict: what is reused is not held"
            raise Contradiction(Code.REUSE_NOT_HELD, text)


def _check_entry(at: Moment, claim: Claim, observes: frozenset[Kind]) -> None:
    event = at.event
    for assumption, rests_on, holds in assumed(event.kind, claim.mode):
        if claim.predicate is None or not rests_on <= observes:
            continue
        if assumption.name == ROOM and event.footprint is None:
            continue
        if event.contents and event.kind is Kind.STORE_FINISHED:
            continue
        fields = {name: FIELDS[name](at, claim) for name in ("mine", "footprint")}
        if holds(fields, False, claim.threshold, claim.facts, None, None, None, None) is False:
            text = f"facts contradict: {assumption.broken}"
            raise Contradiction(Code.ENTRY_CONTRADICTS, text)


def _check_look_up(at: Moment, claim: Claim, observes: frozenset[Kind]) -> None:
    """A look-up finds what is held, as far as its prompt could use it."""
    event, found = at.event, at.event.held or 0
    held, why, pool = FIELDS["lead"](at, claim), "", at.run.pool
    if event.asked is None:
        if found < held:
            why = "a look-up finds less than is held, and does not state what it asked for"
    elif found < pool.lead(claim.obj, claim.start, min(event.asked, claim.extent)):
        why = "facts contradict: a look-up finds less than is held"
    if not why and found > held and not any(claim.copies.values()):
        most = pool.lead(claim.obj, claim.start, claim.extent, tiers=True)
        if found > most and Kind.BLOCK_CACHED in observes:
            why = "facts contradict: a look-up finds more than is held"
    if why:
        raise Contradiction(Code.LOOKUP_CONTRADICTS, why)
