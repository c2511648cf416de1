"""States the obligation to restore an offloaded claim before it is reused."""

from __future__ import annotations

from typing import Final

from spec.claims.states import Mode
from spec.contract.ledgers import kind, loss, now, req_was, was
from spec.contract.obligation import Obligation, Place, Refusal, While
from spec.contract.obligations._build import (
    TABLE_1,
    discharged,
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
from spec.contract.vocabulary import c, e
from spec.events.alphabet import Kind
from spec.language.machine import Observer
from spec.language.terms import conj

__all__ = ["STATED"]

_failed = ours & kind(Kind.LOAD_FAILED)
_restored = ours & kind(Kind.CLAIM_RESTORED)
# The request may compute blocks behind the claim, once that is there.
_recomputed = computed & (was.lead < c.threshold)

OFFLOAD_RESTORABILITY = Observer(
    name="offload_restorability",
    code="R",
    reason="Bytes on another tier keep a promise only if they come back from that tier before the "
    "request that needs them is served.",
    source=TABLE_1,
    per_request=True,
    states=(
        idle("no reuse needed a restore"),
        pending("owed", "a request needs the claim restored, and it is not restored yet"),
        satisfied("restored", "the claim was restored from the tier before the reuse"),
        idle("the restore failed, so nothing was reused", name="failed"),
        idle(
            "harm of the claim was reported, so its restore is not due until the claim is back",
            name="harmed",
        ),
        idle("harm of the claim was reported, and the claim is not back", name="excused"),
        idle("the request ended or was refused before the claim was back", name="given_up"),
        violated(
            "the claim was reused without a restore from the tier, or a restore or an "
            "offload was reported falsely"
        ),
    ),
    rules=(
        false_report(
            "restore_reported_while_incomplete",
            e.mine & kind(Kind.CLAIM_RESTORED) & ~(e.from_tier & (c.threshold <= was.lead)),
            why="a restore is reported, but no load from the tier brought back what the predicate "
            "needs",
            allowed="claim_restored after a load from the offload tier made the predicate true",
        ),
        false_report(
            "restore_reported_while_not_required",
            _restored,
            source=("idle", "failed", "excused"),
            why="a restore is reported where none was outstanding",
            allowed="claim_restored between claim_restore_required and the end of the request",
        ),
        false_report(
            "restore_reported_without_load",
            _restored & ~(req_was.loaded | was.unreported),
            source=("owed", "harmed", "given_up"),
            why="a restore is reported, but no load from the tier brought the claim back",
            allowed="claim_restored after a load from the offload tier finished",
        ),
        false_report(
            "offload_reported_without_copy",
            e.mine & kind(Kind.CLAIM_OFFLOADED) & ~was.host,
            why="an offload is reported, but the tier has no copy of the claim",
            allowed="claim_offloaded after a store finished, while the copy exists",
        ),
        discharged(
            "restore_reported",
            _restored,
            "restored",
            why="the restore from the tier is reported",
        ),
        discharged(
            "restore_reported_for_another_request",
            e.mine & kind(Kind.CLAIM_RESTORED),
            "restored",
            source=("owed", "harmed"),
            why="the restore from the tier is reported for another request that waited for it",
        ),
        forbidden(
            "evicted_without_copy",
            e.mine & kind(Kind.BLOCK_EVICTED) & loss,
            why="the claim was evicted, and no copy is left to restore it from",
            allowed="a finished store before the eviction",
        ),
        forbidden(
            "reused_without_restore",
            reused & was.responsible & (req_was.away | (was.lead < c.threshold)),
            why="the prefix was reused, but its blocks were not on the GPU, or only because the "
            "request itself had computed them",
            allowed="a restore before the reuse, or instead of the reuse an outcome that names "
            "the claim",
        ),
        forbidden(
            "recomputed_despite_copy",
            conj(_recomputed, was.responsible, was.host, req_was.away, req_was.asks),
            source=("idle",),
            why="the request asked for the claim and computed it, although the tier had a copy",
            allowed="a restore from the tier, or before the computation an outcome that names the "
            "claim",
        ),
        forbidden(
            "recomputed_after_restore_required",
            conj(_recomputed, was.responsible, was.host, req_was.away),
            source=("owed", "restored", "given_up"),
            why="the request needed the claim restored and computed it, although the tier had a "
            "copy",
            allowed="a restore from the tier, or before the computation an outcome that names the "
            "claim",
        ),
        forbidden(
            "reused_before_restore_reported",
            reused & was.responsible & (req_was.loaded | was.unreported),
            source=("idle", "owed", "failed", "harmed", "excused", "given_up"),
            why="the prefix was reused after a load that was not reported as a restore",
            allowed="claim_restore_required and claim_restored before the reuse",
        ),
        forbidden(
            "reused_before_later_restore_reported",
            reused & was.responsible & was.unreported,
            source=("restored",),
            why="the prefix was reused after a later load, and only an earlier one was reported "
            "as a restore",
            allowed="claim_restore_required and claim_restored after each load, before the reuse",
        ),
        moot(
            "load_failed",
            _failed,
            "failed",
            source=("owed",),
            why="the load failed; restoration_failure_outcome judges what follows",
        ),
        moot(
            "harm_reported_before_restore",
            e.mine & kind(Kind.CLAIM_HARMED),
            "harmed",
            source=("owed",),
            why="harm of the claim is reported, so it need not come back",
        ),
        moot(
            "harm_reported_after_loss",
            e.mine & kind(Kind.CLAIM_HARMED) & (was.lead < c.threshold),
            "excused",
            source=("idle", "failed", "restored", "given_up"),
            why="harm of the claim is reported while its predicate is false, so a request that "
            "asks for it may compute it",
        ),
        noted(
            "predicate_true_again",
            back,
            "idle",
            source=("failed", "excused"),
            why="the predicate is true again",
        ),
        noted(
            "predicate_true_again_by_computation",
            back & kind(Kind.BLOCK_CACHED),
            "idle",
            source=("harmed",),
            why="the predicate is true again by computation, not by a load from the tier",
        ),
        owed(
            "predicate_true_again_by_load",
            conj(ours, kind(Kind.LOAD_FINISHED), c.threshold <= now.lead, was.responsible),
            "owed",
            source=("harmed",),
            why="the harmed claim is back from the tier, and its restore must be reported before "
            "the reuse",
        ),
        noted(
            "restore_required_after_harm",
            needs & was.responsible,
            "harmed",
            source=("excused",),
            why="a request needs the claim restored; after the reported harm it may also compute "
            "it",
        ),
        moot(
            "refusal_reported",
            e.here & kind(Kind.REQUEST_REFUSED),
            "given_up",
            source=("owed",),
            why="the request was refused, so it reuses nothing",
        ),
        moot(
            "responsibility_ended",
            ~now.responsible,
            "idle",
            source=("owed",),
            why="responsibility ended before the reuse",
        ),
        moot(
            "request_ended_before_restore",
            finished,
            "given_up",
            source=("owed",),
            why="the request ended before the claim was back, and reused nothing",
        ),
        owed(
            "restore_required",
            needs & was.responsible,
            "owed",
            source=("idle", "failed", "restored", "given_up"),
            why="a request needs the claim restored from the tier",
        ),
    ),
)


STATED: Final = (
    Obligation(
        OFFLOAD_RESTORABILITY,
        row=9,
        places=(Place(Mode.OFFLOADABLE, printed=4, critical=True),),
        order=Order.RESTORE_BEFORE_REUSE,
        depths=frozenset({Depth.STORAGE_RESTORABILITY}),
        refusals=(Refusal(("owed",)),),
        invariants=(While("a restore owed has a request", ("owed",), req_was.seen),),
    ),
)
