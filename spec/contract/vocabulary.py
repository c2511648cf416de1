"""What a guard may read: the event as one claim sees it, and the constants of that claim.

The monitor computes these fields for each claim from the canonical stream
(`monitor.stream.projection`); the prover lets a most general runtime choose them
(`proofs.model.environment`). Both must offer exactly this list. Counts are in blocks.
"""

from __future__ import annotations

from spec.language.terms import Scope, Sort, Var

__all__ = ["CONSTANTS", "EVENT_FIELDS", "c", "e"]


class _Names:
    """Attribute access to declared variables, so that a misspelt field fails at import."""

    def __init__(self, scope: Scope, fields: dict[str, tuple[Sort, str]]) -> None:
        self._vars = {name: Var(scope, name, sort) for name, (sort, _) in fields.items()}

    def __getattr__(self, name: str) -> Var:
        try:
            return self._vars[name]
        except KeyError:
            raise AttributeError(name) from None


_B, _I = Sort.BOOL, Sort.INT

EVENT_FIELDS: dict[str, tuple[Sort, str]] = {
    "mine": (_B, "the event concerns this claim's object: the key that hooks see"),
    "named": (_B, "the event names this claim's id: what an auditor reads"),
    "here": (_B, "the event belongs to the request that is followed"),
    "lead": (_I, "contiguous blocks held from the predicate's start after a block fact"),
    "footprint": (_I, "blocks that a commitment or an acceptance states"),
    "needed": (_I, "blocks that the arriving request needs"),
    "usable": (_I, "blocks of the pool that are usable at all"),
    "rest": (_I, "blocks of the other responsible claims of the pool, each block once"),
    "stood": (_I, "the same of those that were responsible when the request in hand arrived"),
    "shared": (
        _I,
        "blocks of this claim that are among `rest`, too; at the end of a request, among `stood`",
    ),
    "others": (_I, "blocks that the other requests in hand need, all together"),
    "blamed": (_B, "this claim is among the blocking ids"),
    "tied": (_I, "blocks of this claim that responsible claims have whom the event does not name"),
    "blamed_rest": (_I, "blocks that the other blamed claims free by themselves, all together"),
    "blamed_least": (
        _I,
        "what would not be freed without the other blamed claim that frees least; 0 for none",
    ),
    "accuses": (_B, "the event names at least one blocking id"),
    "stranger": (_B, "a blocking id is no claim responsible in this pool, or frees nothing"),
    "restore": (_B, "the refusal is for a restore that did fail, not for want of room"),
    "smear": (_B, "an id is named whose restore for this request did not fail"),
    "alleges": (
        _B,
        "the refusal is said to be for a restore that failed, and none did for the request",
    ),
    "echo": (_B, "repeats, at a lower level, a failure that the scheduler already reported"),
    "outcome": (_B, "states refusal, demotion, expiry or harm as the outcome, naming this claim"),
    "refusal": (_B, "the outcome that it states is a refusal"),
    "harm": (_B, "the outcome that it states is harm"),
    "from_tier": (_B, "the restore came from the offload tier, not from recomputation"),
    "intact": (
        _B,
        "a copy of the claim is loaded, and nothing was computed in place of a restore",
    ),
    "authorised": (_B, "the owner, or the runtime within its rights, is behind the transition"),
    "by": (_I, "who is behind the step, as a number; 0 where that is not stated"),
    "found": (_B, "the blocks were found in the cache; no request computed them"),
    "covers": (_B, "the look-up asked for all blocks that the predicate needs"),
    "breaks": (_B, "the report of a lost block implies that the predicate broke"),
    "unsaid": (_B, "the blocks that are reported lost were lost, and no report named them"),
    "passed": (_B, "a claim of lower priority had a block that could be taken instead"),
    "spared": (_B, "a claim of higher priority keeps its blocks"),
    "proof": (_B, "the report carries a capacity proof"),
    "said_resident": (_I, "protected resident blocks, as the capacity proof says"),
    "said_active": (_I, "active blocks required, as the capacity proof says"),
    "said_total": (_I, "resident plus active blocks, as the capacity proof says"),
    "said_usable": (_I, "usable blocks, as the capacity proof says"),
    "said_shortfall": (_I, "missing blocks, as the capacity proof says"),
    "cost": (_I, "cost of the route"),
    "worker": (_I, "the worker of the route, as a number"),
    "hit": (_B, "the routed request reused the claim's prefix"),
    "behind": (_B, "several facts of the kind that is reported are still to be told"),
    "oldest": (_B, "the report tells the oldest fact that is still to be told"),
}

CONSTANTS: dict[str, tuple[Sort, str]] = {
    "threshold": (_I, "blocks that the materialization predicate asks for, at least 1"),
    "lapses": (_B, "responsibility ends at the claim's duration by itself (mode expiring)"),
    "tiered": (_B, "a copy in the offload tier counts for the claim (mode offloadable)"),
    "watched": (_B, "the mode promises only telemetry, owed from registration on"),
    "ranked": (_B, "the mode promises an order of losses, so each loss is telemetry"),
}

e = _Names(Scope.EVENT, EVENT_FIELDS)
c = _Names(Scope.CLAIM, CONSTANTS)
