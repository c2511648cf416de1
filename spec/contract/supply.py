"""Defines the depths of a runtime that may supply an obligation, and the orders that show it."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Atom", "Depth", "Order"]


class Depth(StrEnum):
    """How deep in a runtime an adapter reaches, shallow to deep.

    From table 4 of "Fail-Closed Lowering of Resident KV Claims".
    """

    NONE = "none"
    TELEMETRY_JOIN = "telemetry_join"
    CLAIM_REGISTRY = "claim_registry"
    STORAGE_RESTORABILITY = "storage_restorability"
    ROUTING_HOOK = "routing_hook"
    SCHEDULER_HOOK = "scheduler_hook"
    ALLOCATOR_HOOK = "allocator_hook"
    BACKEND_PATCH = "backend_patch"


class Order(StrEnum):
    """An order of events that a run preserves."""

    CLAIM_BEFORE_EVENTS = "claim_before_events"
    LIFECYCLE = "lifecycle"
    DEMOTION_BEFORE_LOSS = "demotion_before_loss"
    BOUNDARY_BEFORE_LOSS = "boundary_before_loss"
    RESTORE_BEFORE_REUSE = "restore_before_reuse"
    FAILURE_BEFORE_OUTCOME_BEFORE_END = "failure_before_outcome_before_end"
    EXCLUSION_BEFORE_LOSS = "exclusion_before_loss"
    ACTION_BEFORE_END = "action_before_end"
    LOSS_BEFORE_HARM = "loss_before_harm"
    PRESSURE_BEFORE_LOSS = "pressure_before_loss"
    ROUTE_BEFORE_REUSE = "route_before_reuse"


class Atom(StrEnum):
    """Something observed over several runs, which one obligation needs besides its own evidence."""

    PRESSURE_CONTROLS = "pressure_controls_observed"  # original, swapped and equal priorities
    RETENTION_ORDER = "retention_order_observed"  # which claim lost first, joined to the claims
