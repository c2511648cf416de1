"""The scenarios of each mode: named episodes in an order, which some run must contain.

An episode is a condition on one event, as a term of the specification; `after` names episodes that
must come before it. A mode has two scenarios where one request cannot show everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from proofs.model.auditor import believed
from spec.claims.states import Mode
from spec.contract.ledgers import breaks, contends, kind, loss, now, req, req_was, usable, was
from spec.contract.vocabulary import c, e
from spec.events.alphabet import BLOCKS_GONE, Kind
from spec.language.terms import conj

if TYPE_CHECKING:
    from spec.language.terms import Term

__all__ = ["SCENARIOS", "Episode", "Scenario"]


@dataclass(frozen=True, slots=True)
class Episode:
    """An event condition; `says` completes "in the scenario, ..."."""

    name: str
    says: str
    when: Term
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scenario:
    """Episodes that one run contains; `whole` also exercises every obligation of the bundle.

    The scenario of soft_priority is about two claims, so its episode is not a term
    (`proofs.traces.scenario_search`).
    """

    name: str
    episodes: tuple[Episode, ...]
    whole: bool = True


_holds = c.threshold <= now.lead
_held = c.threshold <= was.lead
_refused = e.here & kind(Kind.REQUEST_REFUSED)
_ended = e.here & kind(Kind.REQUEST_FINISHED)
_given_up = conj(was.committed, ~was.responsible, ~believed.responsible)


def _at(*kinds: Kind) -> Term:
    return e.mine & kind(*kinds)


def _here(*kinds: Kind) -> Term:
    return e.mine & e.here & kind(*kinds)


_BOTH_LOSE = Scenario("both lose, lower first", ())

_RISE_AND_FALL = Scenario(
    "rise and fall",
    (
        Episode("rise reported", "the rise is reported", _at(Kind.CLAIM_MATERIALIZED) & _holds),
        Episode("fall", "the predicate is lost", e.mine & _held & ~_holds, ("rise reported",)),
        Episode("fall reported", "the fall is reported", _at(Kind.CLAIM_UNMATERIALIZED), ("fall",)),
    ),
)

_REFUSAL = Scenario(
    "refusal",
    (
        Episode(
            "refused",
            "a request that does not fit next to the claim is refused, naming the claim",
            _refused & contends(was.footprint, req_was) & conj(e.blamed, _held),
        ),
        Episode("ended", "that request ends", _ended, ("refused",)),
        Episode("reset", "a reset breaks the predicate", _at(Kind.BLOCK_LOST) & loss),
        Episode(
            "harm reported", "the loss is reported as harm", _at(Kind.CLAIM_HARMED), ("reset",)
        ),
        Episode(
            "released",
            "the owner withdraws the claim, and this is reported",
            _at(Kind.CLAIM_RELEASED) & e.authorised,
            ("harm reported", "ended"),
        ),
    ),
)

_FULL_POOL = Scenario(
    "boundary",
    (
        Episode(
            "coexistence",
            "a request that fills the pool to the last block next to the claim is served",
            conj(
                _ended,
                was.responsible,
                _held,
                req_was.arrived,
                ~believed.acted,
                req_was.usable.eq(req_was.needed + was.footprint + e.rest),
            ),
        ),
    ),
    whole=False,
)

_DEMOTION = Scenario(
    "demotion under pressure",
    (
        Episode(
            "pressure",
            "a request arrives that does not fit next to the claim",
            e.here & kind(Kind.REQUEST_ARRIVED) & contends(was.footprint, req) & _held,
        ),
        Episode("demoted", "the claim is demoted", _at(Kind.CLAIM_DEMOTED), ("pressure",)),
        Episode(
            "evicted",
            "then an eviction breaks the predicate",
            _at(Kind.BLOCK_EVICTED) & breaks & _given_up,
            ("demoted",),
        ),
        Episode("served", "then the request ends", _ended, ("evicted",)),
    ),
)

_EXPIRY = Scenario(
    "boundary",
    (
        Episode(
            "boundary reported",
            "the duration elapses and the end of responsibility is reported",
            _at(Kind.CLAIM_EXPIRED) & ~now.responsible & _held,
        ),
        Episode(
            "lost after it",
            "a loss after the boundary is outside the promise",
            e.mine & kind(*BLOCKS_GONE) & breaks & _given_up,
            ("boundary reported",),
        ),
    ),
)

_RESTORES = Scenario(
    "restore, then a failed restore",
    (
        Episode(
            "left the GPU",
            "the claim leaves the GPU and stays restorable",
            _at(Kind.BLOCK_EVICTED) & conj(was.responsible, _held, ~_holds, usable(now)),
        ),
        Episode(
            "needed",
            "a request needs it back",
            _here(Kind.CLAIM_RESTORE_REQUIRED) & ~_held,
            ("left the GPU",),
        ),
        Episode(
            "restored",
            "it comes back for the request",
            _here(Kind.CLAIM_RESTORED) & _holds,
            ("needed",),
        ),
        Episode("reused", "and is reused", _here(Kind.PREFIX_REUSED), ("restored",)),
        Episode(
            "restore failed",
            "a later load fails",
            _here(Kind.LOAD_FAILED) & was.responsible & ~_held,
            ("reused",),
        ),
        Episode(
            "answered",
            "and is answered by a refusal that names the claim",
            _refused & e.blamed,
            ("restore failed",),
        ),
        Episode("ended", "before the request ends", _ended, ("answered",)),
    ),
)

_ROUTE = Scenario(
    "routed, reported, served",
    (
        Episode("routed", "a request is routed", _here(Kind.REQUEST_ROUTED)),
        Episode("reported", "its cost is reported", _here(Kind.ROUTE_COST_REPORTED), ("routed",)),
        Episode("placed", "and its worker", _here(Kind.ROUTE_PLACEMENT_REPORTED), ("routed",)),
        Episode(
            "served",
            "the prefix is hit",
            _here(Kind.REUSE_SERVED) & e.hit,
            ("reported", "placed"),
        ),
        Episode(
            "hit reported", "and this is reported", _here(Kind.ROUTE_REUSE_REPORTED), ("served",)
        ),
        Episode("ended", "before the request ends", _ended, ("hit reported",)),
    ),
)

SCENARIOS: dict[Mode, tuple[Scenario, ...]] = {
    Mode.BEST_EFFORT: (_RISE_AND_FALL,),
    Mode.SOFT_PRIORITY: (_BOTH_LOSE,),
    Mode.HARD_PROTECTED: (_REFUSAL, _FULL_POOL),
    Mode.DEMOTABLE: (_DEMOTION,),
    Mode.EXPIRING: (_EXPIRY,),
    Mode.OFFLOADABLE: (_RESTORES,),
    Mode.ROUTED_REUSE: (_ROUTE,),
}
