"""Reads the connector dialect: events of a patched offloading connector and scheduler.

Nothing here is called accepted, materialized or reused: a claim is accepted by the metadata of the
first request that is resident under it, and reused at the end of a request whose look-up found it.
What the dialect leaves out, always or on a line, is in doubt (docs/decisions/0004).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from monitor.input.dialects._connector_line import Line, Now
from monitor.input.dialects._connector_state import Run, block_size_of
from monitor.input.dialects._json import kind_in, predicate_in, struct
from monitor.input.dialects._recorded import (
    ENDS,
    READ_FROM_REPORTS,
    Head,
    acceptance,
    answer,
    materialized,
    rebinds,
    unstated,
)
from monitor.input.records import Doubt, Form, Record, Stamp, at_line
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event

__all__ = ["DERIVED", "DIALECT", "FORM", "OBSERVES", "ConnectorDialect", "recognises"]

DERIVED: Final = READ_FROM_REPORTS | {Kind.PREFIX_REUSED}
"""The kinds of facts that no line states: they are read from metadata, reports and ends."""

OBSERVES: Final = DERIVED | {
    Kind.STORE_FINISHED,
    Kind.LOAD_FINISHED,
    Kind.LOAD_FAILED,
    Kind.REQUEST_ARRIVED,
    Kind.PREFIX_LOOKUP,
    Kind.REQUEST_FINISHED,
}
"""The kinds of facts of which each one is here, those taken on trust included. Blocks on the GPU
and copies in the tier show only where a look-up finds them, or misses them."""

FORM: Final = Form("connector", skips=True, derived=DERIVED, usual=Mode.OFFLOADABLE)


def recognises(obj: dict[str, object]) -> bool:
    """Whether a recorded line that no dialect before this one knows is of the connector."""
    return "event" in obj and ("event_sequence" in obj or "monotonic_ns" in obj)


class ConnectorDialect:
    """Reads the connector's events of one file.

    A line that carries nothing else and names a claim under another identity than before becomes a
    look-up of that name, so that no contradiction is lost.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._runs: dict[str, Run] = {}

    def feed(self, obj: dict[str, object], line: int) -> tuple[Record, ...]:
        """One record; without events where the kind is unknown or carries nothing.

        Raises:
            InputError: a field of the event has no sensible value.
        """
        name = kind_in(obj, "event", self._file, line)
        meaning = _EVENTS.get(name)
        data = struct(obj, Head if meaning is None else Line, self._file, line)
        at = at_line(self._file, line, data.event_sequence)
        time_ns = data.timestamp_ns if data.monotonic_ns is None else data.monotonic_ns
        stream = data.stream(self._file)
        stamp = Stamp(stream, data.event_sequence, time_ns, FORM, observes=OBSERVES)
        if meaning is None or not isinstance(data, Line):
            return (Record(at, stamp, unknown=name),)
        predicate = None
        if (text := data.materialization_predicate) is not None:
            predicate = predicate_in(text, "materialization_predicate", self._file, line)
        run = self._runs.setdefault(stream, Run())
        now = Now(name, data, run, predicate, self._file, line)
        if data.resident_claim is True:
            now.need("claim_id")
        events = meaning(now)
        if data.claim_id is not None:
            named = any(event.claim_id is not None for event in events)
            if rebinds(now.claim.identity, data.identity(predicate)) and not named:
                events = (*events, Event(kind=Kind.PREFIX_LOOKUP, **now.line.binding))
        _join(now)
        return (Record(at, stamp, tuple((e, at) for e in events), doubts=tuple(now.doubts)),)

    def flush(self, stream: str | None = None) -> tuple[Record, ...]:
        """Nothing: no event is held back."""
        return ()


_Events = tuple[Event, ...]
_STORE, _LOAD = ("GPU", "CPU"), ("CPU", "GPU")
_NOT_REPORTED = frozenset({"claim_materialized_event", "claim_scoped_telemetry"})
_ON_CONFLICT = frozenset({"blocking_claim_ids", "explicit_conflict_action"})


def _join(now: Now) -> None:
    """A line that names no claim leaves in doubt those that other lines of its request named."""
    line = now.line
    if line.claim_id is not None and line.request_id is not None:
        now.request.claims.add(line.claim_id)
    elif line.claim_id is None and line.request_id in now.run.requests:
        why = f"{now.event} of its request does not name it"
        now.doubts.extend(Doubt(why, claim) for claim in sorted(now.request.claims))


def _acceptance(now: Now, **stated: Any) -> _Events:
    line, claim = now.line, now.need("claim_id")
    now.claim.accepted = True
    doubts = unstated(
        claim,
        cache_identity=line.cache_identity,
        reusable_object_id=line.reusable_object_id,
        materialization_predicate=line.materialization_predicate,
    )
    why = "the connector dialect does not report when a claim materializes or loses blocks"
    now.doubts.extend((*doubts, Doubt(why, claim, _NOT_REPORTED)))
    return acceptance(now.line.binding, **stated)


def _initialized(now: Now) -> _Events:
    line, run = now.line, now.run
    request = run.begin(now.need("request_id"))
    request.role = line.resident_claim_role
    request.block_size = block_size_of(line.num_prompt_tokens, line.num_block_hashes)
    run.prompt_block = run.prompt_block or request.block_size
    if request.block_size and line.num_prompt_tokens:
        request.visible = (line.num_prompt_tokens - 1) // request.block_size
    arrived = now.say(Kind.REQUEST_ARRIVED)
    if now.role != "resident" or line.claim_id is None or now.claim.accepted:
        return (arrived,)
    return (*_acceptance(now), arrived)


def _looked_up(now: Now) -> _Events:
    now.need("request_id")
    line, request = now.line, now.request
    if now.role == "resident" or line.claim_id is None:
        return ()
    hits, on_gpu, size = line.num_hit_tokens, line.num_computed_tokens, now.run.block_size(request)
    request.useful, request.found = bool(hits or on_gpu), 0
    if hits is None or on_gpu is None:
        now.doubt("the look-up does not state how many tokens it found")
        return (now.say(Kind.PREFIX_LOOKUP),)
    if size is None and request.useful:
        now.doubt("no block size is shown, so the tokens found cannot be counted in blocks")
        return (now.say(Kind.PREFIX_LOOKUP),)
    size, claim = size or 1, now.claim
    request.found, leading = on_gpu // size, (on_gpu + hits) // size
    request.useful = leading >= claim.end
    seen: list[Event] = []
    if claim.stored and _gone(now, leading, claim.end):
        claim.stored = False
        seen.append(Event(kind=Kind.HOST_COPY_LOST, **now.line.binding))
    elif hits and request.useful and not claim.stored:
        claim.stored = True
        seen.append(Event(kind=Kind.HOST_COPY_FOUND, **now.line.binding))
    seen += _seen_on_gpu(now)
    held = max(0, leading - claim.start)
    return (*seen, now.say(Kind.PREFIX_LOOKUP, held=held, asked=request.visible))


def _seen_on_gpu(now: Now) -> _Events:
    """What a look-up finds on the GPU is there; what it could have found there and did not, is not.

    Blocks behind those that the predicate asks for are no loss of the claim's.
    """
    claim, found, before = now.claim, now.request.found, now.claim.on_gpu
    gone = _gone(now, found, min(before, claim.end))
    if not gone and found <= before:
        return ()
    claim.on_gpu = found
    lost = (Event(kind=Kind.BLOCK_LOST, **now.line.binding),) if gone else ()
    if not found:
        return lost
    positions = tuple(range(min(found, 1 << 20)))
    return (*lost, now.say(Kind.BLOCK_CACHED, positions=positions, found=True))


def _gone(now: Now, found: int, there: int) -> bool:
    """Whether fewer leading blocks are found than were there and the prompt could ask for."""
    visible = now.request.visible
    if found >= there:
        return False
    if visible is None:
        now.doubt("the prompt does not show how many blocks its look-up could find")
        return False
    return found < min(there, visible) and now.claim.start < min(there, visible)


def _transferred(now: Now) -> _Events:
    line, run = now.line, now.run
    blocks, tokens = line.dst_block_count, line.num_external_tokens
    if blocks and tokens and tokens % blocks == 0:
        run.load_block = tokens // blocks
    if line.claim_id is None or now.need("transfer_type") not in (_STORE, _LOAD):
        return ()
    success = now.need("success")
    if line.transfer_type == _LOAD:
        now.need("request_id")
        return _loaded(now) if success else _load_failed(now)
    if not success:
        return ()
    now.claim.stored = True
    return (now.say(Kind.STORE_FINISHED),)


def _loaded(now: Now) -> _Events:
    """The blocks that came back, behind those that the look-up had found on the GPU."""
    blocks, size = now.line.dst_block_count, now.run.block_size(now.request)
    if blocks is None and size and now.line.num_external_tokens is not None:
        blocks = now.line.num_external_tokens // size
    if blocks is None:
        now.doubt("the load does not state how many blocks it brought back")
    now.restore.failed = False
    held = None if blocks is None else max(0, now.request.found + blocks - now.claim.start)
    now.claim.on_gpu = now.claim.start + (now.claim.threshold if held is None else held)
    return (now.say(Kind.LOAD_FINISHED, held=held),)


def _load_failed(now: Now) -> _Events:
    if now.line.claim_id is None:
        return ()
    now.need("request_id")
    restore = now.restore
    if not restore.fail(now.line.job_id, now.line.restoration_generation):
        return ()
    restore.failed = True
    return (now.say(Kind.LOAD_FAILED),)


def _required(now: Now) -> _Events:
    now.need("claim_id", "request_id")
    now.restore.begin(now.line.restoration_generation)
    return (now.say(Kind.CLAIM_RESTORE_REQUIRED),)


def _restored(now: Now) -> _Events:
    now.need("claim_id", "request_id")
    tier = now.line.restored_from_offload_tier is True
    tier = tier and now.line.restoration_source in (None, "offload_tier")
    return (now.say(Kind.CLAIM_RESTORED, from_tier=tier),)


def _repeats(now: Now) -> bool:
    """Whether this repeats the scheduler; what the scheduler itself says is remembered."""
    generation = now.line.restoration_generation
    if now.event.startswith("scheduler_"):
        now.restore.answer(generation)
        return False
    return now.restore.is_duplicate(generation)


def _restoration_failed(now: Now) -> _Events:
    now.need("claim_id", "request_id")
    line = now.line
    failed = now.say(
        Kind.CLAIM_RESTORATION_FAILED,
        outcome=line.claim_scoped_outcome_type or line.outcome_type,
        outcome_claim_id=line.outcome_claim_id,
        blocking_claim_ids=line.blocking_claim_ids,
        duplicate=_repeats(now),
    )
    return (failed, *answer(failed, now.claim.ended, now.line.binding))


def _refused(now: Now) -> _Events:
    """A refusal: after a failed restore it answers for that, else it is for lack of capacity.

    Whom one for lack of capacity names cannot be judged, so it names no claim.
    """
    line, request = now.line, now.need("request_id")
    failed, duplicate = now.request.failed, _repeats(now)
    now.restore.refused = now.restore.refused or not duplicate
    if not failed:
        why = (
            "a request was refused without a failed restore, and the blocks that it needs are "
            "not stated"
        )
        now.doubts.append(Doubt(why, only=_ON_CONFLICT))
    refused = Event(
        kind=Kind.REQUEST_REFUSED,
        request_id=request,
        blocking_claim_ids=line.blocking_claim_ids if failed else None,
        outcome_claim_id=line.outcome_claim_id,
        restore=failed,
        duplicate=duplicate,
    )
    return (refused,)


def _finished(now: Now) -> _Events:
    now.need("request_id")
    line, request = now.line, now.request
    if request.finished:
        return ()
    request.finished = True
    finished = now.say(Kind.REQUEST_FINISHED)
    if now.role != "reuse" or line.claim_id is None or not request.useful:
        return (finished,)
    if now.restore.failed or now.restore.refused:
        return (finished,)
    return (now.say(Kind.PREFIX_REUSED), finished)


def _offloaded(now: Now) -> _Events:
    now.need("claim_id")
    return (now.say(Kind.CLAIM_OFFLOADED),)


def _accepted(now: Now) -> _Events:
    """An acceptance in so many words; the first after one by metadata only says it again."""
    now.need("claim_id")
    line, claim = now.line, now.claim
    if claim.accepted and not claim.restated and not claim.ended.retired:
        claim.restated = True
        return ()
    claim.restated = True
    return _acceptance(
        now,
        footprint=line.resident_blocks_required,
        mode=line.protection_mode,
        priority=line.rank(now.file, now.number),
    )


def _materialized(now: Now) -> _Events:
    now.need("claim_id")
    return (materialized(now.line, now.line.binding),)


def _ended(now: Now) -> _Events:
    now.need("claim_id")
    return now.claim.ended.report(ENDS[now.event], now.line.request_id, now.line.binding)


def _harmed(now: Now) -> _Events:
    now.need("claim_id")
    return now.claim.ended.report(Kind.CLAIM_HARMED, now.line.request_id, now.line.binding)


def _nothing(now: Now) -> _Events:
    return ()


_EVENTS: Final[dict[str, Callable[[Now], _Events]]] = {
    "request_initialized": _initialized,
    "offload_lookup_result": _looked_up,
    "offload_worker_transfer_finished": _transferred,
    "offload_worker_load_failed": _load_failed,
    "offload_load_job_failed": _load_failed,
    "offload_request_finished_no_pending_jobs": _finished,
    "offload_request_finished_pending_jobs": _finished,
    "scheduler_resident_claim_restoration_failed": _restoration_failed,
    "resident_claim_restoration_failed": _restoration_failed,
    "scheduler_active_request_refused": _refused,
    "active_request_refused": _refused,
    "resident_claim_offloaded": _offloaded,
    "resident_claim_restore_required": _required,
    "resident_claim_restored": _restored,
    "resident_claim_accepted": _accepted,
    "resident_claim_materialized": _materialized,
    "resident_claim_demoted": _ended,
    "resident_claim_expired": _ended,
    "resident_claim_harmed": _harmed,
    "offload_store_job_created": _nothing,
    "offload_load_job_created": _nothing,
    "offload_worker_transfer_submitted": _nothing,
    "offload_job_completed": _nothing,
}


DIALECT: Final = ConnectorDialect
