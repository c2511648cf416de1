"""Who is spoken of, and what was promised: identity, acceptance, predicate, footprint."""

from __future__ import annotations

from typing import Final

from spec.claims.claim import Mode
from spec.contract.ledgers import kind, now, req_was, resident, was
from spec.contract.obligation import Answer, Obligation, Place
from spec.contract.obligations._build import (
    NOT_PROMISED,
    TABLE_1,
    VIOLATED,
    idle,
    pending,
    satisfied,
    violated,
)
from spec.contract.readings import CLOSES
from spec.contract.supply import Depth, Order
from spec.contract.vocabulary import c, e
from spec.events.alphabet import CONFLICT_ACTIONS, REPORTS, Kind
from spec.language.machine import Guard, Observer, Rule
from spec.language.terms import conj

__all__ = [
    "CLAIM_IDENTITY",
    "EXPLICIT_ACCEPTANCE",
    "FOOTPRINT_ACCOUNTING",
    "MATERIALIZATION_PREDICATE",
    "STATED",
]

_REPORT_ABOUT_CLAIM = kind(*(REPORTS - CONFLICT_ACTIONS))

CLAIM_IDENTITY = Observer(
    name="claim_identity",
    code="I",
    reason="An event that names a claim must mean the object which that claim was made for, and an "
    "event about that object must name the claim; otherwise nothing said can be attributed.",
    source=TABLE_1,
    states=(
        idle("nothing has been said of the claim"),
        satisfied("bound", "every report about the object names the claim, and only those do"),
        violated("one name stands for two objects, or one object goes by a foreign name"),
    ),
    rules=(
        Rule(
            Guard.BROKE,
            "two objects",
            e.named & ~e.mine,
            VIOLATED,
            why="the event names this claim with another cache identity, object, predicate or "
            "token map than it was registered with",
            allowed="an event that names the claim with the identity it was registered with",
        ),
        Rule(
            Guard.SAID,
            "foreign name",
            e.mine & ~e.named & _REPORT_ABOUT_CLAIM,
            VIOLATED,
            why="the report is about this claim's object and names another claim",
            allowed="the same report under this claim's id",
        ),
        Rule(
            Guard.TOLD,
            "bound",
            e.mine & e.named & _REPORT_ABOUT_CLAIM,
            "bound",
            why="the report names the claim and means its object",
        ),
    ),
)

_needs_no_acceptance = kind(Kind.CLAIM_REJECTED) | (kind(Kind.CLAIM_RELEASED) & ~was.committed)

EXPLICIT_ACCEPTANCE = Observer(
    name="explicit_acceptance",
    code="A",
    reason="A runtime can be held only to what it said that it accepts; a hint that nobody "
    "accepted obliges nobody, and naming a claim after the fact explains nothing.",
    source=TABLE_1,
    states=(
        idle("no decision was due"),
        pending("owed", "the registry holds the claim, and nobody has said that it is accepted"),
        satisfied("accepted", "the claim was accepted, and said to be"),
        violated("something was said of the claim before it was accepted, or acceptance is untrue"),
    ),
    rules=(
        Rule(
            Guard.SAID,
            "untrue",
            e.mine & kind(Kind.CLAIM_ACCEPTED) & ~was.committed,
            VIOLATED,
            why="acceptance is reported and the registry holds no such claim",
            allowed="a commitment in the registry before the report",
        ),
        Rule(
            Guard.TOLD,
            "accepted",
            e.mine & kind(Kind.CLAIM_ACCEPTED),
            "accepted",
            why="the acceptance of a committed claim is reported",
        ),
        Rule(
            Guard.SAID,
            "post hoc",
            e.mine & _REPORT_ABOUT_CLAIM & ~_needs_no_acceptance,
            VIOLATED,
            source=("idle", "owed"),
            why="a report about the claim comes before its acceptance",
            allowed="acceptance, rejection or the owner's withdrawal before anything else is said "
            "of the claim",
        ),
        Rule(
            Guard.DUE,
            "silent",
            CLOSES,
            VIOLATED,
            source=("owed",),
            why="the runtime went on with the claim without saying that it had accepted it",
            allowed="acceptance reported before the next thing done with the claim",
        ),
        Rule(
            Guard.OWED,
            "committed",
            e.mine & kind(Kind.CLAIM_COMMITTED),
            "owed",
            source=("idle", "accepted"),
            why="the registry took responsibility for the claim",
        ),
    ),
)

_restored = kind(Kind.CLAIM_RESTORED) & ~c.tiered  # where it counts offload_restorability judges it

MATERIALIZATION_PREDICATE = Observer(
    name="materialization_predicate",
    code="P",
    reason="The predicate says what 'there' means. It is fixed at acceptance and judged on logical "
    "positions, so that surviving blocks in the wrong places do not pass for a usable prefix.",
    source=TABLE_1,
    states=(
        idle("the predicate has not been evaluated at a named observation"),
        satisfied("honest", "each evaluation agrees with the positions held"),
        violated("a report about the predicate contradicts the positions held"),
    ),
    rules=(
        Rule(
            Guard.SAID,
            "not there",
            e.mine & (kind(Kind.CLAIM_MATERIALIZED) | _restored) & (now.lead < c.threshold),
            VIOLATED,
            why="the predicate is reported true and the logical positions held make it false",
            allowed="the report after the last block that the predicate needs is cached",
        ),
        Rule(
            Guard.SAID,
            "still there",
            e.mine
            & (kind(Kind.CLAIM_UNMATERIALIZED) | (kind(Kind.CLAIM_BLOCK_LOST) & e.breaks))
            & (c.threshold <= now.lead),
            VIOLATED,
            why="the predicate is reported false and the logical positions held make it true",
            allowed="the report after a block that the predicate needs is gone",
        ),
        Rule(
            Guard.TOLD,
            "observed",
            e.mine & kind(Kind.CLAIM_MATERIALIZED, Kind.CLAIM_UNMATERIALIZED, Kind.PREFIX_LOOKUP),
            "honest",
            why="the predicate was evaluated at a named observation, on logical positions",
        ),
    ),
)

_adds_up = conj(
    e.said_resident.eq(resident(was.declared)),
    req_was.needed <= e.said_active,
    e.said_active <= req_was.needed + e.others,
    e.said_usable.eq(req_was.usable),
    e.said_total.eq(e.said_resident + e.said_active),
    (e.said_usable < e.said_total).ite(
        e.said_total.eq(e.said_shortfall + e.said_usable), e.said_shortfall.eq(0)
    ),
)
_proof = conj(e.here, kind(*CONFLICT_ACTIONS), e.proof, was.responsible, req_was.arrived)

FOOTPRINT_ACCOUNTING = Observer(
    name="footprint_accounting",
    code="F",
    reason="Whether a request fits beside what is promised is arithmetic over footprints; it can "
    "only be followed if the footprints are stated, true and added up correctly.",
    source=TABLE_1,
    per_request=True,
    states=(
        idle("no footprint was stated"),
        satisfied("accounted", "every stated footprint and capacity proof is right"),
        violated("a footprint or a capacity proof is wrong"),
    ),
    rules=(
        Rule(
            Guard.SAID,
            "misstated",
            e.mine & kind(Kind.CLAIM_ACCEPTED) & was.committed & e.footprint.ne(was.footprint),
            VIOLATED,
            why="the footprint accepted is not the footprint committed",
            allowed="the number of blocks that the registry holds for the claim",
        ),
        Rule(
            Guard.SAID,
            "proof",
            _proof & ~_adds_up,
            VIOLATED,
            why="the capacity proof does not add up with the footprints declared",
            allowed="resident blocks as declared, plus active blocks, against usable blocks, with "
            "the shortfall that follows; active is what the request needs, and at most what the "
            "other requests in hand need besides",
        ),
        Rule(
            Guard.TOLD,
            "stated",
            (e.mine & kind(Kind.CLAIM_ACCEPTED) & (e.footprint >= 1)) | _proof,
            "accounted",
            why="a true footprint was stated",
        ),
    ),
)


STATED: Final = (
    Obligation(
        CLAIM_IDENTITY,
        row=1,
        places=(
            Place(Mode.BEST_EFFORT, printed=1),
            Place(Mode.SOFT_PRIORITY, printed=1),
            Place(Mode.HARD_PROTECTED, printed=1),
            Place(Mode.DEMOTABLE, printed=1),
            Place(Mode.EXPIRING, printed=1),
            Place(Mode.OFFLOADABLE, printed=1),
            Place(Mode.ROUTED_REUSE, printed=1),
        ),
        order=Order.CLAIM_BEFORE_EVENTS,
        depths=frozenset({Depth.TELEMETRY_JOIN, Depth.CLAIM_REGISTRY}),
    ),
    Obligation(
        EXPLICIT_ACCEPTANCE,
        row=2,
        places=(
            Place(Mode.HARD_PROTECTED, printed=2),
            Place(Mode.DEMOTABLE, printed=2),
            Place(Mode.EXPIRING, printed=2),
            Place(Mode.OFFLOADABLE, printed=2),
        ),
        order=Order.CLAIM_BEFORE_EVENTS,
        depths=frozenset({Depth.CLAIM_REGISTRY}),
        answers=(Answer("accept", Kind.CLAIM_ACCEPTED, ("owed",), {"footprint": was.footprint}),),
    ),
    Obligation(
        MATERIALIZATION_PREDICATE,
        row=3,
        places=(
            Place(
                Mode.BEST_EFFORT,
                printed=2,
                unreached={
                    ".still there": "whoever says so also breaks claim_scoped_telemetry.untrue"
                },
            ),
            Place(Mode.HARD_PROTECTED, printed=3),
            Place(
                Mode.DEMOTABLE, added="materialized may be reported of blocks that are not there"
            ),
            Place(Mode.OFFLOADABLE, printed=3),
            Place(
                Mode.ROUTED_REUSE,
                printed=2,
                redundant=NOT_PROMISED,
                unreached={
                    ".still there": "whoever says so also breaks claim_scoped_telemetry.untrue"
                },
            ),
        ),
        order=Order.CLAIM_BEFORE_EVENTS,
        depths=frozenset({Depth.TELEMETRY_JOIN, Depth.CLAIM_REGISTRY}),
    ),
    Obligation(
        FOOTPRINT_ACCOUNTING,
        row=4,
        places=(Place(Mode.HARD_PROTECTED, printed=4),),
        order=Order.CLAIM_BEFORE_EVENTS,
        depths=frozenset({Depth.CLAIM_REGISTRY, Depth.ALLOCATOR_HOOK}),
    ),
)
