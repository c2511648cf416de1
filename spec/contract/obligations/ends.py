"""States the obligations on the order of reports and the end of responsibility."""

from __future__ import annotations

from typing import Final

from spec.claims.states import TRANSITIONS, ClaimState, Mode
from spec.contract.interpretations import CLOSES
from spec.contract.ledgers import breaks, demotes, ends, kind, now, was
from spec.contract.obligation import Answer, Obligation, Place
from spec.contract.obligations._build import (
    TABLE_1,
    discharged,
    due,
    false_report,
    forbidden,
    idle,
    owed,
    pending,
    satisfied,
    violated,
)
from spec.contract.supply import Depth, Order
from spec.contract.vocabulary import e
from spec.events.alphabet import LIFECYCLE_REPORTS, Kind
from spec.language.machine import Observer, Register
from spec.language.terms import Scope, Sort, Term, Var, conj, disj

__all__ = ["STAGES", "STATED", "lifecycle_allows", "lifecycle_follows"]

STAGES: tuple[ClaimState, ...] = tuple(ClaimState)
_stage = Var(Scope.OWN, "stage", Sort.INT)
_TRIGGERS: dict[str, Term] = {
    **{t.trigger: kind(Kind(t.trigger)) for t in TRANSITIONS},
    "claim_demoted": demotes,
    "claim_offloaded": kind(Kind.CLAIM_OFFLOADED) & ~demotes,
}


def _at(stage: Term, state: ClaimState) -> Term:
    return stage.eq(STAGES.index(state))


def lifecycle_allows(stage: Term) -> Term:
    """The lifecycle has a transition for this kind of event out of `stage` (see `STAGES`)."""
    return disj(*(_TRIGGERS[t.trigger] & _at(stage, t.source) for t in TRANSITIONS))


def lifecycle_follows(stage: Term) -> Term:
    """The stage after this event; the same where the lifecycle has no such transition."""
    after = stage
    for t in TRANSITIONS:
        if t.source is not t.dest:
            taken = _TRIGGERS[t.trigger] & _at(stage, t.source)
            after = taken.ite(STAGES.index(t.dest), after)
    return after


_over = disj(
    _at(_stage, ClaimState.DEMOTED),
    _at(_stage, ClaimState.EXPIRED),
    _at(_stage, ClaimState.RELEASED),
)
_no_news = kind(Kind.CLAIM_RESTORATION_FAILED) & (e.duplicate | _over)  # it moves nothing
_report = e.mine & kind(*LIFECYCLE_REPORTS) & ~_no_news
_moves = {"stage": lifecycle_follows(_stage)}

ORDERED_LIFECYCLE_EVENTS = Observer(
    name="ordered_lifecycle_events",
    code="L",
    reason="The order decides: a demotion before the loss is policy, after it an excuse. Reports "
    "must follow the lifecycle, and every end of responsibility must be reported in time.",
    source=TABLE_1,
    registers=(Register("stage", Sort.INT, 0),),
    states=(
        idle("no lifecycle report yet"),
        pending("owed", "the registry entry ended, and no report says how yet"),
        satisfied("ordered", "each report follows the lifecycle"),
        violated(
            "a report does not follow the lifecycle, or an end was reported falsely or too late"
        ),
    ),
    rules=(
        forbidden(
            "claim_id_reused",
            e.mine & kind(Kind.CLAIM_COMMITTED) & ~_at(_stage, ClaimState.SUBMITTED),
            why="the registry committed to a claim whose id was decided on before",
            allowed="a new id for a new claim",
        ),
        false_report(
            "rejection_reported_while_committed",
            e.mine & kind(Kind.CLAIM_REJECTED) & was.committed,
            why="a rejection is reported, but the registry has committed to the claim",
            allowed="claim_accepted, or claim_rejected without a commitment in the registry",
        ),
        false_report(
            "unauthorized_caller",
            e.mine & ends & ~e.authorised,
            why="the claim was ended by a caller who does not own it, or by the runtime without "
            "the right to do so",
            allowed="demotion, expiry or release by the owning scope, or by the runtime within "
            "its rights",
        ),
        false_report(
            "end_attributed_to_wrong_caller",
            conj(e.mine, ends, was.ended_by >= 1, e.by >= 1, e.by.ne(was.ended_by)),
            why="the report of the end names another caller than the one who ended the registry "
            "entry",
            allowed="a report that names the caller who ended the registry entry",
        ),
        false_report(
            "illegal_transition",
            _report & ~lifecycle_allows(_stage),
            why="the lifecycle does not allow this report in the current state of the claim",
            allowed="a report for which the lifecycle has a transition from that state",
        ),
        false_report(
            "end_reported_while_responsible",
            e.mine & ends & now.responsible,
            why="the end of responsibility is reported, but the registry still holds the claim",
            allowed="the report after the registry entry ended",
        ),
        discharged(
            "end_reported",
            e.mine & ends,
            "ordered",
            source=("owed",),
            sets=_moves,
            why="the end of responsibility is reported",
        ),
        due(
            "end_not_reported",
            CLOSES,
            source=("owed",),
            why="responsibility ended, and the runtime acted again without reporting the end",
            allowed="claim_demoted, claim_expired or claim_released before the runtime acts again",
        ),
        owed(
            "responsibility_ended",
            e.mine & kind(Kind.CLAIM_RETIRED) & was.responsible,
            "owed",
            source=("idle", "ordered"),
            why="the registry entry of the claim ended",
        ),
        discharged(
            "legal_transition",
            _report,
            "ordered",
            source=("idle", "ordered"),
            sets=_moves,
            why="the lifecycle allows this report in the current state of the claim",
        ),
        discharged(
            "legal_transition_while_end_due",
            _report,
            "owed",
            source=("owed",),
            sets=_moves,
            why="the lifecycle allows this report, and the end of responsibility is still not "
            "reported",
        ),
    ),
)

_victim_breaks = conj(e.mine, kind(Kind.BLOCK_EVICTED), was.responsible, breaks)

CLAIM_DEMOTED_BEFORE_LOSS = Observer(
    name="claim_demoted_before_loss",
    code="D",
    reason="A claim may be given up under pressure, but only with a report, and before the loss. "
    "Otherwise a demotion cannot be distinguished from a broken promise.",
    source=TABLE_1,
    states=(
        idle("the claim was neither demoted nor lost"),
        satisfied(
            "demoted", "the claim was demoted before any eviction that makes its predicate false"
        ),
        violated("an eviction made the predicate false while the runtime was responsible"),
    ),
    rules=(
        forbidden(
            "evicted_before_demotion",
            _victim_breaks,
            why="an eviction made the predicate false, and the claim was not demoted before",
            allowed="claim_demoted before the eviction, or another victim",
        ),
        discharged(
            "demotion_reported",
            e.mine & demotes & ~now.responsible,
            "demoted",
            why="the demotion is reported before the claim is lost",
        ),
    ),
)

CLAIM_EXPIRED_BOUNDARY = Observer(
    name="claim_expired_boundary",
    code="E",
    reason="A duration is a promise with an end. The end must be an event; otherwise it is "
    "undetermined whether a loss near it came before or after the end.",
    source=TABLE_1,
    states=(
        idle("the claim has not reached the end of its duration"),
        pending("owed", "the duration elapsed, and the expiry is not reported yet"),
        satisfied("expired", "the expiry was reported as the end of responsibility"),
        violated(
            "the expiry was not reported in time, or an eviction made the predicate false before it"
        ),
    ),
    rules=(
        forbidden(
            "evicted_before_expiry",
            _victim_breaks,
            why="an eviction made the predicate false before the claim expired",
            allowed="claim_expired at the end of the duration and before the eviction, or another "
            "victim",
        ),
        discharged(
            "expiry_reported",
            e.mine & kind(Kind.CLAIM_EXPIRED) & ~now.responsible,
            "expired",
            why="the expiry that ended responsibility is reported",
        ),
        due(
            "expiry_not_reported",
            CLOSES | (e.mine & (demotes | kind(Kind.CLAIM_RELEASED))),
            source=("owed",),
            why="the duration elapsed, and the runtime acted again or reported another end "
            "without reporting the expiry",
            allowed="claim_expired before the runtime acts again, and before any other end is "
            "reported",
        ),
        owed(
            "duration_reached",
            e.mine & kind(Kind.DURATION_ELAPSED) & was.responsible & ~now.responsible,
            "owed",
            source=("idle", "expired"),
            why="the clock reached the end of the claim's duration",
        ),
    ),
)

STATED: Final = (
    Obligation(
        ORDERED_LIFECYCLE_EVENTS,
        row=5,
        places=(
            Place(Mode.HARD_PROTECTED, printed=9),
            Place(Mode.DEMOTABLE, printed=4),
            Place(Mode.EXPIRING, printed=4),
            Place(Mode.OFFLOADABLE, printed=6),
        ),
        order=Order.LIFECYCLE,
        depths=frozenset({Depth.CLAIM_REGISTRY, Depth.STORAGE_RESTORABILITY}),
        answers=(Answer("tell the end", Kind.CLAIM_RELEASED, ("owed",)),),
    ),
    Obligation(
        CLAIM_DEMOTED_BEFORE_LOSS,
        row=7,
        places=(Place(Mode.DEMOTABLE, printed=3, critical=True),),
        order=Order.DEMOTION_BEFORE_LOSS,
        depths=frozenset({Depth.CLAIM_REGISTRY}),
        beyond_telemetry=True,
    ),
    Obligation(
        CLAIM_EXPIRED_BOUNDARY,
        row=8,
        places=(Place(Mode.EXPIRING, printed=3, critical=True),),
        order=Order.BOUNDARY_BEFORE_LOSS,
        depths=frozenset({Depth.CLAIM_REGISTRY}),
        beyond_telemetry=True,
        answers=(Answer("tell the boundary", Kind.CLAIM_EXPIRED, ("owed",)),),
    ),
)
