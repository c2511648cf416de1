"""In what order, and how responsibility ends: lifecycle, demotion, expiry."""

from __future__ import annotations

from typing import Final

from spec.claims.claim import Mode
from spec.claims.states import TRANSITIONS, ClaimState
from spec.contract.ledgers import breaks, kind, now, was
from spec.contract.obligation import Answer, Obligation, Place
from spec.contract.obligations._build import TABLE_1, VIOLATED, idle, pending, satisfied, violated
from spec.contract.readings import CLOSES
from spec.contract.supply import Depth, Order
from spec.contract.vocabulary import e
from spec.events.alphabet import ENDS, LIFECYCLE_REPORTS, Kind
from spec.language.machine import Guard, Observer, Register, Rule
from spec.language.terms import Scope, Sort, Term, Var, conj, disj

__all__ = [
    "CLAIM_DEMOTED_BEFORE_LOSS",
    "CLAIM_EXPIRED_BOUNDARY",
    "ORDERED_LIFECYCLE_EVENTS",
    "STAGES",
    "STATED",
    "lifecycle_allows",
    "lifecycle_follows",
]

STAGES: tuple[ClaimState, ...] = tuple(ClaimState)
_stage = Var(Scope.OWN, "stage", Sort.INT)


def _at(stage: Term, state: ClaimState) -> Term:
    return stage.eq(STAGES.index(state))


def lifecycle_allows(stage: Term) -> Term:
    """The lifecycle has a transition for this kind of event out of `stage` (see `STAGES`)."""
    return disj(*(kind(Kind(t.trigger)) & _at(stage, t.source) for t in TRANSITIONS))


def lifecycle_follows(stage: Term) -> Term:
    """The stage after this event; the same where the lifecycle has no such transition."""
    after = stage
    for t in TRANSITIONS:
        if t.source is not t.dest:
            taken = kind(Kind(t.trigger)) & _at(stage, t.source)
            after = taken.ite(STAGES.index(t.dest), after)
    return after


_ends = kind(*ENDS)
_over = disj(
    _at(_stage, ClaimState.DEMOTED),
    _at(_stage, ClaimState.EXPIRED),
    _at(_stage, ClaimState.RELEASED),
)
_no_news = kind(Kind.CLAIM_RESTORATION_FAILED) & (e.echo | _over)  # it moves nothing
_report = e.mine & kind(*LIFECYCLE_REPORTS) & ~_no_news
_moves = {"stage": lifecycle_follows(_stage)}

ORDERED_LIFECYCLE_EVENTS = Observer(
    name="ordered_lifecycle_events",
    code="L",
    reason="Before or after decides everything: demoted before the loss is policy, after it is an "
    "excuse. Reports follow the lifecycle, in time, and every end of responsibility is among them.",
    source=TABLE_1,
    registers=(Register("stage", Sort.INT, 0),),
    states=(
        idle("no lifecycle report yet"),
        pending("owed", "the registry entry ended and nobody has said how"),
        satisfied("ordered", "each report is one that the lifecycle allows where it stands"),
        violated("a report stands where the lifecycle has no place for it"),
    ),
    rules=(
        Rule(
            Guard.BROKE,
            "disorder",
            kind(Kind.STREAM_DISORDER),
            VIOLATED,
            why="time or sequence ran backwards in the stream",
            allowed="events in the order of their sequence numbers and monotonic times",
        ),
        Rule(
            Guard.BROKE,
            "second life",
            e.mine & kind(Kind.CLAIM_COMMITTED) & ~_at(_stage, ClaimState.SUBMITTED),
            VIOLATED,
            why="the registry took up a claim whose id was decided on before",
            allowed="a new id for a new promise",
        ),
        Rule(
            Guard.SAID,
            "turned away and held",
            e.mine & kind(Kind.CLAIM_REJECTED) & was.committed,
            VIOLATED,
            why="rejection is reported and the registry holds the claim",
            allowed="claim_accepted, or claim_rejected with no commitment",
        ),
        Rule(
            Guard.SAID,
            "stranger",
            e.mine & _ends & ~e.authorised,
            VIOLATED,
            why="the claim was ended by someone who does not own it, or by the runtime without the "
            "right to",
            allowed="demotion, expiry or release by the owning scope, or by the runtime within its "
            "rights",
        ),
        Rule(
            Guard.SAID,
            "another's end",
            conj(e.mine, _ends, was.ended_by >= 1, e.by >= 1, e.by.ne(was.ended_by)),
            VIOLATED,
            why="the end is reported in another name than that of who ended the registry entry",
            allowed="demotion, expiry or release by who ended the registry entry",
        ),
        Rule(
            Guard.SAID,
            "out of order",
            _report & ~lifecycle_allows(_stage),
            VIOLATED,
            why="the lifecycle does not allow this report in the state that the claim is in",
            allowed="a report that the lifecycle has a transition for",
        ),
        Rule(
            Guard.SAID,
            "untrue end",
            e.mine & _ends & now.responsible,
            VIOLATED,
            why="responsibility is said to have ended and the registry still holds the claim",
            allowed="the report after the registry entry ended",
        ),
        Rule(
            Guard.TOLD,
            "ended",
            e.mine & _ends,
            "ordered",
            source=("owed",),
            sets=_moves,
            why="the end of responsibility is reported",
        ),
        Rule(
            Guard.DUE,
            "silent end",
            CLOSES,
            VIOLATED,
            source=("owed",),
            why="responsibility ended and the runtime went on without saying so",
            allowed="demoted, expired or released before the next thing done with the claim",
        ),
        Rule(
            Guard.OWED,
            "retired",
            e.mine & kind(Kind.CLAIM_RETIRED) & was.responsible,
            "owed",
            source=("idle", "ordered"),
            why="the registry entry of the claim ended",
        ),
        Rule(
            Guard.TOLD,
            "in order",
            _report,
            "ordered",
            source=("idle", "ordered"),
            sets=_moves,
            why="the lifecycle allows this report here",
        ),
        Rule(
            Guard.TOLD,
            "in order, end still owed",
            _report,
            "owed",
            source=("owed",),
            sets=_moves,
            why="the lifecycle allows this report here",
        ),
    ),
)

_victim_breaks = conj(e.mine, kind(Kind.BLOCK_EVICTED), was.responsible, breaks)

CLAIM_DEMOTED_BEFORE_LOSS = Observer(
    name="claim_demoted_before_loss",
    code="D",
    reason="A claim may be given up under pressure, but only aloud and beforehand; otherwise "
    "giving it up cannot be told from breaking it.",
    source=TABLE_1,
    states=(
        idle("nothing was demoted and nothing lost"),
        satisfied("demoted", "the claim was demoted before any loss that breaks its predicate"),
        violated("the predicate was broken by eviction while the runtime was responsible"),
    ),
    rules=(
        Rule(
            Guard.BROKE,
            "lost first",
            _victim_breaks,
            VIOLATED,
            why="an eviction broke the predicate of a claim that had not been demoted",
            allowed="claim_demoted first, or another victim",
        ),
        Rule(
            Guard.TOLD,
            "demoted",
            e.mine & kind(Kind.CLAIM_DEMOTED) & ~now.responsible,
            "demoted",
            why="the claim was demoted before it was lost",
        ),
    ),
)

CLAIM_EXPIRED_BOUNDARY = Observer(
    name="claim_expired_boundary",
    code="E",
    reason="A duration is a promise with an end. The end must be an event, or a loss near it "
    "cannot be told to be inside the promise or after it.",
    source=TABLE_1,
    states=(
        idle("no boundary was reached"),
        pending("owed", "the duration elapsed and nobody has said that the claim expired"),
        satisfied("expired", "the end of responsibility was reported as a boundary"),
        violated("the boundary was silent, or the claim was lost before it"),
    ),
    rules=(
        Rule(
            Guard.BROKE,
            "lost first",
            _victim_breaks,
            VIOLATED,
            why="an eviction broke the predicate of a claim before it expired",
            allowed="claim_expired at the duration first, or another victim",
        ),
        Rule(
            Guard.TOLD,
            "expired",
            e.mine & kind(Kind.CLAIM_EXPIRED) & ~now.responsible,
            "expired",
            why="the boundary at which responsibility ended is reported",
        ),
        Rule(
            Guard.DUE,
            "silent",
            CLOSES | (e.mine & kind(Kind.CLAIM_DEMOTED, Kind.CLAIM_RELEASED)),
            VIOLATED,
            source=("owed",),
            why="the duration elapsed and the runtime went on without reporting the boundary",
            allowed="claim_expired before the next thing done with the claim or said of its end",
        ),
        Rule(
            Guard.OWED,
            "elapsed",
            e.mine & kind(Kind.DURATION_ELAPSED) & was.responsible & ~now.responsible,
            "owed",
            source=("idle", "expired"),
            why="the clock reached the claim's duration",
        ),
    ),
)

_SORTED = "a run is in order: disorder is what a reader of files notices"

STATED: Final = (
    Obligation(
        ORDERED_LIFECYCLE_EVENTS,
        row=5,
        places=(
            Place(Mode.HARD_PROTECTED, printed=9, unreached={".disorder": _SORTED}),
            Place(Mode.DEMOTABLE, printed=4, unreached={".disorder": _SORTED}),
            Place(Mode.EXPIRING, printed=4, unreached={".disorder": _SORTED}),
            Place(Mode.OFFLOADABLE, printed=6, unreached={".disorder": _SORTED}),
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
