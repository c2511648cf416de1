"""Reads the reference dialect: the papers' reference suite for offloaded claims.

Every line is a report of the runtime. Of a line that lists blocks the ids are the fact, and its
counts are the report; where it moves blocks, the tiers that it names say what was copied and what
is gone. A request arrives with the first line that names it. What a line leaves out is in doubt
(docs/decisions/0004).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from monitor.input.dialects._json import kind_in, predicate_in, struct
from monitor.input.dialects._recorded import (
    ENDS,
    READ_FROM_REPORTS,
    Head,
    acceptance,
    answer,
    rebinds,
    unstated,
)
from monitor.input.dialects._reference_line import Line, Now, Run
from monitor.input.records import Doubt, Form, Record, Stamp, at_line
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event

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


class ReferenceDialect:
    """Reads the lines of the reference lifecycle of one file."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._runs: dict[str, Run] = {}

    def feed(self, obj: dict[str, object], line: int) -> tuple[Record, ...]:
        """One record; without events where the kind is unknown.

        Raises:
            InputError: a field of the event has no sensible value.
        """
        name = kind_in(obj, "event", self._file, line)
        meaning = _EVENTS.get(name)
        data = struct(obj, Head if meaning is None else Line, self._file, line)
        at = at_line(self._file, line, data.event_sequence)
        stream = data.stream(self._file)
        # Its time is a wall clock's, which may be set back: the numbers alone are the order.
        stamp = Stamp(stream, data.event_sequence, None, FORM, observes=OBSERVES)
        if meaning is None or not isinstance(data, Line):
            return (Record(at, stamp, unknown=name),)
        predicate = None
        if (text := data.materialization_predicate) is not None:
            predicate = predicate_in(text, "materialization_predicate", self._file, line)
        run = self._runs.setdefault(stream, Run())
        now = Now(name, data, run, predicate, self._file, line)
        now.check(*_NEEDS.get(name, ("claim_id",)))
        arrival, events = _arrival(now), meaning(now)
        if data.claim_id is not None:
            named = any(event.claim_id is not None for event in (*arrival, *events))
            if rebinds(now.claim.identity, data.identity(predicate)) and not named:
                events = (now.say(Kind.PREFIX_LOOKUP, request_id=data.request_id), *events)
        events = (*arrival, *events)
        return (Record(at, stamp, tuple((e, at) for e in events), doubts=tuple(now.doubts)),)

    def flush(self, stream: str | None = None) -> tuple[Record, ...]:
        """Nothing: no event is held back."""
        return ()


_Events = tuple[Event, ...]
_GPU: Final = "gpu_kv_cache"
_OFFLOAD_TIER: Final = "offload_tier"
_NO_OUTCOME: Final = "unstated"
_NOT_REPORTED: Final = "claim_scoped_telemetry"
_OUTCOME: Final = "restoration_failure_outcome"
_ON_CONFLICT: Final = frozenset({"blocking_claim_ids", "explicit_conflict_action"})
_HOLDS: Final = "claim_materialized_event"
_PREDICATE: Final = ("materialization_predicate", _HOLDS)
_MODES: Final = {"offloadable_reference": Mode.OFFLOADABLE}
_NEEDS: Final = {
    "resident_claim_restore_required": ("claim_id", "request_id"),
    "resident_claim_restored": ("claim_id", "request_id"),
    "resident_claim_reuse_after_restore": ("claim_id", "request_id"),
    "resident_claim_restoration_failed": ("claim_id", "request_id"),
    "active_request_refused": ("request_id",),
}


def _arrival(now: Now) -> _Events:
    """The arrival of the request that the line names first.

    The request that a claim was accepted by is not one that reuses it, unless it turns out to be. A
    request that ended and needs a restore is another one of the same name.
    """
    name, run = now.line.request_id, now.run
    if name is None or now.event == "resident_claim_accepted":
        return ()
    if (known := run.requests.get(name)) is not None:
        if not known.ended or now.event != "resident_claim_restore_required":
            return ()
    elif name in run.residents and now.event not in _NEEDS:
        return ()
    run.begin(name)
    return (Event(kind=Kind.REQUEST_ARRIVED, request_id=name),)


def _end(now: Now) -> _Events:
    """The end of the request, once."""
    if now.request.ended:
        return ()
    now.request.ended = True
    return (Event(kind=Kind.REQUEST_FINISHED, request_id=now.line.request_id),)


def _accepted(now: Now) -> _Events:
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
        line.binding,
        footprint=line.resident_blocks_required,
        mode=_MODES.get(line.protection_mode or "", line.protection_mode),
        priority=priority,
    )


def _materialized(now: Now) -> _Events:
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


def _offloaded(now: Now) -> _Events:
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


def _required(now: Now) -> _Events:
    return (now.ask(Kind.CLAIM_RESTORE_REQUIRED),)


def _restored(now: Now) -> _Events:
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


def _reused(now: Now) -> _Events:
    if now.line.predicate_satisfied is False:
        now.doubt("the reuse is reported without what the predicate needs")
    return (now.ask(Kind.PREFIX_REUSED), *_end(now))


def _restoration_failed(now: Now) -> _Events:
    line = now.line
    outcomes = {line.claim_scoped_outcome_type, line.outcome_type} - {None}
    if len(outcomes) > 1:
        now.doubt("two outcomes of the failure are reported", _OUTCOME)
    outcome = line.claim_scoped_outcome_type or line.outcome_type
    if line.claim_scoped_outcome is False or outcome is None:
        outcome = _NO_OUTCOME
    failed = now.ask(Kind.LOAD_FAILED)
    now.request.failed.add(line.claim_id or "")
    outcome_event = now.ask(
        Kind.CLAIM_RESTORATION_FAILED,
        outcome=outcome,
        outcome_claim_id=line.outcome_claim_id,
        blocking_claim_ids=line.blocking_claim_ids,
    )
    return (failed, outcome_event, *answer(outcome_event, now.claim.ended, line.binding))


def _refused(now: Now) -> _Events:
    """A refusal: after a failed restore it answers for that, else it is for lack of capacity.

    Whom one for lack of capacity names cannot be judged, so it names no claim.
    """
    line = now.line
    failed = bool(now.request.failed)
    if not failed and line.restoration_failure_event_sequence is not None:
        now.doubt("the request is refused for a restore, and no line states that it failed")
    elif not failed:
        why = (
            "a request was refused without a failed restore, and the blocks that it needs are "
            "not stated"
        )
        now.doubts.append(Doubt(why, only=_ON_CONFLICT))
    refused = Event(
        kind=Kind.REQUEST_REFUSED,
        request_id=line.request_id,
        blocking_claim_ids=line.blocking_claim_ids if failed else None,
        outcome_claim_id=line.outcome_claim_id,
        restore=failed,
    )
    return (refused, *_end(now))


def _ended(now: Now) -> _Events:
    return now.claim.ended.report(ENDS[now.event], now.line.request_id, now.line.binding)


def _harmed(now: Now) -> _Events:
    return now.claim.ended.report(Kind.CLAIM_HARMED, now.line.request_id, now.line.binding)


_EVENTS: Final[dict[str, Callable[[Now], _Events]]] = {
    "resident_claim_accepted": _accepted,
    "resident_claim_materialized": _materialized,
    "resident_claim_offloaded": _offloaded,
    "resident_claim_restore_required": _required,
    "resident_claim_restored": _restored,
    "resident_claim_reuse_after_restore": _reused,
    "resident_claim_restoration_failed": _restoration_failed,
    "active_request_refused": _refused,
    "resident_claim_demoted": _ended,
    "resident_claim_expired": _ended,
    "resident_claim_harmed": _harmed,
}


DIALECT: Final = ReferenceDialect
