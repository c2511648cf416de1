"""Defines the ledgers: what is true of a claim and a request by the facts, and what was declared.

Truth (`CLAIM_FACTS`, `REQUEST_FACTS`) reads only facts. `DECLARED` is the one ledger fed by
reports: the footprint that an acceptance states, because an auditor must do sums with declared
footprints (`footprint_accounting` is what makes them the true ones), whether the claim was reported
as offloaded, and whether a load that brought it back was reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spec.contract.vocabulary import Declared, c, e
from spec.events.alphabet import BLOCKS_GONE, ENDS, Kind
from spec.language.machine import Ledger, Register
from spec.language.terms import Const, KindIn, Scope, Sort, Term, Var, conj, disj

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "CLAIM_FACTS",
    "DECLARED",
    "REQUEST_FACTS",
    "breaks",
    "chosen",
    "conflict",
    "contends",
    "demotes",
    "ends",
    "endures",
    "fails",
    "kind",
    "live",
    "loss",
    "now",
    "req",
    "req_was",
    "resident",
    "rises",
    "usable",
    "was",
]

_B, _I = Sort.BOOL, Sort.INT
_CLAIM = {
    "registered": _B,
    "committed": _B,
    "responsible": _B,
    "footprint": _I,
    "lead": _I,
    "there": _B,
    "host": _B,
    "whole": _B,
    "copied": _B,
    "ended_by": _I,
    "losses": _I,
    "failures": _I,
    "declared": _I,
    "unreported": _B,
    "offloaded": _B,
}
_REQUEST = {
    "seen": _B,
    "arrived": _B,
    "held": _B,
    "needed": _I,
    "usable": _I,
    "away": _B,
    "asks": _B,
    "loaded": _B,
    "failed": _B,
    "broke": _B,
    "routed": _B,
    "cost": _I,
    "worker": _I,
    "served": _B,
    "hit": _B,
}


was, now = Declared(Scope.WAS, _CLAIM), Declared(Scope.NOW, _CLAIM)
req_was, req = Declared(Scope.REQ_WAS, _REQUEST), Declared(Scope.REQ, _REQUEST)


def kind(*kinds: Kind) -> Term:
    """The event is of one of these kinds."""
    return KindIn(frozenset(kinds))


_offloads_away = kind(Kind.CLAIM_OFFLOADED) & (e.by >= 1)  # without a caller the claim stays on
demotes = kind(Kind.CLAIM_DEMOTED) | _offloads_away
ends = kind(*ENDS) | _offloads_away


def _registers(*names: str, sorts: Mapping[str, Sort]) -> tuple[Register, ...]:
    return tuple(Register(n, sorts[n], False if sorts[n] is _B else 0) for n in names)


def usable(state: Declared) -> Term:
    """The predicate holds on the GPU, or, where the mode counts copies, with those in the tiers."""
    return (state.lead >= c.threshold) | (c.tiered & state.whole)


def live(state: Declared) -> Term:
    """Reports about the claim are owed: it is responsible, or watched and never committed."""
    return state.responsible | conj(c.watched, state.registered, ~state.committed)


rises = conj(
    live(now), now.lead >= c.threshold, ~(live(was) & (was.lead >= c.threshold))
)  # the predicate came to hold while reports about it were owed
breaks = usable(was) & ~usable(now)
loss = breaks & was.responsible
fails = conj(
    e.mine, kind(Kind.LOAD_FAILED), was.responsible, was.lead < c.threshold
)  # nothing is wrong with a claim that is there
_there = e.mine & live(was)  # a route can be taken only for a claim that is there

_retired = kind(Kind.CLAIM_RETIRED) | (kind(Kind.DURATION_ELAPSED) & c.lapses)
_whole = now.lead >= c.threshold
_copied = e.mine & kind(Kind.STORE_FINISHED, Kind.HOST_COPY_FOUND)
_tiers = kind(Kind.STORE_FINISHED, Kind.HOST_COPY_FOUND, Kind.HOST_COPY_LOST)
_placed = kind(Kind.BLOCK_CACHED, Kind.BLOCK_EVICTED, Kind.BLOCK_LOST, Kind.LOAD_FINISHED)

_DECLARED = ("declared", "unreported", "offloaded")

CLAIM_FACTS = Ledger(
    name="claim facts",
    registers=_registers(*(n for n in _CLAIM if n not in _DECLARED), sorts=_CLAIM),
    following={
        "registered": was.registered | (e.mine & kind(Kind.CLAIM_REGISTERED, Kind.CLAIM_COMMITTED)),
        "committed": was.committed | (e.mine & kind(Kind.CLAIM_COMMITTED)),
        "responsible": (
            (was.responsible | (e.mine & kind(Kind.CLAIM_COMMITTED))) & ~(e.mine & _retired)
        ),
        "footprint": (e.mine & kind(Kind.CLAIM_COMMITTED)).ite(e.footprint, was.footprint),
        "lead": (e.mine & _placed).ite(e.lead, was.lead),
        "there": (e.mine & kind(Kind.CLAIM_COMMITTED)).ite(
            _whole, was.there | (e.mine & _placed & _whole)
        ),
        "host": (e.mine & _tiers).ite(e.stored, was.host),
        "whole": (e.mine & (_tiers | _placed)).ite(e.restorable, was.whole),
        "copied": was.copied | _copied,
        "ended_by": (e.mine & kind(Kind.CLAIM_RETIRED) & was.responsible).ite(e.by, was.ended_by),
        "losses": loss.ite(was.losses + 1, was.losses),
        "failures": fails.ite(was.failures + 1, was.failures),
    },
)

_away = was.lead < c.threshold
_brings_back = conj(e.intact, kind(Kind.LOAD_FINISHED), _away, was.responsible)
_is_new = (
    kind(Kind.CLAIM_RESTORED, Kind.CLAIM_MATERIALIZED)
    | conj(kind(Kind.BLOCK_CACHED), ~e.found, _away)
    | (kind(*BLOCKS_GONE) & now.lead.eq(0))
)

DECLARED = Ledger(
    name="declarations",
    registers=_registers(*_DECLARED, sorts=_CLAIM),
    following={
        "declared": (e.mine & kind(Kind.CLAIM_ACCEPTED)).ite(e.footprint, was.declared),
        "unreported": e.mine.ite(
            (was.unreported | (_brings_back & (was.there | was.offloaded))) & ~_is_new,
            was.unreported,
        ),
        "offloaded": was.offloaded | (e.mine & kind(Kind.CLAIM_OFFLOADED)),
    },
)


def _in_request(register: str, happened: Term) -> Term:
    """Set by `happened` in this request, also before it arrives: a router comes before the engine.

    Cleared when one arrives that had arrived: where no ends are observed it is another one.
    """
    before = Var(Scope.REQ_WAS, register, _B)
    again = e.here & kind(Kind.REQUEST_ARRIVED) & req_was.seen
    return (before | (e.here & happened)) & ~again


def _while_in_hand(register: str, value: Term) -> Term:
    """What the arrival states, until the request ends."""
    before = Var(Scope.REQ_WAS, register, value.sort)
    kept = (e.here & kind(Kind.REQUEST_FINISHED)).ite(0, before)
    return (e.here & kind(Kind.REQUEST_ARRIVED)).ite(value, kept)


def _taken(register: str, at: Term, value: Term) -> Term:
    return (e.here & at).ite(value, Var(Scope.REQ_WAS, register, value.sort))


_stocked = (was.lead >= c.threshold) | was.whole
_computes = conj(e.here, ~e.found, kind(Kind.BLOCK_CACHED))
_came_back = e.mine & (kind(Kind.LOAD_FINISHED) | ((was.lead < c.threshold) & ~_computes))

REQUEST_FACTS = Ledger(
    name="request facts",
    registers=_registers(*_REQUEST, sorts=_REQUEST),
    following={
        "seen": req_was.seen | (e.here & kind(Kind.REQUEST_ARRIVED)),
        "arrived": (req_was.arrived | (e.here & kind(Kind.REQUEST_ARRIVED)))
        & ~(e.here & kind(Kind.REQUEST_FINISHED)),
        "held": (e.here & kind(Kind.REQUEST_ARRIVED)).ite(
            now.responsible, req_was.held & (now.responsible | ~was.responsible)
        ),
        "needed": _while_in_hand("needed", e.needed),
        "usable": _while_in_hand("usable", e.usable),
        "away": (e.here & kind(Kind.REQUEST_ARRIVED)).ite(
            ~_whole,
            e.mine.ite((req_was.seen & ~_whole) | (req_was.away & ~_came_back), req_was.away),
        ),
        "asks": _in_request("asks", conj(e.mine, kind(Kind.PREFIX_LOOKUP), e.covers, _stocked)),
        # What was lost, and came back in another way, was not loaded.
        "loaded": _in_request("loaded", e.mine & kind(Kind.LOAD_FINISHED) & was.there)
        & ~(e.mine & (~_whole | (e.here & kind(Kind.LOAD_FAILED)))),
        "failed": _in_request("failed", fails),
        "broke": _in_request("broke", e.mine & kind(Kind.LOAD_FAILED)),
        "routed": _in_request("routed", _there & kind(Kind.REQUEST_ROUTED)),
        "cost": _taken("cost", _there & kind(Kind.REQUEST_ROUTED), e.cost),
        "worker": _taken("worker", _there & kind(Kind.REQUEST_ROUTED), e.worker),
        "served": _in_request("served", _there & kind(Kind.REUSE_SERVED)),
        "hit": _taken("hit", _there & kind(Kind.REUSE_SERVED), e.hit),
    },
)


def resident(own: Term, beside: Term = e.rest) -> Term:
    """Blocks of the responsible claims of the pool, this one among them, each block once.

    Args:
        own: blocks of this claim while it is responsible, as declared or as committed.
        beside: blocks of the others.
    """
    return was.responsible.ite(own - e.shared, Const(0)) + beside


def conflict(own: Term, request: Declared, beside: Term = e.rest) -> Term:
    """A standing conflict: the request fits an empty pool, and not beside the claims in it.

    Args:
        own: as in `resident`.
        beside: as in `resident`.
    """
    return conj(
        request.arrived,
        request.needed <= request.usable,
        request.usable < resident(own, beside) + request.needed,
    )


def contends(own: Term, request: Declared) -> Term:
    """Whether this claim takes part in such a conflict: it is responsible."""
    return was.responsible & conflict(own, request)


def endures(own: Term, request: Declared) -> Term:
    """A conflict with what was responsible from the arrival on; this claim has a part in it."""
    return conj(was.responsible, request.held, conflict(own, request, e.rest_since_arrival))


chosen = disj(
    kind(
        Kind.CLAIM_COMMITTED,
        Kind.BLOCK_EVICTED,
        Kind.CLAIM_RETIRED,
        Kind.PREFIX_REUSED,
    ),
    kind(Kind.BLOCK_CACHED) & rises,
)
