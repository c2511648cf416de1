"""The seven modes: what each promises, and the obligations that carry the promise.

`paper` is the bundle as "Fail-Closed Lowering of Resident KV Claims" prints it (section 3,
evidence-to-obligation summary). `contract` completes it where the auditor's theorem needs more; the
completion is either an added obligation, listed with its reason, or a named reading
(`spec.contract.readings`), and it is empty where nothing had to be added.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from spec.claims.claim import Mode
from spec.contract.obligations import OBLIGATIONS
from spec.contract.readings import READINGS
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spec.language.machine import Observer

__all__ = ["MODES", "SAID_BY", "Bundle", "ConflictAction", "Depth", "ModeSpec"]


class Bundle(StrEnum):
    CONTRACT = "contract"
    PAPER = "paper"


class ConflictAction(StrEnum):
    """What may give where active and resident blocks do not both fit."""

    REFUSE = "refuse"
    DEFER = "defer"
    ROUTE_ELSEWHERE = "route_elsewhere"
    BOUND_ACTIVE = "bound_active"
    OFFLOAD = "offload"
    SPLIT = "split_or_recompute"
    RELAX = "relax_claim"


SAID_BY: dict[ConflictAction, tuple[Kind, ...]] = {
    ConflictAction.REFUSE: (Kind.REQUEST_REFUSED,),
    ConflictAction.DEFER: (Kind.REQUEST_DEFERRED,),
    ConflictAction.ROUTE_ELSEWHERE: (Kind.REQUEST_ROUTED_ELSEWHERE,),
    ConflictAction.BOUND_ACTIVE: (Kind.REQUEST_BOUNDED,),
    ConflictAction.OFFLOAD: (Kind.REQUEST_OFFLOADED,),
    ConflictAction.SPLIT: (Kind.REQUEST_SPLIT,),
    ConflictAction.RELAX: (Kind.CLAIM_DEMOTED, Kind.CLAIM_EXPIRED),
}
"""The reports by which an action is said to have been taken."""


class Depth(StrEnum):
    """How deep in a runtime an adapter reaches, shallow to deep (table 4 of the same paper)."""

    NONE = "none"
    TELEMETRY_JOIN = "telemetry_join"
    CLAIM_REGISTRY = "claim_registry"
    STORAGE_RESTORABILITY = "storage_restorability"
    ROUTING_HOOK = "routing_hook"
    SCHEDULER_HOOK = "scheduler_hook"
    ALLOCATOR_HOOK = "allocator_hook"
    BACKEND_PATCH = "backend_patch"


@dataclass(frozen=True, slots=True)
class ModeSpec:
    """A mode as a bundle of obligations.

    `added` maps each obligation that the contract adds to the reason why the paper's bundle does
    not carry the mode's clauses without it; `critical` are those whose absence lets a look-alike
    pass for the mode (whose absence rejects a row is said in `spec.lowering.obligations`); `depths`
    are the adapter depths, all of a tuple together, that may supply the mode.
    """

    mode: Mode
    promise: str
    paper: tuple[str, ...]
    critical: frozenset[str]
    depths: tuple[tuple[Depth, ...], ...]
    actions: frozenset[ConflictAction] = frozenset()
    added: Mapping[str, str] = field(default_factory=dict)
    readings: tuple[str, ...] = ("due-by", "one-life")

    def __post_init__(self) -> None:
        unknown = {*self.paper, *self.added, *self.critical} - set(OBLIGATIONS)
        unknown |= set(self.readings) - {reading.name for reading in READINGS}
        if unknown:
            raise ValueError(f"{self.mode}: no such obligation or reading: {sorted(unknown)}")

    def names(self, bundle: Bundle = Bundle.CONTRACT) -> tuple[str, ...]:
        """The obligations of a bundle, in the order in which they are listed."""
        return self.paper if bundle is Bundle.PAPER else (*self.paper, *self.added)

    def bundle(self, bundle: Bundle = Bundle.CONTRACT) -> tuple[Observer, ...]:
        return tuple(OBLIGATIONS[n] for n in self.names(bundle))

    @property
    def constants(self) -> dict[str, bool]:
        """The constants of the vocabulary that the mode fixes."""
        return {
            "lapses": self.mode is Mode.EXPIRING,
            "tiered": self.mode is Mode.OFFLOADABLE,
            "watched": "explicit_acceptance" not in self.paper,
            "ranked": "priority_influence" in self.paper,
        }


_PATCH = (Depth.BACKEND_PATCH,)
_HARM_ADDED = "a loss to a reset is silent without it, and harm that never happened can be reported"

MODES: dict[Mode, ModeSpec] = {
    spec.mode: spec
    for spec in (
        ModeSpec(
            mode=Mode.BEST_EFFORT,
            promise="Nothing is kept; whether the predicate holds is told, under the claim's name.",
            paper=(
                "claim_identity",
                "materialization_predicate",
                "claim_materialized_event",
                "claim_scoped_telemetry",
            ),
            critical=frozenset(),
            depths=((Depth.TELEMETRY_JOIN,), _PATCH),
            readings=("due-by", "watched"),
        ),
        ModeSpec(
            mode=Mode.SOFT_PRIORITY,
            promise="Under pressure the claim of lower priority loses blocks first, and each loss "
            "is told.",
            paper=("claim_identity", "priority_influence", "claim_scoped_telemetry"),
            critical=frozenset({"priority_influence"}),
            depths=((Depth.TELEMETRY_JOIN,), _PATCH),
            readings=("due-by", "watched", "controlled-pressure"),
        ),
        ModeSpec(
            mode=Mode.HARD_PROTECTED,
            promise="No block of an accepted claim is chosen as a victim; what does not fit beside "
            "it meets an explicit action that names it; any other loss is told as harm.",
            paper=(
                "claim_identity",
                "explicit_acceptance",
                "materialization_predicate",
                "footprint_accounting",
                "victim_exclusion_before_violation",
                "explicit_conflict_action",
                "blocking_claim_ids",
                "claim_harm_attribution",
                "ordered_lifecycle_events",
            ),
            critical=frozenset(
                {
                    "victim_exclusion_before_violation",
                    "explicit_conflict_action",
                    "blocking_claim_ids",
                }
            ),
            depths=((Depth.SCHEDULER_HOOK, Depth.ALLOCATOR_HOOK), _PATCH),
            actions=frozenset(ConflictAction),
            added={
                "claim_materialized_event": "nobody else owes the report that the predicate became "
                "true, so an auditor's belief in it would be right one way only",
            },
            readings=("due-by", "paired-ends", "one-life", "blame", "conflict", "room", "loss"),
        ),
        ModeSpec(
            mode=Mode.DEMOTABLE,
            promise="No eviction breaks the predicate before the claim was demoted aloud.",
            paper=(
                "claim_identity",
                "explicit_acceptance",
                "claim_demoted_before_loss",
                "ordered_lifecycle_events",
            ),
            critical=frozenset({"claim_demoted_before_loss"}),
            depths=((Depth.CLAIM_REGISTRY,), _PATCH),
            actions=frozenset({ConflictAction.RELAX}),
            added={
                "materialization_predicate": "materialized may be reported of blocks that are not "
                "there",
                "claim_harm_attribution": _HARM_ADDED,
            },
            readings=("due-by", "paired-ends", "one-life", "loss"),
        ),
        ModeSpec(
            mode=Mode.EXPIRING,
            promise="Responsibility ends at the duration, at a boundary that is told; no eviction "
            "breaks the predicate before it.",
            paper=(
                "claim_identity",
                "explicit_acceptance",
                "claim_expired_boundary",
                "ordered_lifecycle_events",
            ),
            critical=frozenset({"claim_expired_boundary"}),
            depths=((Depth.CLAIM_REGISTRY,), _PATCH),
            actions=frozenset({ConflictAction.RELAX}),
            added={"claim_harm_attribution": _HARM_ADDED},
            readings=("due-by", "paired-ends", "one-life", "loss"),
        ),
        ModeSpec(
            mode=Mode.OFFLOADABLE,
            promise="The claim may leave the GPU; it comes back from the tier before it is reused, "
            "or the failure to bring it back ends in an outcome that names it.",
            paper=(
                "claim_identity",
                "explicit_acceptance",
                "materialization_predicate",
                "offload_restorability",
                "restoration_failure_outcome",
                "ordered_lifecycle_events",
                "claim_harm_attribution",
            ),
            critical=frozenset({"offload_restorability", "restoration_failure_outcome"}),
            depths=((Depth.STORAGE_RESTORABILITY,), _PATCH),
            actions=frozenset({ConflictAction.OFFLOAD, ConflictAction.REFUSE}),
            readings=(
                "due-by",
                "paired-ends",
                "one-life",
                "loss",
                "reuse",
                "failed-restore",
            ),
        ),
        ModeSpec(
            mode=Mode.ROUTED_REUSE,
            promise="What a route cost, where it went and whether reuse followed is told, truly, "
            "under the claim's name.",
            paper=(
                "claim_identity",
                "materialization_predicate",
                "route_cost_attribution",
                "placement_attribution",
                "reuse_routing_attribution",
                "claim_scoped_telemetry",
            ),
            critical=frozenset(),
            depths=((Depth.ROUTING_HOOK,), _PATCH),
            actions=frozenset({ConflictAction.ROUTE_ELSEWHERE}),
            readings=("due-by", "watched"),
        ),
    )
}
