"""What the words of a descriptor mean, in a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spec.lowering.vocabulary import AnchorKind, Atom, Basis, ClaimScope, Order, Scope, Status
from spec.modes import Depth

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DEPTHS", "ORDERS", "WORDS"]

DEPTHS: Final[Mapping[Depth, str]] = {
    Depth.NONE: "no adapter: the runtime as it is",
    Depth.TELEMETRY_JOIN: "its events, joined to claims that are registered outside it",
    Depth.CLAIM_REGISTRY: "a registry that accepts claims and ends them",
    Depth.STORAGE_RESTORABILITY: "hooks where KV is stored to a tier and loaded back",
    Depth.ROUTING_HOOK: "a hook in the router",
    Depth.SCHEDULER_HOOK: "a hook where a request is admitted, deferred or refused",
    Depth.ALLOCATOR_HOOK: "a hook where the victim of an eviction is chosen",
    Depth.BACKEND_PATCH: "the source of the runtime, changed",
}

ORDERS: Final[Mapping[Order, str]] = {
    Order.CLAIM_BEFORE_EVENTS: "the claim is registered before the events that are told of it",
    Order.LIFECYCLE: "the reports about the claim, from acceptance to its end",
    Order.DEMOTION_BEFORE_LOSS: "the claim is demoted before its blocks go",
    Order.BOUNDARY_BEFORE_LOSS: "the expiry is told before the blocks go",
    Order.RESTORE_BEFORE_REUSE: "the restore is told before the request reuses the blocks",
    Order.FAILURE_BEFORE_OUTCOME_BEFORE_END: "the restore fails, the outcome names the claim, "
    "then the request ends",
    Order.EXCLUSION_BEFORE_LOSS: "the blocks are excluded as victims, or released, before any goes",
    Order.ACTION_BEFORE_END: "the action on a conflict is told before the request ends",
    Order.LOSS_BEFORE_HARM: "the blocks go, then harm is told of the claim",
    Order.PRESSURE_BEFORE_LOSS: "there is pressure, then a claim loses blocks",
    Order.ROUTE_BEFORE_REUSE: "the route is told, then whether reuse followed",
}

WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "status": {
        Status.SUPPORTED: "shown; the only status that counts",
        Status.PARTIAL: "shown in part",
        Status.UNKNOWN: "looked for, and not settled",
        Status.MISSING: "looked for, and not there",
    },
    "scope": {
        Scope.LITMUS_TRACE: "a run made to show this one thing; counts",
        Scope.CONFORMANCE_TRACE: "a run of a conformance suite, or one that the monitor judged; "
        "counts",
        Scope.DOCS_ONLY: "documentation says so",
        Scope.SOURCE_INSPECTION: "somebody read the source",
    },
    "kind of anchor": {
        AnchorKind.TRACE: "a recorded run; can carry an obligation",
        AnchorKind.ARTIFACT: "a published summary, made from traces; can carry an obligation",
        AnchorKind.DOCS: "documentation",
        AnchorKind.SOURCE: "source code",
        AnchorKind.ISSUE: "the author's own words in an issue or a pull request",
    },
    "claim": {
        ClaimScope.SAME_CLAIM: "the outcome is of the claim that was registered; the only one that "
        "counts",
        ClaimScope.ANOTHER_CLAIM: "it is of another claim",
        ClaimScope.UNCLAIMED: "it is of no claim",
        ClaimScope.NAMED_AFTERWARDS: "the claim was named after the fact",
    },
    "basis": {
        Basis.CLAIM_EVENTS: "events of the claim, or joined to it by a rule set beforehand; the "
        "only one that counts",
        Basis.GENERIC_COUNTERS: "counters that name no claim",
        Basis.FALLBACK_RECOMPUTE: "the blocks were computed again instead",
        Basis.STORAGE_MOVEMENT: "blocks that moved between tiers",
        Basis.ROUTING_SCORE: "a score of the router",
    },
    "atom": {
        Atom.PRESSURE_CONTROLS: "runs under pressure with the priorities as given, swapped and "
        "equal",
        Atom.RETENTION_ORDER: "which claim lost blocks first, joined to the claims",
    },
}
"""By the part of a descriptor in which they stand."""
