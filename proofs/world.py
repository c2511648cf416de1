"""The most general runtime: any fact that the facts before it allow, and any report at all.

One claim is tracked among arbitrary others, whose responsible blocks together are the integer
`rest`, and one request among arbitrary others. Constraints here say only what facts are (a lost
block shortens the run of held ones; a load needs a copy); nothing restricts what is said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spec.alphabet import BLOCKS_GONE, CONFLICT_ACTIONS, FACTS, REPORTS, Kind
from spec.fields import REQUEST_KINDS
from spec.ledgers import kind, now, req_was, was
from spec.machine import Ledger, Register
from spec.terms import Scope, Sort, Term, Var, conj, disj
from spec.vocabulary import c, e

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["POOL", "facts_are_facts", "replayable"]

_seen = Var(Scope.WAS, "seen", Sort.BOOL)

POOL = Ledger(
    name="pool",
    registers=(
        Register("rest", Sort.INT, 0),
        Register("other", Sort.BOOL, False),
        Register("seen", Sort.BOOL, False),
    ),
    following={
        "rest": (~e.mine & kind(Kind.CLAIM_COMMITTED)).ite(
            e.rest + e.footprint,
            (~e.mine & kind(Kind.CLAIM_RETIRED)).ite(e.rest - e.footprint, e.rest),
        ),
        "other": Var(Scope.WAS, "other", Sort.BOOL) | (~e.mine & kind(Kind.CLAIM_COMMITTED)),
        "seen": _seen | (e.here & kind(Kind.REQUEST_ARRIVED)),
    },
)

_CLAIM_ABOUT = FACTS - {Kind.REQUEST_ARRIVED, Kind.REQUEST_FINISHED}
_AT_REQUEST = REQUEST_KINDS - {Kind.REQUEST_ARRIVED}


def _if(kinds: Term, then: Term) -> Term:
    return kinds.implies(then)


def facts_are_facts() -> Term:
    """What holds of every event of a faithful stream, whatever the runtime does."""
    mine = e.mine
    return conj(
        # Hooks see keys: a fact carries no name of its own.
        _if(kind(*FACTS), e.named.eq(e.mine)),
        _if(kind(*(FACTS - _CLAIM_ABOUT), *CONFLICT_ACTIONS), ~e.mine & ~e.named),
        # An auditor without acceptances keeps a registry, and asks only about what is in it.
        _if(conj(c.watched, disj(e.mine, e.named), kind(*REPORTS)), was.registered),
        # Counts count.
        *(number >= 0 for number in (e.lead, e.footprint, e.needed, e.usable, e.cost, e.worker)),
        *(number >= 0 for number in (e.blamed_rest, e.blamed_least, e.said_resident)),
        *(number >= 0 for number in (e.said_active, e.said_total, e.said_usable)),
        e.said_shortfall >= 0,
        _if(kind(Kind.REQUEST_ARRIVED), (e.needed >= 1) & (e.usable >= 1)),
        # The registry: a claim is committed while it is not, with room for its predicate.
        _if(
            mine & kind(Kind.CLAIM_COMMITTED),
            ~was.responsible & (c.threshold <= e.footprint),
        ),
        _if(mine & kind(Kind.CLAIM_RETIRED, Kind.DURATION_ELAPSED), was.responsible),
        _if(~mine & kind(Kind.CLAIM_COMMITTED), e.footprint >= 1),
        _if(~mine & kind(Kind.CLAIM_RETIRED), (e.footprint >= 1) & (e.footprint <= e.rest)),
        # Blocks: what is cached is held, what is lost is not.
        _if(mine & kind(Kind.BLOCK_CACHED, Kind.LOAD_FINISHED), was.lead <= e.lead),
        _if(mine & kind(*BLOCKS_GONE), e.lead <= was.lead),
        # The tier: a copy is made of what is there, and only a copy can be loaded or lost.
        _if(mine & kind(Kind.STORE_FINISHED), c.threshold <= was.lead),
        _if(mine & kind(Kind.HOST_COPY_LOST, Kind.LOAD_FINISHED, Kind.LOAD_FAILED), was.host),
        _if(mine & kind(Kind.LOAD_FINISHED), c.threshold <= e.lead),
        # Requests: an id arrives once, and nothing happens to it before.
        _if(e.here & kind(Kind.REQUEST_ARRIVED), ~_seen),
        _if(e.here & kind(*_AT_REQUEST), _seen),
        _if(e.here & kind(*(_AT_REQUEST & FACTS)), req_was.arrived),
        _if(e.here, kind(*_AT_REQUEST, Kind.REQUEST_ARRIVED)),
        _if(mine & kind(Kind.REQUEST_ROUTED), ~req_was.routed),
        _if(mine & kind(Kind.REUSE_SERVED), req_was.routed & ~req_was.served),
        # Blocking ids: the others that are named are among the responsible others.
        e.blamed_rest <= e.rest,
        e.blamed_least <= e.blamed_rest,
        (e.blamed_rest >= 1).implies(e.blamed_least >= 1),
        e.accuses.eq(disj(e.blamed, e.blamed_rest >= 1, e.stranger)),
    )


def replayable(alphabet: Iterable[Kind], *, identity: bool = True) -> Term:
    """What a run must also satisfy to be written as a file of events and read back the same.

    One other claim stands for the rest, every block fact moves the run of held blocks, conflicts
    are met by refusing or deferring, and fields that an event does not carry have their plain
    value.

    Args:
        identity: each report names the claim that it is about.
    """
    kinds = frozenset(alphabet)
    about = kinds & (REPORTS - CONFLICT_ACTIONS)
    other = Var(Scope.WAS, "other", Sort.BOOL)
    refused = kind(Kind.REQUEST_REFUSED)
    return conj(
        # Every event is about the tracked claim or the tracked request, or moves the rest.
        disj(e.mine, e.named, e.here, kind(Kind.CLAIM_COMMITTED, Kind.CLAIM_RETIRED)),
        _if(kind(*about), (e.mine & e.named) if identity else (e.mine | e.named)),
        _if(kind(*_AT_REQUEST), e.here),
        _if(c.watched & e.mine & ~kind(Kind.CLAIM_REGISTERED), was.registered),
        _if(e.mine & kind(Kind.CLAIM_REGISTERED), ~was.registered),
        _if(~e.mine & kind(Kind.CLAIM_COMMITTED), e.rest.eq(0) & ~other),
        _if(~e.mine & kind(Kind.CLAIM_RETIRED), e.footprint.eq(e.rest)),
        _if(e.mine & kind(Kind.BLOCK_CACHED), was.lead < e.lead),
        _if(e.mine & kind(*BLOCKS_GONE), e.lead < was.lead),
        _if(e.mine & kind(Kind.CLAIM_BLOCK_LOST), e.breaks.eq(now.lead < c.threshold)),
        ~kind(*(CONFLICT_ACTIONS - {Kind.REQUEST_REFUSED, Kind.REQUEST_DEFERRED})),
        _if(e.restore, refused & req_was.failed),
        _if(~kind(*CONFLICT_ACTIONS), ~e.accuses & ~e.proof),
        disj(e.blamed_rest.eq(0), e.blamed_rest.eq(e.rest)),
        e.blamed_least.eq(e.blamed_rest),
        e.smear.eq(refused & (e.stranger | (e.blamed_rest >= 1))),
        ~e.echo,
        e.authorised,
    )
