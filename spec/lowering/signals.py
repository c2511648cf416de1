"""Defines approximation signals: primitives that look like a mode and are not."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from spec.claims.states import Mode

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TEMPTS", "Signal"]


class Signal(StrEnum):
    """A primitive that runtimes have. By itself it satisfies no obligation (rule 1)."""

    BLOCK_EVENTS = "block_events"
    BLOCK_REMOVED = "block_removed"
    CACHED_TOKENS = "cached_token_telemetry"
    RETENTION_PRIORITY = "retention_priority"
    PRIORITY_IN_EVENT = "priority_value_in_event"
    PRIORITY_UPDATE = "priority_update"
    LOWER_CACHE_LEVEL = "lower_cache_level"
    DURATION = "duration_metadata"
    PIN_WITH_TTL = "pin_with_ttl"
    PIN = "pin"
    ACTIVE_NO_EVICT = "active_no_evict"
    LOCK_REFERENCE = "lock_reference"
    STORAGE_TIER = "storage_tier"
    TIER_MOVEMENT = "same_prompt_block_tier_movement"
    CLAIM_JOINED_OFFLOAD = "claim_joined_offload"
    ONBOARD_COUNTERS = "generic_onboard_counters"
    LOAD_BACK = "load_back"
    FAILED_LOAD_REPORT = "failed_load_report"
    SNAPSHOT_RESTORE = "snapshot_restore"
    KV_AWARE_ROUTING = "kv_aware_routing"
    REQUEST_HINT_RESULT = "request_hint_result"


TEMPTS: Final[Mapping[Signal, frozenset[Mode]]] = {
    Signal.BLOCK_EVENTS: frozenset({Mode.BEST_EFFORT}),
    Signal.BLOCK_REMOVED: frozenset(),
    Signal.CACHED_TOKENS: frozenset({Mode.BEST_EFFORT}),
    Signal.RETENTION_PRIORITY: frozenset({Mode.SOFT_PRIORITY}),
    Signal.PRIORITY_IN_EVENT: frozenset({Mode.SOFT_PRIORITY}),
    Signal.PRIORITY_UPDATE: frozenset({Mode.DEMOTABLE}),
    Signal.LOWER_CACHE_LEVEL: frozenset({Mode.DEMOTABLE}),
    Signal.DURATION: frozenset({Mode.EXPIRING}),
    Signal.PIN_WITH_TTL: frozenset({Mode.EXPIRING, Mode.HARD_PROTECTED}),
    Signal.PIN: frozenset({Mode.HARD_PROTECTED}),
    Signal.ACTIVE_NO_EVICT: frozenset({Mode.HARD_PROTECTED}),
    Signal.LOCK_REFERENCE: frozenset({Mode.HARD_PROTECTED}),
    Signal.STORAGE_TIER: frozenset({Mode.OFFLOADABLE}),
    Signal.TIER_MOVEMENT: frozenset({Mode.OFFLOADABLE}),
    Signal.CLAIM_JOINED_OFFLOAD: frozenset({Mode.OFFLOADABLE}),
    Signal.ONBOARD_COUNTERS: frozenset({Mode.OFFLOADABLE}),
    Signal.LOAD_BACK: frozenset({Mode.OFFLOADABLE}),
    Signal.FAILED_LOAD_REPORT: frozenset({Mode.OFFLOADABLE}),
    Signal.SNAPSHOT_RESTORE: frozenset({Mode.OFFLOADABLE}),
    Signal.KV_AWARE_ROUTING: frozenset({Mode.ROUTED_REUSE}),
    Signal.REQUEST_HINT_RESULT: frozenset({Mode.SOFT_PRIORITY}),
}
"""The modes for which a signal may be mistaken."""
