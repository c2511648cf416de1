"""States the obligation to report each loss under responsibility as harm of the claim."""

from __future__ import annotations

from typing import Final

from spec.claims.states import Mode
from spec.contract.interpretations import CLOSES
from spec.contract.ledgers import demotes, ends, fails, kind, loss, now, req_was
from spec.contract.obligation import Answer, Obligation, Place, Refusal, While
from spec.contract.obligations._build import (
    FAILED,
    IN_HAND,
    TABLE_1,
    discharged,
    due,
    false_report,
    idle,
    noted,
    owed,
    pending,
    satisfied,
    violated,
)
from spec.contract.supply import Depth, Order
from spec.contract.vocabulary import c, e
from spec.events.alphabet import Kind
from spec.language.machine import Observer, Register
from spec.language.terms import Const, Scope, Sort, Var, conj

__all__ = ["STATED"]

_holds = c.threshold <= now.lead
_outcome_of_failure = (e.mine & (demotes | kind(Kind.CLAIM_EXPIRED))) | (
    e.here
    & ~e.duplicate
    & (
        (e.mine & kind(Kind.CLAIM_RESTORATION_FAILED) & e.outcome)
        | (kind(Kind.REQUEST_REFUSED) & e.blamed)
    )
)

_harm_stated = conj(
    e.mine, e.here, ~e.duplicate, kind(Kind.CLAIM_RESTORATION_FAILED), e.outcome, e.harm
)
_good_news = ends | kind(Kind.CLAIM_MATERIALIZED, Kind.CLAIM_RESTORED)
_harms_owed = Var(Scope.OWN, "harms_owed", Sort.INT)

CLAIM_HARM_ATTRIBUTION = Observer(
    name="claim_harm_attribution",
    code="H",
    reason="The same lost block is ordinary replacement or a broken promise. When a responsible "
    "runtime loses what the predicate needs, it must report, for that claim, that the promise is "
    "broken.",
    source=TABLE_1,
    per_request=True,
    registers=(Register("harms_owed", Sort.INT, 0),),
    states=(
        idle("nothing was lost while the runtime was responsible"),
        pending("owed", "the claim was lost, and harm is not reported yet"),
        pending("failed", "a restore of the claim failed, and no outcome is reported yet"),
        idle("a restore of the claim failed for another request", name="aside"),
        satisfied("reported", "each loss was attributed to the claim"),
        satisfied("stated", "harm was announced as the outcome of a failed restore"),
        violated("a loss was not attributed to the claim, or harm was reported falsely"),
    ),
    rules=(
        false_report(
            "harm_reported_without_loss",
            e.mine & kind(Kind.CLAIM_HARMED),
            source=("idle", "reported"),
            why="harm is reported, but the claim lost nothing that was promised",
            allowed="claim_harmed only after a loss that makes the predicate false while the "
            "runtime is responsible",
        ),
        false_report(
            "harm_reported_while_predicate_true",
            conj(e.mine, kind(Kind.CLAIM_HARMED), ~c.tiered, _holds),
            source=("failed", "aside", "stated"),
            why="harm is reported for a failed restore, but the claim's predicate is true",
            allowed="claim_harmed only while the predicate is false",
        ),
        owed(
            "one_of_several_losses_reported",
            e.mine & kind(Kind.CLAIM_HARMED) & (_harms_owed >= 2),
            "owed",
            source=("owed",),
            sets={"harms_owed": _harms_owed - 1},
            why="one loss is reported as harm of this claim, and another is not reported yet",
        ),
        discharged(
            "harm_reported",
            e.mine & kind(Kind.CLAIM_HARMED),
            "reported",
            source=("owed", "failed", "aside", "stated"),
            sets={"harms_owed": Const(0)},
            why="the loss or the failed restore is reported as harm of this claim",
        ),
        discharged(
            "harm_announced",
            _harm_stated,
            "stated",
            source=("failed",),
            why="claim_restoration_failed announces harm as the outcome, which claim_harmed may "
            "repeat",
        ),
        discharged(
            "outcome_reported",
            _outcome_of_failure,
            "reported",
            source=("failed",),
            why="the failed restore ended in an outcome that names the claim",
        ),
        due(
            "harm_not_reported",
            CLOSES | (e.mine & _good_news),
            source=("owed",),
            why="the claim was lost, and the runtime acted again, or reported its end or its "
            "return, without reporting harm",
            allowed="claim_harmed with this claim's id before the runtime acts again, and before "
            "the end or the return of the claim is reported",
        ),
        due(
            "outcome_not_reported",
            e.here & kind(Kind.REQUEST_FINISHED) & req_was.failed,
            source=("failed",),
            why="the request ended, and its failed restore has no outcome that names the claim",
            allowed="a refusal, demotion, expiry or harm that names the claim, before the request "
            "ends",
        ),
        owed(
            "lost_while_responsible",
            loss,
            "owed",
            source=("idle", "reported", "failed", "aside", "stated"),
            sets={"harms_owed": Const(1)},
            why="the claim was lost while the runtime was responsible",
        ),
        owed(
            "lost_again_while_responsible",
            loss,
            "owed",
            source=("owed",),
            sets={"harms_owed": _harms_owed + 1},
            why="the claim was lost once more while the runtime was responsible",
        ),
        owed(
            "restore_failed",
            fails & e.here,
            "failed",
            source=("idle", "reported", "aside", "stated"),
            why="a restore of the claim failed while the runtime was responsible",
        ),
        noted(
            "restore_failed_for_another_request",
            fails,
            "aside",
            source=("idle", "reported", "stated"),
            why="a restore of the claim failed for another request, for which an outcome is due",
        ),
    ),
)

_ADDED = "a loss to a reset is silent without it, and harm that never happened can be reported"

STATED: Final = (
    Obligation(
        CLAIM_HARM_ATTRIBUTION,
        row=14,
        places=(
            Place(Mode.HARD_PROTECTED, printed=8),
            Place(Mode.DEMOTABLE, added=_ADDED),
            Place(Mode.EXPIRING, added=_ADDED),
            Place(
                Mode.OFFLOADABLE,
                printed=7,
                unreached={
                    ".harm_reported_while_predicate_true": (
                        "where copies count harm may be of a copy"
                    )
                },
            ),
        ),
        order=Order.LOSS_BEFORE_HARM,
        depths=frozenset({Depth.STORAGE_RESTORABILITY, Depth.ALLOCATOR_HOOK}),
        beyond_telemetry=True,
        answers=(Answer("tell the harm", Kind.CLAIM_HARMED, ("owed",)),),
        refusals=(Refusal(("failed",), at_request=False, for_restore=True),),
        invariants=(
            While(IN_HAND, ("failed",), req_was.arrived),
            While(FAILED, ("failed",), req_was.failed),
        ),
    ),
)
