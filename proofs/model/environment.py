"""The most general runtime: every fact that earlier facts permit, and every report.

One claim is tracked among arbitrary others, whose responsible blocks together are the integer
`rest`, and one request among arbitrary others. The constraints define facts (a lost block
shortens the run of held ones; a load needs a copy) and the fields that are computed of a report;
whether a report is true and in time is for the observers.
"""

from __future__ import annotations

from spec.contract.facts import facts_are_facts
from spec.contract.ledgers import kind, live, now, req_was, was
from spec.contract.vocabulary import c, e
from spec.events.alphabet import BLOCKS_GONE, CONFLICT_ACTIONS, FACTS, REPORTS, Kind
from spec.events.fields import REQUEST_KINDS, ROUTE_REPORTS
from spec.language.machine import Ledger, Register
from spec.language.terms import Scope, Sort, Term, Var, conj, disj

__all__ = ["POOL", "faithful", "replayable"]


_rest_since_arrival = Var(Scope.WAS, "rest_since_arrival", Sort.INT)
_other = Var(Scope.WAS, "other", Sort.BOOL)
_unreported = Var(Scope.WAS, "new_loss", Sort.BOOL)

POOL = Ledger(
    name="pool",
    registers=(
        Register("rest", Sort.INT, 0),
        Register("rest_since_arrival", Sort.INT, 0),
        Register("other", Sort.BOOL, False),
        Register("new_loss", Sort.BOOL, False),
    ),
    following={
        "rest": (~e.mine & kind(Kind.CLAIM_COMMITTED)).ite(
            e.rest + e.footprint,
            (~e.mine & kind(Kind.CLAIM_RETIRED)).ite(e.rest - e.footprint, e.rest),
        ),
        # Exact where one other claim represents the rest, as in every run written as events.
        "rest_since_arrival": (e.here & kind(Kind.REQUEST_ARRIVED)).ite(
            e.rest, (~e.mine & kind(Kind.CLAIM_RETIRED)).ite(0, _rest_since_arrival)
        ),
        "other": _other | (e.rest >= 1),
        # Exact where a report names no blocks, as in every run written as events.
        "new_loss": e.mine.ite(
            kind(*BLOCKS_GONE) | (_unreported & ~kind(Kind.CLAIM_BLOCK_LOST)),
            _unreported,
        ),
    },
)

_CLAIM_ABOUT = FACTS - {Kind.REQUEST_ARRIVED, Kind.REQUEST_FINISHED}
_ROUTED = (Kind.REQUEST_ROUTED, Kind.REUSE_SERVED)
_OF_AN_OWNER = (
    *(Kind.CLAIM_RETIRED, Kind.CLAIM_RELEASED),
    *(Kind.CLAIM_DEMOTED, Kind.CLAIM_EXPIRED),
)
_TIERS = (Kind.STORE_FINISHED, Kind.HOST_COPY_FOUND, Kind.HOST_COPY_LOST)
_PLACED = (*BLOCKS_GONE, Kind.BLOCK_CACHED, Kind.LOAD_FINISHED)
_ADDS = (Kind.STORE_FINISHED, Kind.HOST_COPY_FOUND, Kind.BLOCK_CACHED, Kind.LOAD_FINISHED)
_TAKES = (*BLOCKS_GONE, Kind.HOST_COPY_LOST)
_OF_LOSS = (Kind.CLAIM_BLOCK_LOST, Kind.CLAIM_UNMATERIALIZED)
_AT_REQUEST = REQUEST_KINDS - {Kind.REQUEST_ARRIVED}
_OF_BOTH = (_AT_REQUEST | {Kind.BLOCK_CACHED}) - CONFLICT_ACTIONS - {Kind.REQUEST_FINISHED}


def _if(kinds: Term, then: Term) -> Term:
    return kinds.implies(then)


def faithful() -> Term:
    """What holds of every event in the scope of one claim: facts and fields are faithful."""
    mine = e.mine
    counts = (
        *(e.lead, e.footprint, e.needed, e.usable, e.cost, e.worker, e.by),
        *(e.rest_since_arrival, e.shared, e.others, e.shared_unblamed),
        *(e.blamed_rest, e.blamed_least, e.said_resident, e.said_active),
        *(e.said_total, e.said_usable, e.said_shortfall),
    )
    return conj(
        facts_are_facts(),
        # Instrumentation observes keys: a fact carries no claim name.
        _if(kind(*FACTS), e.named.eq(e.mine)),
        _if(kind(*(FACTS - _CLAIM_ABOUT), *CONFLICT_ACTIONS), ~e.mine & ~e.named),
        # An auditor without acceptance reports keeps a registry, and considers only its entries.
        _if(conj(c.watched, disj(e.mine, e.named), kind(*REPORTS)), was.registered),
        # Counts are not negative.
        *(number >= 0 for number in counts),
        # The registry of the others.
        _if(~mine & kind(Kind.CLAIM_COMMITTED), e.footprint >= 1),
        _if(~mine & kind(Kind.CLAIM_RETIRED), (e.footprint >= 1) & (e.footprint <= e.rest)),
        # Blocks: what is cached is held, what is lost is not.
        _if(mine & kind(Kind.BLOCK_CACHED, Kind.LOAD_FINISHED), was.lead <= e.lead),
        _if(mine & kind(*BLOCKS_GONE), e.lead <= was.lead),
        _if(mine & kind(Kind.CLAIM_BLOCK_LOST), e.breaks.eq(was.lead < c.threshold)),
        # Copies: what adds blocks or copies takes none away, and the other way round.
        _if(mine & kind(Kind.STORE_FINISHED, Kind.HOST_COPY_FOUND), was.host.implies(e.stored)),
        _if(mine & kind(Kind.HOST_COPY_LOST), e.stored.implies(was.host)),
        _if(mine & kind(*_ADDS), was.whole.implies(e.restorable)),
        _if(mine & kind(*_TAKES), e.restorable.implies(was.whole)),
        _if(
            mine & kind(*_TIERS, *_PLACED),
            ((c.threshold <= now.lead) | now.host).implies(e.restorable),
        ),
        # Terms: who states more blocks than the registry holds states more than it.
        _if(
            conj(mine, kind(Kind.CLAIM_ACCEPTED), was.committed, was.footprint < e.footprint),
            e.overstates,
        ),
        # Requests: an id arrives once, and has no event before.
        _if(e.here & kind(Kind.REQUEST_ARRIVED), ~req_was.seen),
        _if(e.here & kind(*_AT_REQUEST), req_was.seen),
        _if(e.here & kind(*(_AT_REQUEST & FACTS)), req_was.arrived),
        _if(e.here, kind(*_AT_REQUEST, Kind.REQUEST_ARRIVED, Kind.BLOCK_CACHED)),
        _if(e.here & kind(Kind.BLOCK_CACHED), req_was.arrived),
        # Capacity: what is shared belongs to this claim, and is among the blocks of the others.
        e.rest_since_arrival <= e.rest,
        e.shared <= was.footprint,
        e.shared <= e.rest,
        e.shared_unblamed <= e.shared,
        # Blocking ids: the blocks that other named claims free are among those of the others.
        e.blamed_rest <= e.rest,
        (e.blamed_rest >= 1).implies(e.blamed_least >= 1),
        e.accuses.eq(disj(e.blamed, e.blamed_least >= 1, e.invalid_blocker)),
        # Outcomes: there is one at most.
        _if(e.refusal | e.harm, e.outcome & ~(e.refusal & e.harm)),
    )


def replayable(*, identity: bool = True) -> Term:
    """The further conditions on a run that can be written as events and read back unchanged.

    One other claim stands for the rest, every block fact moves the run of held blocks, a request in
    hand caches them, one tier has one copy of the whole claim or none, one owner acts, conflicts
    are met by refusing or deferring, and fields that an event does not carry have their plain
    value. Where the mode is not owed from registration on, the claim was registered before the run.

    Args:
        identity: each report names the claim that it is about.
    """
    refused = kind(Kind.REQUEST_REFUSED)
    return conj(
        # Every event is about the tracked claim or the tracked request, or moves the rest.
        disj(e.mine, e.named, e.here, kind(Kind.CLAIM_COMMITTED, Kind.CLAIM_RETIRED)),
        _if(
            kind(*(REPORTS - CONFLICT_ACTIONS)),
            (e.mine & e.named) if identity else (e.mine | e.named),
        ),
        _if(kind(*_AT_REQUEST), e.here),
        _if(kind(*_OF_BOTH), e.mine | e.named),
        _if(c.watched & e.mine & ~kind(Kind.CLAIM_REGISTERED), was.registered),
        _if(e.mine & kind(Kind.CLAIM_REGISTERED), c.watched & ~was.registered),
        _if(kind(*_ROUTED), was.registered),
        # Reports about a claim that is over are not owed, and do not occur, nor do look-ups in it.
        _if(e.mine & kind(Kind.PREFIX_LOOKUP, *ROUTE_REPORTS), live(was)),
        _if(c.ranked & e.mine & kind(*_OF_LOSS), live(was)),
        _if(~e.mine & kind(Kind.CLAIM_COMMITTED), e.rest.eq(0) & ~_other),
        _if(~e.mine & kind(Kind.CLAIM_RETIRED), e.footprint.eq(e.rest)),
        _if(kind(Kind.REQUEST_FINISHED), e.rest_since_arrival.eq(_rest_since_arrival)),
        *(number.eq(0) for number in (e.shared, e.shared_unblamed, e.others)),
        _if(kind(Kind.BLOCK_CACHED), ~e.found & (e.here | ~req_was.arrived)),
        _if(e.mine & kind(Kind.BLOCK_CACHED), was.lead < e.lead),
        _if(e.mine & kind(*BLOCKS_GONE), e.lead < was.lead),
        _if(e.mine & kind(Kind.CLAIM_BLOCK_LOST), e.new_loss.eq(_unreported)),
        # A copy is of the whole claim, and there is one at most.
        _if(e.mine & kind(Kind.STORE_FINISHED), ~was.host),
        _if(e.mine & kind(Kind.HOST_COPY_LOST), was.host),
        _if(e.mine & kind(*_TIERS), e.stored.eq(~kind(Kind.HOST_COPY_LOST))),
        _if(
            e.mine & kind(*_TIERS, *_PLACED),
            e.restorable.eq((c.threshold <= now.lead) | now.host),
        ),
        _if(e.mine & kind(Kind.CLAIM_ACCEPTED), e.overstates.eq(was.footprint < e.footprint)),
        ~kind(*(CONFLICT_ACTIONS - {Kind.REQUEST_REFUSED, Kind.REQUEST_DEFERRED})),
        _if(e.restore, refused & req_was.failed),
        _if(~kind(*CONFLICT_ACTIONS), ~e.accuses & ~e.proof),
        disj(e.blamed_rest.eq(0), e.blamed_rest.eq(e.rest)),
        e.blamed_least.eq(e.blamed_rest),
        e.blames_unfailed.eq(refused & (e.invalid_blocker | (e.blamed_rest >= 1))),
        ~e.duplicate,
        e.authorised,
        _if(kind(*_OF_AN_OWNER), e.by.eq(1)),
        _if(kind(Kind.CLAIM_OFFLOADED), e.by <= 1),
        _if(kind(Kind.CLAIM_OFFLOADED) & (e.by >= 1), was.host),
    )
