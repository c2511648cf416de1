"""Writes runs of models in the forms in which patched runtimes recorded their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from monitor.input.dialects import allocator as allocator_dialect
from monitor.input.dialects import connector as connector_dialect
from spec.claims.states import Mode
from spec.events.alphabet import REPORTS, Kind
from spec.events.canonical import Event

__all__ = ["FORMS", "allocator", "connector"]

Line = dict[str, Any]

BLOCK = 16
"""Tokens of a block."""

TIER = "offload_tier"


def allocator(events: list[Event]) -> list[Line]:
    """The lines of a patched block pool: blocks one by one, and requests where they are refused."""
    usable = max((event.usable or 0 for event in events), default=0)
    claim_on = {e.object_id: e.claim_id for e in events if e.claim_id and e.object_id}
    lines: list[Line] = []
    for event in events:
        ours = {"claim_id": event.claim_id, "prefix_id": event.object_id}
        match event.kind:
            case Kind.CLAIM_ACCEPTED:
                need = {
                    "resident_blocks_required": event.footprint,
                    "useful_threshold_blocks": event.footprint,
                }
                hard = event.mode == Mode.HARD_PROTECTED
                mode = {"protection_mode": "hard_exclude" if hard else event.mode}
                lines.append({**ours, **need, **mode, "event": "resident_claim_accepted"})
            case Kind.BLOCK_CACHED if event.object_id in claim_on:
                claim = claim_on[event.object_id]
                at = {"claim_id": claim, "prefix_id": event.object_id}
                lines += [
                    {
                        **at,
                        "event": "resident_block_materialized",
                        "request_id": event.request_id,
                        "physical_block_id": block,
                        "logical_block_position": position,
                    }
                    for block, position in zip(event.block_ids, event.positions, strict=True)
                ]
            case Kind.CLAIM_MATERIALIZED:
                lines.append(
                    {**ours, "event": "resident_claim_materialized", "predicate_materialized": True}
                )
            case Kind.CLAIM_HARMED:
                lines.append({**ours, "event": "resident_claim_harmed"})
            case Kind.BLOCK_EVICTED:
                lines += [
                    {
                        **ours,
                        "event": "allocation_victim_selected",
                        "request_id": event.request_id,
                        "physical_block_id": block,
                    }
                    for block in event.block_ids
                ]
            case Kind.REQUEST_REFUSED:
                assert event.proof is not None
                lines.append(
                    {
                        "event": "active_request_refused",
                        "request_id": event.request_id,
                        "blocking_claim_ids": list(event.blocking_claim_ids or ()),
                        "active_live_blocks_required": event.proof.active,
                        "protected_resident_blocks": event.proof.resident,
                        "resident_plus_active_blocks": event.proof.total,
                        "capacity_shortfall_blocks": event.proof.shortfall,
                    }
                )
    common = {"run_id": "model", "schema_version": 1, "usable_blocks": usable}
    return [{**common, "timestamp_ns": n * 1_000, **line} for n, line in enumerate(lines)]


class _Connector:
    """What the lines of the connector say of requests: their object, and the claim on it."""

    def __init__(self, events: list[Event]) -> None:
        looked = [event for event in events if event.kind is Kind.PREFIX_LOOKUP]
        self._object = {event.request_id: event.object_id for event in looked}
        self._size = {event.object_id: event.asked or 0 for event in looked}
        self._claims: dict[str | None, Event] = {}  # by object
        self._resident: dict[str | None, str | None] = {}  # the first request of each claim
        self._copies: set[str | None] = set()
        self._failed: set[str | None] = set()  # requests

    def write(self, event: Event) -> Iterable[Line]:
        """The lines of an event; none where the connector does not see it."""
        request, of = event.request_id, event.object_id
        name = self._object.get(request, of)
        size = self._size.get(name, 0)
        tokens = {"num_prompt_tokens": size * BLOCK + 1, "num_block_hashes": size}
        match event.kind:
            case Kind.CLAIM_ACCEPTED:
                self._claims[of] = event
                more = {"protection_mode": event.mode, "resident_blocks_required": event.footprint}
                yield self._line("resident_claim_accepted", None, event, **more)
            case Kind.REQUEST_ARRIVED:
                yield self._line("request_initialized", request, **tokens)
            case Kind.PREFIX_LOOKUP:
                held = event.held or 0
                hit = size - held if name in self._copies else 0
                found = {"num_computed_tokens": held * BLOCK, "num_hit_tokens": hit * BLOCK}
                yield self._line("offload_lookup_result", request, **tokens, **found)
            case Kind.STORE_FINISHED:
                self._copies.add(of)
                first = next(each for each, on in self._object.items() if on == of)
                done = {"transfer_type": ["GPU", "CPU"], "success": True, "src_block_count": size}
                yield self._line("offload_worker_transfer_finished", first, **done)
            case Kind.HOST_COPY_LOST:
                self._copies.discard(of)  # a later look-up shows it
            case Kind.LOAD_FINISHED if request not in self._failed:
                blocks = len(event.block_ids)
                done = {"transfer_type": ["CPU", "GPU"], "success": True, "dst_block_count": blocks}
                done["num_external_tokens"] = blocks * BLOCK
                yield self._line("offload_worker_transfer_finished", request, **done)
            case Kind.LOAD_FAILED:
                self._failed.add(request)
                done = {"transfer_type": ["CPU", "GPU"], "success": False}
                yield self._line("offload_worker_transfer_finished", request, **done)
            case Kind.REQUEST_FINISHED:
                yield self._line("offload_request_finished_no_pending_jobs", request)
            case kind if kind in REPORTS and event.claim_id is not None:
                if kind in (Kind.CLAIM_REGISTERED, Kind.CLAIM_COMMITTED):
                    return
                claims = {each.claim_id: each for each in self._claims.values()}
                said = {"outcome_type": event.outcome, "outcome_claim_id": event.outcome_claim_id}
                more = {name: value for name, value in said.items() if value}
                if event.from_tier:
                    more |= {"restored_from_offload_tier": True, "restoration_source": TIER}
                yield self._line(f"resident_{kind}", request, claims[event.claim_id], **more)

    def _line(
        self, what: str, request: str | None, claim: Event | None = None, **fields: Any
    ) -> Line:
        """A line about a claim, or about that on the object of its request, if there is one."""
        bare: Line = {"event": what, "hook_scope": "model", **fields}
        if request is not None:
            bare["request_id"] = request
        about = claim or self._claims.get(self._object.get(request))
        if about is None:
            return bare
        first = self._resident.setdefault(about.object_id, request) if request else None
        role = "resident" if first == request else "reuse"
        return {
            **bare,
            "resident_claim": True,
            "resident_claim_role": role,
            "claim_id": about.claim_id,
            "cache_identity": about.cache_identity,
            "reusable_object_id": about.object_id,
            "prefix_id": about.object_id,
            "predicate_id": "predicate:leading",
            "request_token_map_id": "tokens:1",
            "materialization_predicate": about.predicate,
        }


def connector(events: list[Event]) -> list[Line]:
    """The lines of a patched connector and scheduler, which do not see blocks of the GPU.

    A load that failed is one that brought nothing.
    """
    writer = _Connector(events)
    lines = [line for event in events for line in writer.write(event)]
    return [{**line, "event_sequence": n, "monotonic_ns": n} for n, line in enumerate(lines)]


FORMS: dict[str, tuple[Callable[[list[Event]], list[Line]], frozenset[Kind]]] = {
    "vllm_pool": (allocator, allocator_dialect.OBSERVES - allocator_dialect.DERIVED),
    "vllm_offload": (connector, connector_dialect.OBSERVES - connector_dialect.DERIVED),
}
"""By runtime: what writes its runs, and the kinds of facts that lines of the form state."""
