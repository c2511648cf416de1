"""States the obligation to report an outcome of each failed restore that names the claim."""

from __future__ import annotations

from typing import Final

from spec.claims.states import Mode
from spec.contract.ledgers import demotes, fails, kind, req_was
from spec.contract.obligation import Obligation, Place, Refusal, While
from spec.contract.obligations._build import (
    FAILED,
    IN_HAND,
    TABLE_1,
    discharged,
    due,
    false_report,
    forbidden,
    idle,
    moot,
    noted,
    owed,
    pending,
    satisfied,
    violated,
)
from spec.contract.obligations._restore import back, computed, finished, needs, ours, reused
from spec.contract.supply import Depth, Order
from spec.contract.vocabulary import e
from spec.events.alphabet import Kind
from spec.language.machine import Observer
from spec.language.terms import conj

__all__ = ["STATED"]

_refused = e.here & kind(Kind.REQUEST_REFUSED) & ~e.duplicate
_reported = ours & kind(Kind.CLAIM_RESTORATION_FAILED)
_alleged = conj(e.here, kind(Kind.REQUEST_REFUSED), e.blamed, e.unfounded_failure)
_stated = _reported & e.outcome & ~e.duplicate
_relaxed = e.mine & (demotes | kind(Kind.CLAIM_EXPIRED, Kind.CLAIM_HARMED))
_served = reused | computed

RESTORATION_FAILURE_OUTCOME = Observer(
    name="restoration_failure_outcome",
    code="RF",
    reason="When the bytes do not come back, a report must say what became of the claim. "
    "Otherwise a cache miss, an unrelated error and an unreported recomputation look alike.",
    source=TABLE_1,
    per_request=True,
    states=(
        idle("no restore failed"),
        idle("the request waits for a restore", name="waiting"),
        idle("a restore failed for another request while this one waited", name="thwarted"),
        pending("owed", "a restore failed, and no outcome that names the claim is reported yet"),
        pending(
            "refusing", "a refusal was announced as the outcome, and the request is not refused yet"
        ),
        pending(
            "harming",
            "harm was announced as the outcome, and no report of the claim's harm "
            "or end follows yet",
        ),
        satisfied(
            "refused",
            "the failed restore ended in a refusal that names the claim",
        ),
        satisfied(
            "answered",
            "the failed restore ended in an outcome that names the claim",
        ),
        violated(
            "the failed restore has no outcome that names the claim, or its outcome is false "
            "or blames another claim"
        ),
    ),
    rules=(
        false_report(
            "failure_reported_without_failed_load",
            (_reported | _alleged) & ~req_was.broke,
            source=("idle", "waiting", "owed", "refusing", "harming", "refused", "answered"),
            why="a failed restore is reported, but no load of this claim failed for the request "
            "or while it waited",
            allowed="the report after a load of this claim failed",
        ),
        false_report(
            "outcome_blames_wrong_claim",
            ((e.here & kind(Kind.REQUEST_REFUSED)) | _reported)
            & e.blames_unfailed
            & req_was.failed,
            why="the outcome names a claim whose restore did not fail",
            allowed="an outcome that names this claim, and only claims whose restore failed",
        ),
        forbidden(
            "fallback_before_outcome",
            _served,
            source=("owed", "refusing", "harming"),
            why="the request computed or reused the claim before its failed restore had an outcome",
            allowed="a refusal, demotion, expiry or harm that names the claim, before any fallback",
        ),
        forbidden(
            "served_after_refusal",
            (e.here & kind(Kind.PREFIX_REUSED)) | computed,
            source=("refused",),
            why="the request was refused for its failed restore and was served nevertheless: it "
            "reused a prefix, or computed the claim",
            allowed="the end of the request after its refusal",
        ),
        moot(
            "refused_request_ended",
            finished,
            "answered",
            source=("refused",),
            why="the refused request ended; a later request with the same id may be served",
        ),
        discharged(
            "refusal_reported",
            _refused & e.blamed,
            "refused",
            source=("owed", "harming", "thwarted", "answered"),
            why="the request was refused for its failed restore, and the refusal names the claim",
        ),
        discharged(
            "announced_refusal_reported",
            _refused,
            "refused",
            source=("refusing",),
            why="the refusal that was announced as the outcome is reported",
        ),
        discharged(
            "outcome_reported",
            _relaxed,
            "answered",
            source=("owed", "refusing", "harming"),
            why="the failed restore ended in a demotion, expiry or harm that names the claim",
        ),
        owed(
            "refusal_announced",
            _stated & e.refusal,
            "refusing",
            source=("owed", "thwarted"),
            why="claim_restoration_failed announces a refusal as the outcome",
        ),
        owed(
            "harm_announced",
            _stated & e.harm,
            "harming",
            source=("owed", "thwarted"),
            why="claim_restoration_failed announces harm as the outcome",
        ),
        due(
            "outcome_not_reported",
            finished,
            source=("owed", "refusing", "harming"),
            why="the request ended, and its failed restore has no outcome that names the claim",
            allowed="a refusal, demotion, expiry or harm that names the claim, before the request "
            "ends",
        ),
        owed(
            "restore_failed",
            e.here & fails,
            "owed",
            source=("idle", "waiting", "thwarted", "answered"),
            why="a load of the claim's blocks failed, and the predicate is false",
        ),
        noted(
            "restore_required",
            needs & req_was.arrived,
            "waiting",
            source=("idle",),
            why="the request needs the claim restored",
        ),
        noted(
            "restore_failed_for_another_request",
            fails,
            "thwarted",
            source=("waiting",),
            why="a load of the claim failed for another request, and this request may have waited "
            "for it",
        ),
        noted(
            "predicate_true_again",
            back,
            "waiting",
            source=("thwarted",),
            why="the predicate is true again",
        ),
        noted(
            "wait_ended",
            (e.here & kind(Kind.REQUEST_FINISHED, Kind.REQUEST_REFUSED))
            | (e.mine & kind(Kind.CLAIM_RESTORED)),
            "idle",
            source=("waiting", "thwarted"),
            why="the request no longer waits: the claim was restored, or the request was refused "
            "or ended",
        ),
    ),
)

_UNANSWERED = ("owed", "refusing", "harming")

STATED: Final = (
    Obligation(
        RESTORATION_FAILURE_OUTCOME,
        row=10,
        places=(
            Place(
                Mode.OFFLOADABLE,
                printed=5,
                critical=True,
                redundant=(
                    "claim_harm_attribution owes an outcome of the same failure, by the "
                    "same event, with the same answers"
                ),
            ),
        ),
        order=Order.FAILURE_BEFORE_OUTCOME_BEFORE_END,
        depths=frozenset({Depth.STORAGE_RESTORABILITY}),
        beyond_telemetry=True,
        refusals=(Refusal(_UNANSWERED, for_restore=True),),
        invariants=(
            While(IN_HAND, _UNANSWERED, req_was.arrived),
            While("who waits is in hand", ("waiting", "thwarted"), req_was.arrived),
            While(FAILED, ("owed",), req_was.failed),
        ),
    ),
)
