"""Defines what a guard may read: the fields of an event for one claim, and the claim's constants.

The monitor computes these fields for each claim from the canonical stream
(`spec.stream.fields`); the prover lets a most general runtime choose them
(`proofs.model.environment`). Both must offer exactly this list. Counts are in blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spec.language.terms import Scope, Sort, Var

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CONSTANTS", "EVENT_FIELDS", "Declared", "c", "e"]


class Declared:
    """Attribute access to declared variables, so that a misspelt field fails at import."""

    def __init__(self, scope: Scope, sorts: Mapping[str, Sort]) -> None:
        self._vars = {name: Var(scope, name, sort) for name, sort in sorts.items()}

    def __getattr__(self, name: str) -> Var:
        try:
            return self._vars[name]
        except KeyError:
            raise AttributeError(name) from None


_B, _I = Sort.BOOL, Sort.INT

EVENT_FIELDS: dict[str, tuple[Sort, str]] = {
    "mine": (_B, "the event concerns this claim's object (the key that hooks observe)"),
    "named": (_B, "the event names this claim's id (which an auditor reads)"),
    "here": (_B, "the event belongs to the request that is followed"),
    "lead": (_I, "contiguous blocks held from the predicate's start, after a fact about blocks"),
    "stored": (
        _B,
        "the tiers other than the GPU have a copy of all that the predicate needs, after the event",
    ),
    "restorable": (
        _B,
        "all that the predicate needs is on the GPU or has a copy in a tier, after the event",
    ),
    "footprint": (_I, "blocks that a commitment or an acceptance states"),
    "overstates": (
        _B,
        "the acceptance states more blocks or a longer duration than the commitment",
    ),
    "needed": (_I, "blocks that the arriving request needs"),
    "usable": (_I, "usable blocks of the pool"),
    "rest": (_I, "blocks of the other responsible claims of the pool, each block once"),
    "rest_since_arrival": (
        _I,
        "the same, of those claims only that are responsible since before the request arrived",
    ),
    "shared": (
        _I,
        "blocks of this claim that `rest` counts as well; at the end of a request, those that "
        "`rest_since_arrival` counts as well",
    ),
    "others": (_I, "blocks that the other unfinished requests need, in total"),
    "blamed": (_B, "this claim is among the blocking ids"),
    "shared_unblamed": (
        _I,
        "blocks that this claim shares with responsible claims that the event does not name",
    ),
    "blamed_rest": (_I, "blocks that the other named claims free without this one, in total"),
    "blamed_least": (
        _I,
        "blocks that only the other named claim with the least such blocks frees; 0 for none",
    ),
    "accuses": (_B, "the event names at least one blocking id"),
    "invalid_blocker": (
        _B,
        "a blocking id names no responsible claim of this pool, or one whose end frees no block",
    ),
    "restore": (_B, "the refusal is for a restore that failed, not for lack of capacity"),
    "blames_unfailed": (_B, "a claim is named whose restore for this request did not fail"),
    "unfounded_failure": (
        _B,
        "the refusal states a failed restore as its cause, and none failed for the request",
    ),
    "duplicate": (
        _B,
        "a component below the scheduler repeats a failure that the scheduler reported",
    ),
    "outcome": (
        _B,
        "the report states refusal, demotion, expiry or harm as the outcome and names this claim",
    ),
    "refusal": (_B, "the stated outcome is a refusal"),
    "harm": (_B, "the stated outcome is harm"),
    "from_tier": (_B, "the restore came from the offload tier, not from recomputation"),
    "intact": (
        _B,
        "a copy of the claim is loaded, and no block was computed in place of a restore",
    ),
    "authorised": (
        _B,
        "the transition is by the owner, or by the runtime within its rights; an offload needs a "
        "copy",
    ),
    "by": (_I, "the caller of the step, as a number; 0 where it is not stated"),
    "found": (_B, "the blocks were found in the cache; no request computed them"),
    "covers": (_B, "the look-up asked for all blocks that the predicate needs"),
    "breaks": (_B, "the report of a lost block implies that the predicate became false"),
    "new_loss": (
        _B,
        "the blocks that are reported lost were lost, and no earlier report named them",
    ),
    "lower_priority_available": (
        _B,
        "a claim of lower priority had a block that could have been evicted instead",
    ),
    "higher_priority_kept": (_B, "a claim of higher priority keeps its blocks"),
    "proof": (_B, "the report carries a capacity proof"),
    "said_resident": (_I, "protected resident blocks, as the capacity proof says"),
    "said_active": (_I, "active blocks required, as the capacity proof says"),
    "said_total": (_I, "resident plus active blocks, as the capacity proof says"),
    "said_usable": (_I, "usable blocks, as the capacity proof says"),
    "said_shortfall": (_I, "missing blocks, as the capacity proof says"),
    "cost": (_I, "cost of the route"),
    "worker": (_I, "the worker of the route, as a number"),
    "hit": (_B, "the routed request reused the claim's prefix"),
    "several_unreported": (_B, "several facts that the report could be about are not reported yet"),
    "matches_oldest": (_B, "the report agrees with the oldest fact that is not reported yet"),
}

CONSTANTS: dict[str, tuple[Sort, str]] = {
    "threshold": (_I, "blocks that the materialization predicate asks for, at least 1"),
    "lapses": (_B, "responsibility ends at the claim's duration by itself (mode expiring)"),
    "tiered": (_B, "copies in other tiers count for the claim (mode offloadable)"),
    "watched": (_B, "the mode promises only telemetry, which is owed from registration on"),
    "ranked": (_B, "the mode promises an order of losses, so each lost block is to be reported"),
}

e = Declared(Scope.EVENT, {name: sort for name, (sort, _) in EVENT_FIELDS.items()})
c = Declared(Scope.CLAIM, {name: sort for name, (sort, _) in CONSTANTS.items()})
