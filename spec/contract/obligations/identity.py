"""States the obligations on identity, acceptance, predicate and footprint."""

from __future__ import annotations

from typing import Final

from spec.claims.states import Mode
from spec.contract.interpretations import CLOSES
from spec.contract.ledgers import kind, now, req_was, resident, was
from spec.contract.obligation import Answer, Obligation, Place
from spec.contract.obligations._build import (
    NOT_PROMISED,
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
from spec.contract.vocabulary import c, e
from spec.events.alphabet import CONFLICT_ACTIONS, REPORTS, Kind
from spec.language.machine import Observer
from spec.language.terms import conj

__all__ = ["STATED"]

_REPORT_ABOUT_CLAIM = kind(*(REPORTS - CONFLICT_ACTIONS))

CLAIM_IDENTITY = Observer(
    name="claim_identity",
    code="I",
    reason="An event that names a claim must mean the object that the claim was made for, and a "
    "report about that object must name the claim. Otherwise no report can be attributed to a "
    "claim.",
    source=TABLE_1,
    states=(
        idle("nothing was reported about the claim"),
        satisfied(
            "bound",
            "the reports name the claim and are about its object",
        ),
        violated(
            "one claim id stands for two objects, or a report about the object names another claim"
        ),
    ),
    rules=(
        forbidden(
            "identity_mismatch",
            e.named & ~e.mine,
            why="the event names this claim, but its cache identity, object, predicate or token "
            "map differs from the registered one",
            allowed="an event with the cache identity, object, predicate and token map that the "
            "claim was registered with",
        ),
        false_report(
            "report_names_another_claim",
            e.mine & ~e.named & _REPORT_ABOUT_CLAIM,
            why="the report is about this claim's object, but names another claim",
            allowed="the same report with this claim's id",
        ),
        discharged(
            "identity_matches",
            e.mine & e.named & _REPORT_ABOUT_CLAIM,
            "bound",
            why="the report names the claim and is about its object",
        ),
    ),
)

_needs_no_acceptance = kind(Kind.CLAIM_REJECTED) | (kind(Kind.CLAIM_RELEASED) & ~was.committed)

EXPLICIT_ACCEPTANCE = Observer(
    name="explicit_acceptance",
    code="A",
    reason="A runtime can be held only to what it reported as accepted. A hint that was not "
    "accepted creates no obligation, and naming a claim after the fact explains nothing.",
    source=TABLE_1,
    states=(
        idle("no decision about the claim was due"),
        pending("owed", "the registry holds the claim, and its acceptance is not reported yet"),
        satisfied("accepted", "the claim was accepted, and its acceptance was reported"),
        violated("acceptance was reported falsely or too late, or another report came before it"),
    ),
    rules=(
        false_report(
            "acceptance_reported_without_commitment",
            e.mine & kind(Kind.CLAIM_ACCEPTED) & ~was.committed,
            why="acceptance is reported, but the registry has not committed to the claim",
            allowed="a commitment in the registry before claim_accepted",
        ),
        false_report(
            "more_accepted_than_committed",
            e.mine & kind(Kind.CLAIM_ACCEPTED) & e.overstates,
            why="claim_accepted states more blocks or a longer duration than the registry holds, "
            "or lets what was asked for stand where the registry holds less",
            allowed="the footprint and the duration of the commitment, also where they are less "
            "than what was asked for",
        ),
        discharged(
            "acceptance_reported",
            e.mine & kind(Kind.CLAIM_ACCEPTED),
            "accepted",
            why="the acceptance of a claim that the registry committed to is reported",
        ),
        false_report(
            "reported_before_acceptance",
            e.mine & _REPORT_ABOUT_CLAIM & ~_needs_no_acceptance,
            source=("idle", "owed"),
            why="a report about the claim comes before its acceptance",
            allowed="claim_accepted, claim_rejected or a withdrawal by the owner before any other "
            "report about the claim",
        ),
        due(
            "acceptance_not_reported",
            CLOSES,
            source=("owed",),
            why="the runtime acted again without reporting that it had accepted the claim",
            allowed="claim_accepted before the runtime acts again",
        ),
        owed(
            "responsibility_began",
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
    reason="The predicate says what 'there' means. It is fixed at acceptance and evaluated on "
    "logical positions, so that surviving blocks in the wrong places do not count as a usable "
    "prefix.",
    source=TABLE_1,
    states=(
        idle("no event has evaluated the predicate"),
        satisfied(
            "honest", "each evaluation of the predicate agrees with the logical positions held"
        ),
        violated("a report about the predicate contradicts the logical positions held"),
    ),
    rules=(
        false_report(
            "predicate_reported_true_while_false",
            e.mine & (kind(Kind.CLAIM_MATERIALIZED) | _restored) & (now.lead < c.threshold),
            why="the predicate is reported true, but the logical positions held make it false",
            allowed="the report after the last block that the predicate needs was cached",
        ),
        false_report(
            "predicate_reported_false_while_true",
            e.mine
            & (kind(Kind.CLAIM_UNMATERIALIZED) | (kind(Kind.CLAIM_BLOCK_LOST) & e.breaks))
            & (c.threshold <= now.lead),
            why="the predicate is reported false, but the logical positions held make it true",
            allowed="the report after a block that the predicate needs was lost",
        ),
        discharged(
            "predicate_evaluated",
            e.mine & kind(Kind.CLAIM_MATERIALIZED, Kind.CLAIM_UNMATERIALIZED, Kind.PREFIX_LOOKUP),
            "honest",
            why="a report or a look-up evaluated the predicate on logical positions",
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
    reason="Whether a request fits in the pool together with the claims is arithmetic over "
    "footprints. It can be checked only if the footprints are reported, true and added up "
    "correctly.",
    source=TABLE_1,
    per_request=True,
    states=(
        idle("no footprint was reported"),
        satisfied("accounted", "every reported footprint and capacity proof is correct"),
        violated("a reported footprint or a capacity proof is wrong"),
    ),
    rules=(
        false_report(
            "footprint_differs_from_commitment",
            e.mine & kind(Kind.CLAIM_ACCEPTED) & was.committed & e.footprint.ne(was.footprint),
            why="the footprint in claim_accepted differs from the footprint in the registry",
            allowed="the number of blocks that the registry holds for the claim",
        ),
        false_report(
            "wrong_capacity_proof",
            _proof & ~_adds_up,
            why="the capacity proof does not agree with the declared footprints",
            allowed="a proof with the declared blocks of the responsible claims as resident, the "
            "usable blocks of the pool as usable, and as active at least what this request needs "
            "and at most what all unfinished requests need; total and shortfall follow from these",
        ),
        discharged(
            "footprint_reported",
            (e.mine & kind(Kind.CLAIM_ACCEPTED) & (e.footprint >= 1)) | _proof,
            "accounted",
            why="a correct footprint or capacity proof is reported",
        ),
    ),
)


_NO_FALSE_LOSS = {
    ".predicate_reported_false_while_true": (
        "such a report also violates claim_scoped_telemetry.loss_reported_while_predicate_true"
    )
}

STATED: Final = (
    Obligation(
        CLAIM_IDENTITY,
        row=1,
        places=tuple(Place(mode, printed=1) for mode in Mode),
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
                unreached=_NO_FALSE_LOSS,
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
                unreached=_NO_FALSE_LOSS,
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
