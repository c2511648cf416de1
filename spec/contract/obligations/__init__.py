"""The nineteen obligations, each an observer."""

from spec.contract.obligations.ends import (
    CLAIM_DEMOTED_BEFORE_LOSS,
    CLAIM_EXPIRED_BOUNDARY,
    ORDERED_LIFECYCLE_EVENTS,
)
from spec.contract.obligations.identity import (
    CLAIM_IDENTITY,
    EXPLICIT_ACCEPTANCE,
    FOOTPRINT_ACCOUNTING,
    MATERIALIZATION_PREDICATE,
)
from spec.contract.obligations.offload import OFFLOAD_RESTORABILITY
from spec.contract.obligations.pressure import (
    BLOCKING_CLAIM_IDS,
    EXPLICIT_CONFLICT_ACTION,
    PRIORITY_INFLUENCE,
    VICTIM_EXCLUSION,
)
from spec.contract.obligations.restoration import RESTORATION_FAILURE_OUTCOME
from spec.contract.obligations.routing import (
    PLACEMENT_ATTRIBUTION,
    REUSE_ROUTING_ATTRIBUTION,
    ROUTE_COST_ATTRIBUTION,
)
from spec.contract.obligations.telemetry import (
    CLAIM_HARM_ATTRIBUTION,
    CLAIM_MATERIALIZED_EVENT,
    CLAIM_SCOPED_TELEMETRY,
)
from spec.language.machine import Observer

__all__ = ["ALIASES", "OBLIGATIONS"]

OBLIGATIONS: dict[str, Observer] = {
    observer.name: observer
    for observer in (
        CLAIM_IDENTITY,
        EXPLICIT_ACCEPTANCE,
        MATERIALIZATION_PREDICATE,
        FOOTPRINT_ACCOUNTING,
        ORDERED_LIFECYCLE_EVENTS,
        CLAIM_MATERIALIZED_EVENT,
        CLAIM_DEMOTED_BEFORE_LOSS,
        CLAIM_EXPIRED_BOUNDARY,
        OFFLOAD_RESTORABILITY,
        RESTORATION_FAILURE_OUTCOME,
        VICTIM_EXCLUSION,
        EXPLICIT_CONFLICT_ACTION,
        BLOCKING_CLAIM_IDS,
        CLAIM_HARM_ATTRIBUTION,
        CLAIM_SCOPED_TELEMETRY,
        PRIORITY_INFLUENCE,
        ROUTE_COST_ATTRIBUTION,
        PLACEMENT_ATTRIBUTION,
        REUSE_ROUTING_ATTRIBUTION,
    )
}

ALIASES: dict[str, str] = {
    alias: observer.name for observer in OBLIGATIONS.values() for alias in observer.aliases
}
