"""Reads the reference dialect: the papers' reference suite for offloaded claims.

Every line is a report of the runtime. Of a line that lists blocks the ids are the fact, and its
counts are the report; where it moves blocks, the tiers that it names say what was copied and what
is gone. A request arrives with the first line that names it. What a line leaves out is in doubt
(docs/decisions/0004).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from monitor.input.dialects import _recorded
from monitor.input.dialects._recorded import (
    ENDINGS,
    NO_NEED,
    READ_FROM_REPORTS,
    Events,
    Meaning,
    RecordedDialect,
    acceptance,
    refusal,
    restoration_failed,
    says,
    unstated,
)
from monitor.input.dialects._recorded_line import Bound, Count, Head, Order
from monitor.input.records import Form
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event, Name

__all__ = ["DERIVED", "DIALECT", "FORM", "OBSERVES", "ReferenceDialect", "recognises"]

DERIVED: Final = READ_FROM_REPORTS | {
    Kind.BLOCK_CACHED,
    Kind.BLOCK_EVICTED,
    Kind.STORE_FINISHED,
    Kind.LOAD_FINISHED,
    Kind.LOAD_FAILED,
    Kind.REQUEST_ARRIVED,
    Kind.PREFIX_REUSED,
    Kind.REQUEST_FINISHED,
}
"""The kinds of facts that no line states by itself: all of them stand in reports."""

OBSERVES: Final = DERIVED
"""The kinds of facts of which each one is here, those taken on trust included."""

FORM: Final = Form("reference_lifecycle", first=(0, 1), derived=DERIVED, usual=Mode.OFFLOADABLE)


def recognises(obj: dict[str, object]) -> bool:
    """Whether a recorded line is of the reference lifecycle.

    Its lines are numbered, as the connector's are, and have no monotonic clock; they name the
    policy or the generation of the lifecycle, which the connector does not.
    """
    numbered = "event" in obj and "event_sequence" in obj and "monotonic_ns" not in obj
    return numbered and ("lifecycle_generation" in obj or "policy" in obj)


class Line(Bound, frozen=True):
    """The fields of a line."""

    block_ids: tuple[Count, ...] | None = None
    leading_blocks_survived: Count | None = None
    lifecycle_generation: Order | None = None
    source_tier: Name | None = None
    destination_tier: Name | None = None
    cache_tier_from: Name | None = None
    cache_tier_to: Name | None = None
    restoration_completed: bool | None = None
    predicate_satisfied: bool | None = None
    claim_scoped_outcome: bool | None = None
    restoration_failure_event_sequence: Order | None = None
    feasibility: str | None = None


@dataclass(slots=True)
class Claim(_recorded.Claim):
    """One claim of a run; `tier` is where it was offloaded to last."""

    tier: str | None = None


@dataclass(slots=True)
class Request(_recorded.Request):
    """One request, and the claims whose restore failed for it."""

    failed: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Run(_recorded.Run[Claim, Request]):
    """One stream, and the requests that claims were accepted by."""

    new_claim, new_request = Claim, Request
    residents: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Now(_recorded.Now[Line, Claim, Request]):
    """A line in its run."""

    run: Run

    def blocks(self) -> dict[str, Any] | None:
        """The blocks of the line at their positions, from 0 on; None where it does not say."""
        ids, predicate = self.line.block_ids, self.claim.predicate
        if not ids:
            self.doubt(f"{self.event} does not say which blocks")
            return None
        if predicate is not None and predicate.start:
            self.doubt(f"{self.event} does not say at which positions its blocks are")
            return None
        return {"block_ids": ids, "positions": tuple(range(len(ids)))}


_GPU: Final = "gpu_kv_cache"
_OFFLOAD_TIER: Final = "offload_tier"
_NO_OUTCOME: Final = "unstated"
_NOT_REPORTED: Final = "claim_scoped_telemetry"
_OUTCOME: Final = "restoration_failure_outcome"
_HOLDS: Final = "claim_materialized_event"
_PREDICATE: Final = ("materialization_predicate", _HOLDS)
_BOTH: Final = ("claim_id", "request_id")
_MODES: Final = {"offloadable_reference": Mode.OFFLOADABLE}
_RESTORES: Final = frozenset(
    {
        "resident_claim_restore_required",
        "resident_claim_restored",
        "resident_claim_reuse_after_restore",
        "resident_claim_restoration_failed",
        "active_request_refused",
    }
)
"""Events of a request that needs, or reuses, what a claim holds."""


def _arrival(now: Now) -> Events:
    """The arrival of the request that the line names first.

    The request that a claim was accepted by is not one that reuses it, unless it turns out to be. A
    request that ended and needs a restore is another one of the same name.
    """
    name, run = now.line.request_id, now.run
    if name is None or now.event == "resident_claim_accepted":
        return ()
    if (known := run.requests.get(name)) is not None:
        if not known.finished or now.event != "resident_claim_restore_required":
            return ()
    elif name in run.residents and now.event not in _RESTORES:
        return ()
    run.begin(name)
    return (Event(kind=Kind.REQUEST_ARRIVED, request_id=name),)


def _end(now: Now) -> Events:
    """The end of the request, once."""
    if now.request.finished:
        return ()
    now.request.finished = True
    return (Event(kind=Kind.REQUEST_FINISHED, request_id=now.line.request_id),)


def _accepted(now: Now) -> Events:
    line, claim = now.line, now.need("claim_id")
    priority = line.rank(now.file, now.number)
    if line.request_id is not None:
        now.run.residents.add(line.request_id)
    doubts = unstated(
        claim,
        cache_identity=line.cache_identity,
        reusable_object_id=line.reusable_object_id,
        materialization_predicate=line.materialization_predicate,
        resident_blocks_required=line.resident_blocks_required,
    )
    now.doubts.extend(doubts)
    now.doubt("the reference lifecycle does not report which blocks a claim loses", _NOT_REPORTED)
    return acceptance(
        now.binding,
        footprint=line.resident_blocks_required,
        mode=_MODES.get(line.protection_mode or "", line.protection_mode),
        priority=priority,
    )


def _materialized(now: Now) -> Events:
    """Blocks are there, whatever the line counts; what it counts is what it says of them."""
    line, predicate, blocks = now.line, now.claim.predicate, now.blocks()
    if blocks is None:
        return ()
    holds = line.predicate_materialized
    counts = [line.leading_blocks_survived, line.resident_blocks_materialized]
    counted = min((count for count in counts if count is not None), default=None)
    if counted is not None and predicate is not None:
        enough = counted >= predicate.threshold
        if holds not in (None, enough):
            now.doubt(f"the report contradicts its own count of {counted} blocks", *_PREDICATE)
        holds = enough if holds is None else holds
    report = Kind.CLAIM_UNMATERIALIZED if holds is False else Kind.CLAIM_MATERIALIZED
    return (now.say(Kind.BLOCK_CACHED, request_id=line.request_id, **blocks), now.say(report))


def _offloaded(now: Now) -> Events:
    """Blocks were copied from the GPU to another tier, and are gone from the GPU."""
    line, claim, blocks = now.line, now.claim, now.blocks()
    sources = {line.source_tier, line.cache_tier_from} - {None}
    targets = {line.destination_tier, line.cache_tier_to} - {None}
    claim.tier = min(filter(None, targets), default=None)
    if sources != {_GPU} or len(targets) != 1 or targets == {_GPU}:
        now.doubt("the offload does not say that it led from the GPU to one other tier")
        return ()
    if blocks is None:
        return ()
    return (
        now.say(Kind.STORE_FINISHED),
        now.say(Kind.BLOCK_EVICTED, block_ids=blocks["block_ids"]),
        now.say(Kind.CLAIM_OFFLOADED),
    )


def _restored(now: Now) -> Events:
    """Blocks are back: by a load if the offload tier is where they came from, else computed."""
    line, tier, blocks = now.line, now.claim.tier, now.blocks()
    stated = [line.restored_from_offload_tier]
    if line.restoration_source is not None:
        stated.append(line.restoration_source == _OFFLOAD_TIER)
    sources = {line.source_tier, line.cache_tier_from} - {None}
    unstated = stated == [None] and not (sources and tier)
    if unstated or line.restoration_completed is False:
        now.doubt("the restore does not say whether it was completed, and from where")
        return ()
    now.request.failed.discard(line.claim_id or "")
    now.doubt("the reference lifecycle does not report that a restored claim materializes", _HOLDS)
    if blocks is None:
        return ()
    loaded = False not in stated and (tier is None or sources <= {tier})
    there = now.ask(Kind.LOAD_FINISHED if loaded else Kind.BLOCK_CACHED, **blocks)
    return (there, now.ask(Kind.CLAIM_RESTORED, from_tier=loaded))


def _reused(now: Now) -> Events:
    if now.line.predicate_satisfied is False:
        now.doubt("the reuse is reported without what the predicate needs")
    return (now.ask(Kind.PREFIX_REUSED), *_end(now))


def _restoration_failed(now: Now) -> Events:
    line = now.line
    outcomes = {line.claim_scoped_outcome_type, line.outcome_type} - {None}
    if len(outcomes) > 1:
        now.doubt("two outcomes of the failure are reported", _OUTCOME)
    outcome = line.claim_scoped_outcome_type or line.outcome_type
    if line.claim_scoped_outcome is False or outcome is None:
        outcome = _NO_OUTCOME
    failed = now.ask(Kind.LOAD_FAILED)
    now.request.failed.add(line.claim_id or "")
    return (failed, *restoration_failed(now, outcome))


def _refused(now: Now) -> Events:
    failed = bool(now.request.failed)
    if not failed and now.line.restoration_failure_event_sequence is not None:
        now.doubt("the request is refused for a restore, and no line states that it failed")
    elif not failed:
        now.doubts.append(NO_NEED)
    return (refusal(now, failed=failed), *_end(now))


class ReferenceDialect(RecordedDialect):
    """Reads the lines of the reference lifecycle of one file."""

    form, observes, line, now, run = FORM, OBSERVES, Line, Now, Run
    events: ClassVar = {
        "resident_claim_accepted": Meaning(_accepted),
        "resident_claim_materialized": Meaning(_materialized),
        "resident_claim_offloaded": Meaning(_offloaded),
        "resident_claim_restore_required": Meaning(says(Kind.CLAIM_RESTORE_REQUIRED), _BOTH),
        "resident_claim_restored": Meaning(_restored, _BOTH),
        "resident_claim_reuse_after_restore": Meaning(_reused, _BOTH),
        "resident_claim_restoration_failed": Meaning(_restoration_failed, _BOTH),
        "active_request_refused": Meaning(_refused, ("request_id",)),
        **ENDINGS,
    }

    def order(self, line: Head) -> tuple[int | None, int | None]:
        """Its number alone: its time is a wall clock's, which may be set back."""
        return line.event_sequence, None

    def meant(self, now: Now, of: Callable[[Now], Events]) -> Events:
        """The arrival of the request that the line names first, and the events of the line."""
        ids = now.line.block_ids or ()
        if len(set(ids)) != len(ids):
            now.refuse("block_ids", "a number occurs twice", "list each once")
        return (*_arrival(now), *super().meant(now, of))

    def look_up(self, now: Now, events: Events) -> Events:
        """A look-up of the claim, and the events of the line."""
        return (now.ask(Kind.PREFIX_LOOKUP), *events)


DIALECT: Final = ReferenceDialect
