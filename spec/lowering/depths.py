"""Defines adapter depths: what each may supply, and its preconditions."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from spec.contract.obligations import STATED
from spec.contract.supply import Depth

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LADDER", "MAY_SUPPLY", "PRECONDITIONS", "TELEMETRY_JOIN", "Precondition", "reaches"]

LADDER: Final = tuple(Depth)
"""The depths, shallow to deep."""


def reaches(depth: Depth, other: Depth) -> bool:
    """Whether a row at `depth` includes adapters at `other`."""
    return LADDER.index(other) <= LADDER.index(depth)


class Precondition(StrEnum):
    """What must hold before an adapter's evidence counts (table 5, and the table after it)."""

    ACCEPTED_CLAIM_REGISTRY = "external_accepted_claim_registry"
    STABLE_CLAIM_ID = "stable_claim_id"
    REUSABLE_OBJECT_ID = "reusable_object_id"
    FIXED_PREDICATE = "fixed_materialization_predicate"
    REQUEST_TOKEN_MAP = "deterministic_request_token_map"
    FIXED_CACHE_IDENTITY = "fixed_cache_identity"
    OBSERVATION_POINT = "named_observation_point"
    JOINABLE_EVENTS = "joinable_backend_events"
    AMBIGUITY_FAILS_CLOSED = "ambiguity_fails_closed"

    ACCEPTED_BEFORE_OFFLOAD = "accepted_before_offload"
    HOOKS_NAME_THE_CLAIM = "hooks_name_the_same_claim"
    RESTORE_BEFORE_REUSE = "restoration_before_reuse"
    FAILURE_BEFORE_FALLBACK = "failure_outcome_before_fallback"

    ROUTE_SEES_CLAIM = "route_sees_accepted_claim"
    FIXED_WORKER_NAMESPACE = "fixed_worker_namespace"
    ROUTE_IS_ATTRIBUTED = "cost_placement_reuse_of_one_claim"

    NAMED_CONFLICT_BOUNDARY = "named_conflict_boundary"
    ACTION_BEFORE_END = "action_before_terminal_handling"
    STABLE_BLOCKING_IDS = "stable_specific_blocking_ids"

    VICTIM_CANDIDATES = "victim_candidates_exposed"
    PROTECTED_FOOTPRINT = "protected_footprint_exposed"
    ORDERED_EXCLUSION = "ordered_exclusion_or_release"

    PATCH_IDENTIFIED = "patch_and_source_identified"
    PATCH_EXERCISED = "patched_path_exercised"
    ADJACENT_HOOKS_ABSENT = "adjacent_hooks_absent"
    ANALYZER_CHECKS = "analyzer_checks_order_and_identity"


_P = Precondition

TELEMETRY_JOIN: Final = (
    _P.ACCEPTED_CLAIM_REGISTRY,
    _P.STABLE_CLAIM_ID,
    _P.REUSABLE_OBJECT_ID,
    _P.FIXED_PREDICATE,
    _P.REQUEST_TOKEN_MAP,
    _P.FIXED_CACHE_IDENTITY,
    _P.OBSERVATION_POINT,
    _P.JOINABLE_EVENTS,
    _P.AMBIGUITY_FAILS_CLOSED,
)
"""The nine preconditions of a telemetry join (table 5)."""

PRECONDITIONS: Final[Mapping[Depth, tuple[Precondition, ...]]] = {
    Depth.NONE: (),
    Depth.TELEMETRY_JOIN: TELEMETRY_JOIN,
    Depth.CLAIM_REGISTRY: (_P.ACCEPTED_CLAIM_REGISTRY, _P.STABLE_CLAIM_ID),
    Depth.STORAGE_RESTORABILITY: (
        _P.ACCEPTED_BEFORE_OFFLOAD,
        _P.HOOKS_NAME_THE_CLAIM,
        _P.RESTORE_BEFORE_REUSE,
        _P.FAILURE_BEFORE_FALLBACK,
    ),
    Depth.ROUTING_HOOK: (
        _P.ROUTE_SEES_CLAIM,
        _P.FIXED_WORKER_NAMESPACE,
        _P.ROUTE_IS_ATTRIBUTED,
    ),
    Depth.SCHEDULER_HOOK: (
        _P.NAMED_CONFLICT_BOUNDARY,
        _P.ACTION_BEFORE_END,
        _P.STABLE_BLOCKING_IDS,
    ),
    Depth.ALLOCATOR_HOOK: (
        _P.VICTIM_CANDIDATES,
        _P.PROTECTED_FOOTPRINT,
        _P.ORDERED_EXCLUSION,
    ),
    Depth.BACKEND_PATCH: (
        _P.PATCH_IDENTIFIED,
        _P.PATCH_EXERCISED,
        _P.ADJACENT_HOOKS_ABSENT,
        _P.ANALYZER_CHECKS,
    ),
}

MAY_SUPPLY: Final[Mapping[Depth, frozenset[str]]] = {
    depth: frozenset(name for name, o in STATED.items() if o.supplied_by(depth)) for depth in Depth
}
"""What an adapter at a depth may supply by itself (table 4). Native evidence is no adapter."""
