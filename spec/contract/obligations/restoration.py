"""What is owed when bringing a claim back from the offload tier fails."""

from __future__ import annotations

from typing import Final

from spec.claims.claim import Mode
from spec.contract.ledgers import fails, kind, now, req_was
from spec.contract.obligation import Obligation, Place, Refusal, While
from spec.contract.obligations._build import (
    FAILED,
    IN_HAND,
    TABLE_1,
    VIOLATED,
    idle,
    pending,
    satisfied,
    violated,
)
from spec.contract.supply import Depth, Order
from spec.contract.vocabulary import c, e
from spec.events.alphabet import Kind
from spec.language.machine import Guard, Observer, Rule
from spec.language.terms import conj

__all__ = ["RESTORATION_FAILURE_OUTCOME", "STATED"]

_ours = e.mine & e.here
_finished = e.here & kind(Kind.REQUEST_FINISHED)
_computed = _ours & kind(Kind.BLOCK_CACHED) & ~e.found
_needs = _ours & kind(Kind.CLAIM_RESTORE_REQUIRED)
_back = e.mine & kind(Kind.LOAD_FINISHED, Kind.BLOCK_CACHED) & (c.threshold <= now.lead)
_refused = e.here & kind(Kind.REQUEST_REFUSED) & ~e.echo
_reported = _ours & kind(Kind.CLAIM_RESTORATION_FAILED)
_alleged = conj(e.here, kind(Kind.REQUEST_REFUSED), e.blamed, e.alleges)
_stated = _reported & e.outcome & ~e.echo
_relaxed = e.mine & kind(Kind.CLAIM_DEMOTED, Kind.CLAIM_EXPIRED, Kind.CLAIM_HARMED)
_served = (_ours & kind(Kind.PREFIX_REUSED)) | _computed

RESTORATION_FAILURE_OUTCOME = Observer(
    name="restoration_failure_outcome",
    code="RF",
    reason="When the bytes do not come back the claim's owner must be told what became of the "
    "claim; a miss, an unrelated error and a silent recomputation all look alike otherwise.",
    source=TABLE_1,
    per_request=True,
    states=(
        idle("no restore failed"),
        idle("the request waits for a restore", name="waiting"),
        idle("a restore failed for another request while this one waited", name="thwarted"),
        pending("owed", "a restore failed and has no claim-scoped outcome yet"),
        pending("refusing", "a refusal was stated as the outcome, and the request is not refused"),
        pending("harming", "harm was stated as the outcome, and is not reported as the claim's"),
        satisfied("refused", "the failed restore ended in a refusal that names the claim alone"),
        satisfied("answered", "the failed restore ended in an outcome that names the claim alone"),
        violated("the failed restore has no claim-scoped outcome, or blames another claim"),
    ),
    rules=(
        Rule(
            Guard.SAID,
            "invented",
            (_reported | _alleged) & ~req_was.broke,
            VIOLATED,
            source=("idle", "waiting", "owed", "refusing", "harming", "refused", "answered"),
            why="a failed restore is reported, and no load of this claim failed for the request or "
            "left it waiting",
            allowed="the report after a load of this claim failed",
        ),
        Rule(
            Guard.SAID,
            "smeared",
            ((e.here & kind(Kind.REQUEST_REFUSED)) | _reported) & e.smear & req_was.failed,
            VIOLATED,
            why="the outcome names a claim whose restore did not fail",
            allowed="an outcome that names this claim, and no claim whose restore went well",
        ),
        Rule(
            Guard.BROKE,
            "fallback first",
            _served,
            VIOLATED,
            source=("owed", "refusing", "harming"),
            why="the request went on to compute or reuse the claim before its failed restore had "
            "an outcome",
            allowed="refusal, demotion, expiry or harm naming the claim before any fallback",
        ),
        Rule(
            Guard.BROKE,
            "served all the same",
            (e.here & kind(Kind.PREFIX_REUSED)) | _computed,
            VIOLATED,
            source=("refused",),
            why="the request was said to be refused for its failed restore, and was served all the "
            "same: it reused a prefix, or computed the claim",
            allowed="the end of the request after its refusal",
        ),
        Rule(
            Guard.MOOT,
            "over",
            _finished,
            "answered",
            source=("refused",),
            why="the refused request ended; another of its id may be served",
        ),
        Rule(
            Guard.TOLD,
            "refused",
            _refused & e.blamed,
            "refused",
            source=("owed", "harming", "thwarted", "answered"),
            why="the request was refused for its failed restore, in the claim's name",
        ),
        Rule(
            Guard.TOLD,
            "refused as stated",
            _refused,
            "refused",
            source=("refusing",),
            why="the refusal that was stated as the outcome was carried out",
        ),
        Rule(
            Guard.TOLD,
            "answered",
            _relaxed,
            "answered",
            source=("owed", "refusing", "harming"),
            why="the failed restore ended in an outcome that names the claim",
        ),
        Rule(
            Guard.OWED,
            "refusal stated",
            _stated & e.refusal,
            "refusing",
            source=("owed", "thwarted"),
            why="a refusal is stated as the outcome of the failed restore",
        ),
        Rule(
            Guard.OWED,
            "harm stated",
            _stated & e.harm,
            "harming",
            source=("owed", "thwarted"),
            why="harm is stated as the outcome of the failed restore",
        ),
        Rule(
            Guard.DUE,
            "unanswered",
            _finished,
            VIOLATED,
            source=("owed", "refusing", "harming"),
            why="the request ended and its failed restore had no claim-scoped outcome",
            allowed="refusal, demotion, expiry or harm of the claim before the request ends",
        ),
        Rule(
            Guard.OWED,
            "load failed",
            e.here & fails,
            "owed",
            source=("idle", "waiting", "thwarted", "answered"),
            why="a load of the claim's blocks failed, and they are not there",
        ),
        Rule(
            Guard.NOTED,
            "needed",
            _needs & req_was.arrived,
            "waiting",
            source=("idle",),
            why="a restore of the claim is required for the request",
        ),
        Rule(
            Guard.NOTED,
            "failed for another",
            fails,
            "thwarted",
            source=("waiting",),
            why="a load of the claim failed, for which this request may have waited",
        ),
        Rule(
            Guard.NOTED,
            "back",
            _back,
            "waiting",
            source=("thwarted",),
            why="the claim is back all the same",
        ),
        Rule(
            Guard.NOTED,
            "done",
            (e.here & kind(Kind.REQUEST_FINISHED, Kind.REQUEST_REFUSED))
            | (e.mine & kind(Kind.CLAIM_RESTORED)),
            "idle",
            source=("waiting", "thwarted"),
            why="the request waits no more: the claim was restored, or the request is over",
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
