"""What each obligation needs, and what its absence means, when a runtime is described."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spec.claims.claim import Mode
from spec.contract.modes import MODES
from spec.lowering.vocabulary import Order

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["BEYOND_TELEMETRY", "NEVER_BY_TELEMETRY", "REJECTED_WITHOUT", "RELEVANT_ORDER"]

RELEVANT_ORDER: Final[Mapping[str, Order]] = {
    "claim_identity": Order.CLAIM_BEFORE_EVENTS,
    "explicit_acceptance": Order.CLAIM_BEFORE_EVENTS,
    "materialization_predicate": Order.CLAIM_BEFORE_EVENTS,
    "footprint_accounting": Order.CLAIM_BEFORE_EVENTS,
    "claim_materialized_event": Order.CLAIM_BEFORE_EVENTS,
    "claim_scoped_telemetry": Order.CLAIM_BEFORE_EVENTS,
    "ordered_lifecycle_events": Order.LIFECYCLE,
    "claim_demoted_before_loss": Order.DEMOTION_BEFORE_LOSS,
    "claim_expired_boundary": Order.BOUNDARY_BEFORE_LOSS,
    "offload_restorability": Order.RESTORE_BEFORE_REUSE,
    "restoration_failure_outcome": Order.FAILURE_BEFORE_OUTCOME_BEFORE_END,
    "victim_exclusion_before_violation": Order.EXCLUSION_BEFORE_LOSS,
    "explicit_conflict_action": Order.ACTION_BEFORE_END,
    "blocking_claim_ids": Order.ACTION_BEFORE_END,
    "claim_harm_attribution": Order.LOSS_BEFORE_HARM,
    "priority_influence": Order.PRESSURE_BEFORE_LOSS,
    "route_cost_attribution": Order.ROUTE_BEFORE_REUSE,
    "placement_attribution": Order.ROUTE_BEFORE_REUSE,
    "reuse_routing_attribution": Order.ROUTE_BEFORE_REUSE,
}
"""The order that a run must preserve before it shows an obligation."""

NEVER_BY_TELEMETRY: Final = frozenset(
    {
        "victim_exclusion_before_violation",
        "explicit_conflict_action",
        "blocking_claim_ids",
        "claim_demoted_before_loss",
        "claim_expired_boundary",
        "restoration_failure_outcome",
        "claim_harm_attribution",
    }
)
"""What no join of telemetry can create (section 5)."""

REJECTED_WITHOUT: Final[Mapping[Mode, frozenset[str]]] = {
    mode: frozenset() for mode in Mode if mode is not Mode.HARD_PROTECTED
} | {
    Mode.HARD_PROTECTED: frozenset(
        {
            "victim_exclusion_before_violation",
            "explicit_conflict_action",
            "blocking_claim_ids",
        }
    )
}
"""Per mode, the obligations without any one of which a tempting mapping is rejected."""

BEYOND_TELEMETRY: Final[Mapping[Mode, frozenset[str]]] = {
    mode: frozenset(spec.names()) & NEVER_BY_TELEMETRY for mode, spec in MODES.items()
}
"""Per mode, what telemetry can never supply; its absence alone leaves a row approximate."""
