"""What an offload tier must keep: restore before reuse."""

from __future__ import annotations

from typing import Final

from spec.claims.claim import Mode
from spec.contract.ledgers import kind, loss, now, req_was, was
from spec.contract.obligation import Obligation, Place, Refusal, While
from spec.contract.obligations._build import TABLE_1, VIOLATED, idle, pending, satisfied, violated
from spec.contract.supply import Depth, Order
from spec.contract.vocabulary import c, e
from spec.events.alphabet import Kind
from spec.language.machine import Guard, Observer, Rule
from spec.language.terms import conj

__all__ = ["OFFLOAD_RESTORABILITY", "STATED"]

_ours = e.mine & e.here
_finished = e.here & kind(Kind.REQUEST_FINISHED)
_failed = _ours & kind(Kind.LOAD_FAILED)
_reused = _ours & kind(Kind.PREFIX_REUSED)
_restored = _ours & kind(Kind.CLAIM_RESTORED)
_computed = _ours & kind(Kind.BLOCK_CACHED) & ~e.found
_needs = _ours & kind(Kind.CLAIM_RESTORE_REQUIRED)
_back = e.mine & kind(Kind.LOAD_FINISHED, Kind.BLOCK_CACHED) & (c.threshold <= now.lead)

OFFLOAD_RESTORABILITY = Observer(
    name="offload_restorability",
    code="R",
    reason="Bytes on another tier are a promise only if they come back, from that tier, before the "
    "request that needs them is served.",
    source=TABLE_1,
    per_request=True,
    states=(
        idle("no reuse needed a restore"),
        pending("owed", "a reuse needs the claim restored and it is not yet"),
        satisfied("restored", "the claim was restored from the tier before the reuse"),
        idle("the restore failed, so nothing was reused", name="failed"),
        idle("the claim was harmed, so its restore is not owed until it is back", name="harmed"),
        idle("the claim was harmed, and is not back", name="excused"),
        idle("the request ended, or was refused, before the claim was back", name="given_up"),
        violated("the claim was reused without a restore from the tier"),
    ),
    rules=(
        Rule(
            Guard.SAID,
            "not restored",
            e.mine & kind(Kind.CLAIM_RESTORED) & ~(e.from_tier & (c.threshold <= was.lead)),
            VIOLATED,
            why="the claim is said to be restored, and no load from the tier brought back what its "
            "predicate needs",
            allowed="claim_restored after a load from the offload tier finished",
        ),
        Rule(
            Guard.SAID,
            "out of place",
            _restored,
            VIOLATED,
            source=("idle", "failed", "excused"),
            why="the claim is said to be restored where no restore was outstanding",
            allowed="claim_restored between the need for it and the end of the reusing request",
        ),
        Rule(
            Guard.SAID,
            "not loaded",
            _restored & ~(req_was.loaded | was.unreported),
            VIOLATED,
            source=("owed", "harmed", "given_up"),
            why="the claim is said to be restored, and no load from the tier brought it back",
            allowed="claim_restored after a load from the offload tier finished",
        ),
        Rule(
            Guard.SAID,
            "not in the tier",
            e.mine & kind(Kind.CLAIM_OFFLOADED) & ~was.host,
            VIOLATED,
            why="the claim is said to be offloaded, and the tier has no copy of it",
            allowed="claim_offloaded after a store finished, while there is a copy",
        ),
        Rule(
            Guard.TOLD,
            "restored",
            _restored,
            "restored",
            why="a restore from the tier was reported before the request ended",
        ),
        Rule(
            Guard.TOLD,
            "restored for another",
            e.mine & kind(Kind.CLAIM_RESTORED),
            "restored",
            source=("owed", "harmed"),
            why="a restore from the tier was reported for another request that waited for it",
        ),
        Rule(
            Guard.BROKE,
            "left without a copy",
            e.mine & kind(Kind.BLOCK_EVICTED) & loss,
            VIOLATED,
            why="the claim was evicted and no copy is left from which it could be restored",
            allowed="a finished store before the eviction",
        ),
        Rule(
            Guard.BROKE,
            "used without",
            _reused & was.responsible & (req_was.away | (was.lead < c.threshold)),
            VIOLATED,
            why="the prefix was reused, and the blocks that it needs were not on the GPU, or only "
            "because the request itself had computed them",
            allowed="a restore before the reuse, or a claim-scoped outcome instead of it",
        ),
        Rule(
            Guard.BROKE,
            "recomputed",
            conj(_computed, was.responsible, was.host, req_was.away, req_was.asks),
            VIOLATED,
            source=("idle",),
            why="the request asked for the claim, a copy of it was there, and the request computed "
            "it instead",
            allowed="a restore from the tier, or a claim-scoped outcome before the computation",
        ),
        Rule(
            Guard.BROKE,
            "recomputed instead",
            conj(_computed, was.responsible, was.host, req_was.away),
            VIOLATED,
            source=("owed", "restored", "given_up"),
            why="the request needed the claim back from the tier, a copy of it was there, and the "
            "request computed it instead",
            allowed="a restore from the tier, or a claim-scoped outcome before the computation",
        ),
        Rule(
            Guard.BROKE,
            "used silently",
            _reused & was.responsible & (req_was.loaded | was.unreported),
            VIOLATED,
            source=("idle", "owed", "failed", "harmed", "excused", "given_up"),
            why="the prefix was reused after a load that was never reported as a restore",
            allowed="claim_restore_required and claim_restored before the reuse",
        ),
        Rule(
            Guard.BROKE,
            "used silently again",
            _reused & was.responsible & was.unreported,
            VIOLATED,
            source=("restored",),
            why="the prefix was reused after another load than the one that was reported",
            allowed="claim_restore_required and claim_restored after each load, before the reuse",
        ),
        Rule(
            Guard.MOOT,
            "load failed",
            _failed,
            "failed",
            source=("owed",),
            why="the load failed: restoration_failure_outcome takes over",
        ),
        Rule(
            Guard.MOOT,
            "harmed",
            e.mine & kind(Kind.CLAIM_HARMED),
            "harmed",
            source=("owed",),
            why="the claim was said to be harmed: it need not come back",
        ),
        Rule(
            Guard.MOOT,
            "excused",
            e.mine & kind(Kind.CLAIM_HARMED) & (was.lead < c.threshold),
            "excused",
            source=("idle", "failed", "restored", "given_up"),
            why="the claim, which is away, was said to be harmed: who asks for it may compute it",
        ),
        Rule(
            Guard.NOTED,
            "back",
            _back,
            "idle",
            source=("failed", "excused"),
            why="the claim is back",
        ),
        Rule(
            Guard.NOTED,
            "back by computation",
            _back & kind(Kind.BLOCK_CACHED),
            "idle",
            source=("harmed",),
            why="the claim is back, and not from the tier",
        ),
        Rule(
            Guard.OWED,
            "back from the tier",
            conj(_ours, kind(Kind.LOAD_FINISHED), c.threshold <= now.lead, was.responsible),
            "owed",
            source=("harmed",),
            why="the claim, which was harmed, is back from the tier, and that is to be reported "
            "before the reuse",
        ),
        Rule(
            Guard.NOTED,
            "needed after harm",
            _needs & was.responsible,
            "harmed",
            source=("excused",),
            why="a request needs the claim back from the tier, and may compute it all the same",
        ),
        Rule(
            Guard.MOOT,
            "refused",
            e.here & kind(Kind.REQUEST_REFUSED),
            "given_up",
            source=("owed",),
            why="the request was refused, so nothing is reused",
        ),
        Rule(
            Guard.MOOT,
            "ended",
            ~now.responsible,
            "idle",
            source=("owed",),
            why="responsibility ended before the reuse",
        ),
        Rule(
            Guard.MOOT,
            "given up",
            _finished,
            "given_up",
            source=("owed",),
            why="the request ended before the claim was back, and reused nothing",
        ),
        Rule(
            Guard.OWED,
            "needed",
            _needs & was.responsible,
            "owed",
            source=("idle", "failed", "restored", "given_up"),
            why="a reuse needs the claim back from the tier",
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
