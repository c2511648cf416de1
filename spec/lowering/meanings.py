"""Defines the terms of a descriptor, in a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spec.contract.supply import Atom, Depth, Order
from spec.lowering.depths import Precondition
from spec.lowering.signals import Signal
from spec.lowering.vocabulary import AnchorKind, Basis, ClaimScope, Scope, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DEPTHS", "MUST_HOLD", "ORDERS", "PRIMITIVES", "WORDS"]

DEPTHS: Final[Mapping[Depth, str]] = {
    Depth.NONE: "no adapter: the runtime as it is",
    Depth.TELEMETRY_JOIN: "the runtime's events, joined to claims that are registered outside it",
    Depth.CLAIM_REGISTRY: "a registry that accepts claims and ends them",
    Depth.STORAGE_RESTORABILITY: "hooks where KV is stored to a tier and loaded back",
    Depth.ROUTING_HOOK: "a hook in the router",
    Depth.SCHEDULER_HOOK: "a hook where a request is admitted, deferred or refused",
    Depth.ALLOCATOR_HOOK: "a hook where the victim of an eviction is chosen",
    Depth.BACKEND_PATCH: "the source of the runtime, changed",
}

ORDERS: Final[Mapping[Order, str]] = {
    Order.CLAIM_BEFORE_EVENTS: "the claim is registered before the events that are reported for it",
    Order.LIFECYCLE: "the reports about the claim, from acceptance to its end",
    Order.DEMOTION_BEFORE_LOSS: "the claim is demoted before its blocks are evicted",
    Order.BOUNDARY_BEFORE_LOSS: "the expiry is reported before the blocks are evicted",
    Order.RESTORE_BEFORE_REUSE: "the restore is reported before the request reuses the blocks",
    Order.FAILURE_BEFORE_OUTCOME_BEFORE_END: "the restore fails, the outcome names the claim, "
    "then the request ends",
    Order.EXCLUSION_BEFORE_LOSS: (
        "the blocks are excluded as victims, or released, before any is evicted"
    ),
    Order.ACTION_BEFORE_END: "the action on a conflict is reported before the request ends",
    Order.LOSS_BEFORE_HARM: "the blocks are lost, then harm is reported for the claim",
    Order.PRESSURE_BEFORE_LOSS: "there is pressure, then a claim loses blocks",
    Order.ROUTE_BEFORE_REUSE: "the route is reported, then whether reuse followed",
}

MUST_HOLD: Final[Mapping[Precondition, str]] = {
    Precondition.ACCEPTED_CLAIM_REGISTRY: "claims are registered, outside the runtime, before the "
    "events that are judged",
    Precondition.STABLE_CLAIM_ID: "a claim keeps its id, and no request id is used for it",
    Precondition.REUSABLE_OBJECT_ID: "the object to be reused has one name throughout",
    Precondition.FIXED_PREDICATE: "the materialization predicate is known, and does not change",
    Precondition.REQUEST_TOKEN_MAP: (
        "the tokens of a request follow from the tokenizer, in the same way each time"
    ),
    Precondition.FIXED_CACHE_IDENTITY: "model, tokenizer, runtime, namespace, adapter and block "
    "size are those of the claim",
    Precondition.OBSERVATION_POINT: "the event or moment at which the predicate is judged is named",
    Precondition.JOINABLE_EVENTS: "events carry enough (block hashes or tokens, level, order) to "
    "be joined to the predicate",
    Precondition.AMBIGUITY_FAILS_CLOSED: (
        "no conclusion is drawn where fields are missing, owners are ambiguous, or claims are "
        "named afterwards"
    ),
    Precondition.ACCEPTED_BEFORE_OFFLOAD: "the claim is accepted before its blocks are stored",
    Precondition.HOOKS_NAME_THE_CLAIM: "the hooks of store and load name the same claim and cache",
    Precondition.RESTORE_BEFORE_REUSE: "the restore comes before the reuse that relies on it",
    Precondition.FAILURE_BEFORE_FALLBACK: (
        "a failed restore is reported before anything is recomputed and before the request ends"
    ),
    Precondition.ROUTE_SEES_CLAIM: "the router knows of the accepted claim when it decides",
    Precondition.FIXED_WORKER_NAMESPACE: "the names of workers and their caches do not change",
    Precondition.ROUTE_IS_ATTRIBUTED: "cost, placement and later reuse are reported for one claim",
    Precondition.NAMED_CONFLICT_BOUNDARY: "the point at which a conflict is found is named",
    Precondition.ACTION_BEFORE_END: "the action is reported before the request ends",
    Precondition.STABLE_BLOCKING_IDS: "each blocking claim is named, and the names do not change",
    Precondition.VICTIM_CANDIDATES: "the possible victims can be observed",
    Precondition.PROTECTED_FOOTPRINT: "the blocks of protected claims can be observed",
    Precondition.ORDERED_EXCLUSION: (
        "blocks are excluded, or released, before any of them is evicted"
    ),
    Precondition.PATCH_IDENTIFIED: "the patches, and the source they were imported from, are named",
    Precondition.PATCH_EXERCISED: "the run goes through the code that was changed",
    Precondition.ADJACENT_HOOKS_ABSENT: "other hooks, which the row does not name, are off",
    Precondition.ANALYZER_CHECKS: "order and identity are checked after the run, by something else",
}

PRIMITIVES: Final[Mapping[Signal, str]] = {
    Signal.BLOCK_EVENTS: "events of blocks stored and removed",
    Signal.BLOCK_REMOVED: "an event that a block is gone",
    Signal.CACHED_TOKENS: "how many tokens of a request were found in the cache",
    Signal.RETENTION_PRIORITY: "a priority by which blocks are kept",
    Signal.PRIORITY_IN_EVENT: "a priority that an event carries",
    Signal.PRIORITY_UPDATE: "a priority that can be changed later",
    Signal.LOWER_CACHE_LEVEL: "a cache level below the GPU",
    Signal.DURATION: "a duration or time to live that is stated",
    Signal.PIN_WITH_TTL: "a pin that expires",
    Signal.PIN: "a pin that must be removed explicitly",
    Signal.ACTIVE_NO_EVICT: "blocks of running requests are not evicted",
    Signal.LOCK_REFERENCE: "blocks that are in use are counted or locked",
    Signal.STORAGE_TIER: "a tier below the GPU to which blocks are stored",
    Signal.TIER_MOVEMENT: "the same prompt's blocks were seen to move between tiers",
    Signal.CLAIM_JOINED_OFFLOAD: "an offload that could be joined to a claim",
    Signal.ONBOARD_COUNTERS: "counters of loads that name no claim",
    Signal.LOAD_BACK: "blocks are loaded back from a tier",
    Signal.FAILED_LOAD_REPORT: "a failed load is reported, without a claim",
    Signal.SNAPSHOT_RESTORE: "a saved state of the cache can be restored",
    Signal.KV_AWARE_ROUTING: "a router that looks at what workers have in cache",
    Signal.REQUEST_HINT_RESULT: "the outcome of a hint is reported to its request",
}

WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "status": {
        Status.SUPPORTED: "shown; the only status that counts",
        Status.PARTIAL: "shown in part",
        Status.UNKNOWN: "looked for, without a result",
        Status.MISSING: "looked for, and not found",
    },
    "scope": {
        Scope.LITMUS_TRACE: "a run made to show this one thing; counts",
        Scope.CONFORMANCE_TRACE: "a run of a conformance suite, or one that the monitor judged; "
        "counts",
        Scope.DOCS_ONLY: "stated by documentation",
        Scope.SOURCE_INSPECTION: "found by reading the source",
    },
    "kind of anchor": {
        AnchorKind.TRACE: "a recorded run; can be evidence of an obligation",
        AnchorKind.ARTIFACT: "a published summary, made from traces; can be evidence",
        AnchorKind.DOCS: "documentation",
        AnchorKind.SOURCE: "source code",
        AnchorKind.ISSUE: "the author's own words in an issue or a pull request",
    },
    "claim": {
        ClaimScope.SAME_CLAIM: "the outcome is of the claim that was registered; the only one that "
        "counts",
        ClaimScope.ANOTHER_CLAIM: "the outcome is of another claim",
        ClaimScope.UNCLAIMED: "the outcome is of no claim",
        ClaimScope.NAMED_AFTERWARDS: "the claim was named afterwards",
    },
    "basis": {
        Basis.CLAIM_EVENTS: "events of the claim, or joined to it by a rule set beforehand; the "
        "only one that counts",
        Basis.GENERIC_COUNTERS: "counters that name no claim",
        Basis.FALLBACK_RECOMPUTE: "the blocks were recomputed instead",
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
