"""Reads the connector dialect: events of a patched offloading connector and scheduler.

Nothing here is called accepted, materialized or reused: a claim is accepted by the metadata of the
first request that is resident under it, and reused at the end of a request whose look-up found it.
What the dialect leaves out, always or on a line, is in doubt (docs/decisions/0004).
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
    materialized,
    no_events,
    refusal,
    restoration_failed,
    says,
    unstated,
)
from monitor.input.dialects._recorded_line import Bound, Count, Head, Order
from monitor.input.records import Doubt, Form
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event, Name

__all__ = [
    "DERIVED",
    "DIALECT",
    "FORM",
    "OBSERVES",
    "ConnectorDialect",
    "Run",
    "block_size_of",
    "recognises",
]

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


class Line(Bound, frozen=True):
    """The fields of a line."""

    resident_claim: object = None
    resident_claim_role: str | None = None
    num_prompt_tokens: Count | None = None
    num_block_hashes: Count | None = None
    num_computed_tokens: Count | None = None
    num_hit_tokens: Count | None = None
    num_external_tokens: Count | None = None
    num_offloadable_tokens: Count | None = None
    src_block_count: Count | None = None
    dst_block_count: Count | None = None
    key_count: Count | None = None
    invalid_block_count: Count | None = None
    transfer_type: tuple[str, ...] | None = None
    transfer_size: Order | None = None
    success: bool | None = None
    job_id: Order | Name | None = None
    restoration_generation: Order | None = None


@dataclass(slots=True)
class Claim(_recorded.Claim):
    """One claim of a run.

    `accepted` says whether an acceptance was derived from the metadata and may still be restated;
    `stored` whether a copy is believed to be in the offload tier; `on_gpu` how many leading blocks
    the last look-up or load showed on the GPU.
    """

    accepted: bool = False
    restated: bool = False
    stored: bool = False
    on_gpu: int = 0

    @property
    def threshold(self) -> int:
        """Blocks that the predicate asks for; 1 where no predicate is stated."""
        return self.predicate.threshold if self.predicate else 1

    @property
    def start(self) -> int:
        """The first block that the predicate asks for."""
        return self.predicate.start if self.predicate else 0

    @property
    def end(self) -> int:
        """The block behind the last one that the predicate asks for."""
        return self.start + self.threshold


@dataclass(slots=True)
class Restore:
    """One request's attempts to get one claim back.

    `generation` is the attempt that is outstanding; `answered` are those of which the scheduler has
    reported the failure; `failures` are those already emitted as facts, by job and by generation.
    """

    generation: int | None = None
    answered: set[int | None] = field(default_factory=set)
    failures: set[tuple[str, int | str | None]] = field(default_factory=set)
    failed: bool = False
    refused: bool = False

    def begin(self, generation: int | None) -> None:
        """A restore is required, as attempt number `generation` or as the next one."""
        self.generation = (self.generation or 0) + 1 if generation is None else generation
        self.failed = self.refused = False

    def answer(self, generation: int | None) -> None:
        """The scheduler has reported the failure of the attempt that it means."""
        self.answered.add(self.generation if generation is None else generation)

    def is_duplicate(self, generation: int | None) -> bool:
        """A connector's report about this attempt repeats what the scheduler has reported."""
        if self.generation is None:
            return bool(self.answered)
        return (self.generation if generation is None else generation) in self.answered

    def fail(self, job: int | str | None, generation: int | None) -> bool:
        """Whether this failure of a load is emitted for the first time."""
        attempt = ("generation", self.generation if generation is None else generation)
        key = attempt if job is None else ("job", job)
        first = key not in self.failures
        self.failures |= {key, attempt}
        return first


@dataclass(slots=True)
class Request(_recorded.Request):
    """One request: the claims that its lines named, what its prompt and its look-up showed."""

    role: str | None = None
    claims: set[str] = field(default_factory=set)
    block_size: int | None = None
    visible: int | None = None
    found: int = 0
    useful: bool = False
    restores: dict[str, Restore] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """A load of some claim has failed for it."""
        return any(restore.failures for restore in self.restores.values())


@dataclass(slots=True)
class Run(_recorded.Run[Claim, Request]):
    """One stream, and the block size that it shows, in tokens."""

    new_claim, new_request = Claim, Request
    prompt_block: int | None = None
    load_block: int | None = None

    def block_size(self, request: Request) -> int | None:
        """Tokens per block as this request shows it, else any prompt, else any load."""
        return request.block_size or self.prompt_block or self.load_block


@dataclass(frozen=True, slots=True)
class Now(_recorded.Now[Line, Claim, Request]):
    """A line in its run."""

    run: Run

    @property
    def role(self) -> str | None:
        """The part that the claim has in the request; a claimed line that says none is in doubt."""
        role = self.line.resident_claim_role or self.request.role
        if self.line.claim_id is not None and role not in ("resident", "reuse"):
            self.doubt("the request does not say whether it is the claim's resident or a reuse")
        return role

    @property
    def restore(self) -> Restore:
        """The attempts of the request to get back the claim that the line names."""
        claim = self.line.claim_id or self.line.outcome_claim_id or ""
        return self.request.restores.setdefault(claim, Restore())


_STORE, _LOAD = ("GPU", "CPU"), ("CPU", "GPU")
_NOT_REPORTED = frozenset({"claim_materialized_event", "claim_scoped_telemetry"})
_REQUEST: Final = ("request_id",)
_BOTH: Final = ("claim_id", "request_id")


def _acceptance(now: Now, **stated: Any) -> Events:
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
    return acceptance(now.binding, **stated)


def _initialized(now: Now) -> Events:
    line, run = now.line, now.run
    request = run.begin(line.request_id or "")
    request.role = line.resident_claim_role
    request.block_size = block_size_of(line.num_prompt_tokens, line.num_block_hashes)
    run.prompt_block = run.prompt_block or request.block_size
    if request.block_size and line.num_prompt_tokens:
        request.visible = (line.num_prompt_tokens - 1) // request.block_size
    arrived = now.ask(Kind.REQUEST_ARRIVED)
    if now.role != "resident" or line.claim_id is None or now.claim.accepted:
        return (arrived,)
    return (*_acceptance(now), arrived)


def _looked_up(now: Now) -> Events:
    line, request = now.line, now.request
    if now.role == "resident" or line.claim_id is None:
        return ()
    hits, on_gpu, size = line.num_hit_tokens, line.num_computed_tokens, now.run.block_size(request)
    request.useful, request.found = bool(hits or on_gpu), 0
    if hits is None or on_gpu is None:
        now.doubt("the look-up does not state how many tokens it found")
        return (now.ask(Kind.PREFIX_LOOKUP),)
    if size is None and request.useful:
        now.doubt("no block size is shown, so the tokens found cannot be counted in blocks")
        return (now.ask(Kind.PREFIX_LOOKUP),)
    size, claim = size or 1, now.claim
    request.found, leading = on_gpu // size, (on_gpu + hits) // size
    request.useful = leading >= claim.end
    seen: list[Event] = []
    if claim.stored and _gone(now, leading, claim.end):
        claim.stored = False
        seen.append(now.say(Kind.HOST_COPY_LOST))
    elif hits and request.useful and not claim.stored:
        claim.stored = True
        seen.append(now.say(Kind.HOST_COPY_FOUND))
    seen += _seen_on_gpu(now)
    held = max(0, leading - claim.start)
    return (*seen, now.ask(Kind.PREFIX_LOOKUP, held=held, asked=request.visible))


def _seen_on_gpu(now: Now) -> Events:
    """What a look-up finds on the GPU is there; what it could have found there and did not, is not.

    Blocks behind those that the predicate asks for are no loss of the claim's.
    """
    claim, found, before = now.claim, now.request.found, now.claim.on_gpu
    gone = _gone(now, found, min(before, claim.end))
    if not gone and found <= before:
        return ()
    claim.on_gpu = found
    lost = (now.say(Kind.BLOCK_LOST),) if gone else ()
    if not found:
        return lost
    positions = tuple(range(min(found, 1 << 20)))
    return (*lost, now.ask(Kind.BLOCK_CACHED, positions=positions, found=True))


def _gone(now: Now, found: int, there: int) -> bool:
    """Whether fewer leading blocks are found than were there and the prompt could ask for."""
    visible = now.request.visible
    if found >= there:
        return False
    if visible is None:
        now.doubt("the prompt does not show how many blocks its look-up could find")
        return False
    return found < min(there, visible) and now.claim.start < min(there, visible)


def _transferred(now: Now) -> Events:
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
    return (now.ask(Kind.STORE_FINISHED),)


def _loaded(now: Now) -> Events:
    """The blocks that came back, behind those that the look-up had found on the GPU."""
    blocks, size = now.line.dst_block_count, now.run.block_size(now.request)
    if blocks is None and size and now.line.num_external_tokens is not None:
        blocks = now.line.num_external_tokens // size
    if blocks is None:
        now.doubt("the load does not state how many blocks it brought back")
    now.restore.failed = False
    held = None if blocks is None else max(0, now.request.found + blocks - now.claim.start)
    now.claim.on_gpu = now.claim.start + (now.claim.threshold if held is None else held)
    return (now.ask(Kind.LOAD_FINISHED, held=held),)


def _load_failed(now: Now) -> Events:
    if now.line.claim_id is None:
        return ()
    now.need("request_id")
    restore = now.restore
    if not restore.fail(now.line.job_id, now.line.restoration_generation):
        return ()
    restore.failed = True
    return (now.ask(Kind.LOAD_FAILED),)


def _required(now: Now) -> Events:
    now.restore.begin(now.line.restoration_generation)
    return (now.ask(Kind.CLAIM_RESTORE_REQUIRED),)


def _restored(now: Now) -> Events:
    tier = now.line.restored_from_offload_tier is True
    tier = tier and now.line.restoration_source in (None, "offload_tier")
    return (now.ask(Kind.CLAIM_RESTORED, from_tier=tier),)


def _repeats(now: Now) -> bool:
    """Whether this repeats the scheduler; what the scheduler itself says is remembered."""
    generation = now.line.restoration_generation
    if now.event.startswith("scheduler_"):
        now.restore.answer(generation)
        return False
    return now.restore.is_duplicate(generation)


def _restoration_failed(now: Now) -> Events:
    line = now.line
    outcome = line.claim_scoped_outcome_type or line.outcome_type
    return restoration_failed(now, outcome, duplicate=_repeats(now))


def _refused(now: Now) -> Events:
    failed, duplicate = now.request.failed, _repeats(now)
    now.restore.refused = now.restore.refused or not duplicate
    if not failed:
        now.doubts.append(NO_NEED)
    return (refusal(now, failed=failed, duplicate=duplicate),)


def _finished(now: Now) -> Events:
    line, request = now.line, now.request
    if request.finished:
        return ()
    request.finished = True
    finished = now.ask(Kind.REQUEST_FINISHED)
    if now.role != "reuse" or line.claim_id is None or not request.useful:
        return (finished,)
    if now.restore.failed or now.restore.refused:
        return (finished,)
    return (now.ask(Kind.PREFIX_REUSED), finished)


def _accepted(now: Now) -> Events:
    """An acceptance in so many words; the first after one by metadata only says it again."""
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


def block_size_of(tokens: int | None, hashes: int | None) -> int | None:
    """Tokens per block of a prompt of so many tokens that has so many full blocks.

    Several sizes fit most prompts: a power of two is taken where one does, else the largest.
    """
    if not tokens or not hashes or tokens < hashes:
        return None
    largest = tokens // hashes
    power = 1 << (largest.bit_length() - 1)
    return power if tokens // power == hashes else largest


class ConnectorDialect(RecordedDialect):
    """Reads the connector's events of one file."""

    form, observes, line, now, run = FORM, OBSERVES, Line, Now, Run
    events: ClassVar = {
        "request_initialized": Meaning(_initialized, _REQUEST),
        "offload_lookup_result": Meaning(_looked_up, _REQUEST),
        "offload_worker_transfer_finished": Meaning(_transferred, ()),
        "offload_worker_load_failed": Meaning(_load_failed, ()),
        "offload_load_job_failed": Meaning(_load_failed, ()),
        "offload_request_finished_no_pending_jobs": Meaning(_finished, _REQUEST),
        "offload_request_finished_pending_jobs": Meaning(_finished, _REQUEST),
        "scheduler_resident_claim_restoration_failed": Meaning(_restoration_failed, _BOTH),
        "resident_claim_restoration_failed": Meaning(_restoration_failed, _BOTH),
        "scheduler_active_request_refused": Meaning(_refused, _REQUEST),
        "active_request_refused": Meaning(_refused, _REQUEST),
        "resident_claim_offloaded": Meaning(says(Kind.CLAIM_OFFLOADED)),
        "resident_claim_restore_required": Meaning(_required, _BOTH),
        "resident_claim_restored": Meaning(_restored, _BOTH),
        "resident_claim_accepted": Meaning(_accepted),
        "resident_claim_materialized": Meaning(materialized),
        **ENDINGS,
        "offload_store_job_created": Meaning(no_events, ()),
        "offload_load_job_created": Meaning(no_events, ()),
        "offload_worker_transfer_submitted": Meaning(no_events, ()),
        "offload_job_completed": Meaning(no_events, ()),
    }

    def order(self, line: Head) -> tuple[int | None, int | None]:
        """Its number; its time is that of the monotonic clock where it has one."""
        time_ns = line.timestamp_ns if line.monotonic_ns is None else line.monotonic_ns
        return line.event_sequence, time_ns

    def meant(self, now: Now, of: Callable[[Now], Events]) -> Events:
        """The events of a line. A line that names no claim leaves in doubt those that other lines
        of its request named.
        """
        line = now.line
        if line.resident_claim is True:
            now.need("claim_id")
        events = super().meant(now, of)
        if line.claim_id is not None and line.request_id is not None:
            now.request.claims.add(line.claim_id)
        elif line.claim_id is None and line.request_id in now.run.requests:
            why = f"{now.event} of its request does not name it"
            now.doubts.extend(Doubt(why, claim) for claim in sorted(now.request.claims))
        return events


DIALECT: Final = ConnectorDialect
