"""The connector dialect: what a patched offloading connector and scheduler record of claims.

Nothing here is called accepted, materialized or reused: a claim is accepted by the metadata of the
first request that is resident under it, and reused at the end of a request whose look-up found it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from monitor.dialects._connector_line import Line, Now
from monitor.dialects._connector_state import Claim, Request, Run, block_size_of
from monitor.dialects._json import kind_in, predicate_in, struct
from monitor.dialects._recorded import ENDS, Head, acceptance, ends, materialized
from monitor.records import At, Record, Stamp
from spec.alphabet import Kind
from spec.events import Event

__all__ = ["ConnectorDialect"]


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
        at = At(self._file, line, data.event_sequence)
        time_ns = data.timestamp_ns if data.monotonic_ns is None else data.monotonic_ns
        stream = data.stream(self._file)
        stamp = Stamp(stream, data.event_sequence, time_ns, skips=True)
        if meaning is None or not isinstance(data, Line):
            return (Record(at, stamp, unknown=name),)
        predicate = None
        if (text := data.materialization_predicate) is not None:
            predicate = predicate_in(text, "materialization_predicate", self._file, line)
        run = self._runs.setdefault(stream, Run())
        now = Now(name, data, run, predicate, self._file, line)
        events = meaning(now)
        if data.claim_id is not None:
            told = any(event.claim_id is not None for event in events)
            if now.claim.rebinds(now.identity) and not told:
                events = (*events, Event(kind=Kind.PREFIX_LOOKUP, **now.binding))
        return (Record(at, stamp, tuple((event, at) for event in events)),)

    def flush(self) -> tuple[Record, ...]:
        """Nothing: no event is held back."""
        return ()


_Events = tuple[Event, ...]
_STORE, _LOAD = ("GPU", "CPU"), ("CPU", "GPU")


def _initialized(now: Now) -> _Events:
    line, run = now.line, now.run
    request = run.begin(now.need("request_id"))
    request.role = line.resident_claim_role
    request.block_size = block_size_of(line.num_prompt_tokens, line.num_block_hashes)
    run.prompt_block = run.prompt_block or request.block_size
    if request.block_size and line.num_prompt_tokens:
        request.visible = (line.num_prompt_tokens - 1) // request.block_size
    arrived = now.say(Kind.REQUEST_ARRIVED)
    if line.claim_id is None or line.resident_claim_role != "resident" or now.claim.accepted:
        return (arrived,)
    now.claim.accepted = True
    return (*acceptance(now.binding), arrived)


def _looked_up(now: Now) -> _Events:
    now.need("request_id")
    line, request = now.line, now.request
    if line.claim_id is None or (line.resident_claim_role or request.role) == "resident":
        return ()
    claim, size = now.claim, now.run.block_size(request)
    hits, held = line.num_hit_tokens, None
    request.useful = bool(hits or line.num_computed_tokens)
    request.found = 0
    if size is not None and hits is not None:
        request.found = (line.num_computed_tokens or 0) // size
        held = max(0, ((line.num_computed_tokens or 0) + hits) // size - claim.start)
        request.useful = held >= claim.threshold
    seen: list[Event] = []
    if claim.stored and held is not None and held < _owed(claim, request):
        claim.stored = False
        seen.append(Event(kind=Kind.HOST_COPY_LOST, **now.binding))
    if held is not None:
        seen += _seen_on_gpu(now)
    return (*seen, now.say(Kind.PREFIX_LOOKUP, held=held))


def _seen_on_gpu(now: Now) -> _Events:
    """What a look-up finds on the GPU is what is there, whatever was seen before."""
    found, before = now.request.found, now.claim.on_gpu
    now.claim.on_gpu = found
    lost = (Event(kind=Kind.BLOCK_LOST, **now.binding),) if found < before else ()
    if found in (0, before):
        return lost
    return (
        *lost,
        Event(kind=Kind.BLOCK_CACHED, positions=tuple(range(min(found, 1 << 20))), **now.binding),
    )


def _owed(claim: Claim, request: Request) -> int:
    """Blocks that a look-up finds of a claim that is there: no more than the prompt can ask for."""
    if request.visible is None:
        return claim.threshold
    return min(claim.threshold, max(0, request.visible - claim.start))


def _transferred(now: Now) -> _Events:
    line, run = now.line, now.run
    blocks, tokens = line.dst_block_count, line.num_external_tokens
    if blocks and tokens and tokens % blocks == 0:
        run.load_block = tokens // blocks
    if line.claim_id is None or line.transfer_type not in (_STORE, _LOAD):
        return ()
    success = now.need("success")
    if line.transfer_type == _LOAD:
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
    now.restore.failed = False
    held = None if blocks is None else max(0, now.request.found + blocks - now.claim.start)
    now.claim.on_gpu = now.claim.start + (now.claim.threshold if held is None else held)
    return (now.say(Kind.LOAD_FINISHED, held=held),)


def _load_failed(now: Now) -> _Events:
    if now.line.claim_id is None:
        return ()
    restore = now.restore
    if not restore.fail(now.line.job_id, now.line.restoration_generation):
        return ()
    restore.failed = True
    return (now.say(Kind.LOAD_FAILED),)


def _required(now: Now) -> _Events:
    now.need("claim_id")
    now.restore.begin(now.line.restoration_generation)
    return (now.say(Kind.CLAIM_RESTORE_REQUIRED),)


def _restored(now: Now) -> _Events:
    now.need("claim_id")
    tier = now.line.restored_from_offload_tier is True
    tier = tier and now.line.restoration_source in (None, "offload_tier")
    return (now.say(Kind.CLAIM_RESTORED, from_tier=tier),)


def _echoes(now: Now) -> bool:
    """Whether this repeats the scheduler; what the scheduler itself says is remembered."""
    generation = now.line.restoration_generation
    if now.event.startswith("scheduler_"):
        now.restore.answer(generation)
        return False
    return now.restore.is_echo(generation)


def _restoration_failed(now: Now) -> _Events:
    now.need("claim_id")
    line = now.line
    failed = now.say(
        Kind.CLAIM_RESTORATION_FAILED,
        outcome=line.claim_scoped_outcome_type or line.outcome_type,
        outcome_claim_id=line.outcome_claim_id,
        blocking_claim_ids=line.blocking_claim_ids,
        echo=_echoes(now),
    )
    return (failed,)


def _refused(now: Now) -> _Events:
    line, request = now.line, now.need("request_id")
    restore = (
        line.feasibility == "infeasible_restore_claimed_kv"
        or now.event.startswith("scheduler_")
        or line.restoration_generation is not None
        or line.job_id is not None
        or bool(line.failure_reason)
    )
    echo = _echoes(now)
    now.restore.refused = now.restore.refused or not echo
    refused = Event(
        kind=Kind.REQUEST_REFUSED,
        request_id=request,
        blocking_claim_ids=line.blocking_claim_ids,
        outcome_claim_id=line.outcome_claim_id,
        restore=restore,
        echo=echo,
    )
    return (refused,)


def _finished(now: Now) -> _Events:
    now.need("request_id")
    line, request = now.line, now.request
    if request.finished:
        return ()
    request.finished = True
    finished = now.say(Kind.REQUEST_FINISHED)
    role = line.resident_claim_role or request.role
    if line.claim_id is None or role != "reuse" or not request.useful:
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
    if claim.accepted and not claim.restated and not claim.retired:
        claim.restated = True
        return ()
    claim.accepted = claim.restated = True
    return acceptance(
        now.binding,
        footprint=line.resident_blocks_required,
        mode=line.protection_mode,
        priority=line.rank(now.file, now.number),
    )


def _materialized(now: Now) -> _Events:
    now.need("claim_id")
    return (materialized(now.line, now.binding),)


def _ended(now: Now) -> _Events:
    now.need("claim_id")
    events = ends(ENDS[now.event], now.binding, retired=now.claim.retired)
    now.claim.retired = True
    return events


def _harmed(now: Now) -> _Events:
    now.need("claim_id")
    return (now.say(Kind.CLAIM_HARMED),)


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
