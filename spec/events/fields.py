"""Defines the fields of canonical events: unit, meaning, and the kinds that have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spec.events.alphabet import Kind
from spec.events.kinds import Names

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "FIELDS",
    "FLAGS",
    "IDENTITY",
    "OF_MODEL",
    "OLD_NAMES",
    "RENEWS",
    "REQUEST_KINDS",
    "ROUTE_REPORTS",
    "RUNTIME",
    "STAMP",
    "fields_of",
    "one_of",
    "required_of",
]

RUNTIME: Final = "runtime"
"""What `by` says where the runtime itself is behind a step."""

FIELDS: Final[Mapping[str, tuple[str, str]]] = {
    "kind": ("name", "what happened or was reported: one of the kinds of this page"),
    "stream": (
        "name",
        "names one run of one engine, with one pool; where it is empty, the file is the stream",
    ),
    "sequence": (
        "count",
        "position in the stream; it increases, and a gap means that events are missing",
    ),
    "time_ns": ("ns", "monotonic time; never decreases within a stream"),
    "claim_id": ("name", "the claim that the event names"),
    "request_id": ("name", "the request that the event belongs to"),
    "cache_identity": (
        "name",
        "the cache identity (model, tokenizer, block size and so on), as one canonical text",
    ),
    "object_id": (
        "name",
        "the object that the claim was made for; a fact that names no claim is about the "
        "claims on its object",
    ),
    "predicate": ("text", "materialization predicate, such as leading_prefix_at_least(40)"),
    "predicate_id": ("name", "the predicate by a name, where its text is not given"),
    "token_map": ("name", "digest of the map from tokens to logical block positions"),
    "mode": ("name", "the mode that the claim asks for or was accepted in"),
    "owner_scope": ("name", "who owns the claim"),
    "by": (
        "name",
        "the caller of the step: a scope, or the word runtime; a claim_offloaded that states "
        "it ends responsibility, as claim_demoted does",
    ),
    "duration": (
        "text with unit",
        "how long responsibility lasts, such as 15 s or 60 steps: as asked for, as committed "
        "(which may be shorter), or as accepted",
    ),
    "priority": ("number", "rank of the claim; more is higher"),
    "footprint": (
        "blocks",
        "size of the claim: as asked for, as committed (which may be less), or as accepted",
    ),
    "block_ids": (
        "list of ids",
        "physical blocks; a block_lost that lists none means all of them",
    ),
    "positions": (
        "list of positions",
        "logical positions of the claim, one for each block id; a block_cached that names a "
        "claim or an object has them or keys",
    ),
    "lowest_priority": (
        "number",
        "lowest priority among the blocks of claims that could be evicted, the evicted "
        "ones included; without it, any could be",
    ),
    "found": (
        "yes or no",
        "the blocks were found in the cache, and the request did not compute them",
    ),
    "keys": (
        "list of ids",
        "content keys, such as the engine's block hashes: of the positions of a claim, from 0 "
        "on, or of the blocks of a fact, one for each block id; equal keys of one cache "
        "identity and group are equal content",
    ),
    "content_keys": ("list of names", "the old name of `keys`"),
    "tier": (
        "name",
        "where the blocks or copies are: gpu, cpu, disk, external or another name; without it "
        "the GPU for blocks, and cpu for copies",
    ),
    "group": (
        "number",
        "the group of KV caches that the blocks belong to (`stream_opened` states its kind); "
        "0 without it",
    ),
    "held": (
        "blocks",
        "found by a look-up or brought back, from the first needed on; a look-up without it "
        "shows nothing, and a load of more than 1,048,576 states which",
    ),
    "asked": (
        "blocks",
        "blocks of the claim that the prompt of the look-up could use, from position 0 on; "
        "without it, finding less than is held shows nothing",
    ),
    "needed": (
        "blocks",
        "the most that the request can need, less what it shares with claims",
    ),
    "usable": ("blocks", "usable blocks of the pool"),
    "blocking_claim_ids": ("list of names", "the claims that made the action necessary"),
    "proof": (
        "five counts of blocks",
        "capacity proof: resident + active = total > usable; shortfall = total - usable",
    ),
    "reason": ("text", "why the runtime decided so; shown, and not judged"),
    "capacity": (
        "five counts of blocks",
        "the pool when the claim was harmed, as in `proof`; shown, and not judged",
    ),
    "restore": (
        "yes or no",
        "the refusal is for a restore that failed, not for lack of capacity",
    ),
    "outcome": ("name", "of a failed restore: refusal, demotion, expiry or harm"),
    "outcome_claim_id": ("name", "the claim that the outcome names"),
    "duplicate": (
        "yes or no",
        "a component below the scheduler, such as a connector, repeats a reported failure",
    ),
    "echo": ("yes or no", "the old name of `duplicate`"),
    "from_tier": (
        "yes or no",
        "the restore came from a tier, not from recomputation",
    ),
    "restated": (
        "yes or no",
        "the event states what stands already, for readers that missed it; others skip it",
    ),
    "cost": ("cost units of the router", "cost of the route"),
    "worker": ("name", "the worker of the route"),
    "hit": ("yes or no", "the routed request reused the claim's prefix"),
}
"""The fields in the order of `spec.events.canonical.Event`: unit, and meaning."""

STAMP: Final = ("kind", "stream", "sequence", "time_ns")
"""The fields that every event has."""

FLAGS: Final = ("restated",)
"""The fields that every event may have, and no mark has."""

OLD_NAMES: Final[Mapping[str, str]] = {"content_keys": "keys", "echo": "duplicate"}
"""Fields of version 1 under names that are still read, with the names of today."""

OF_MODEL: Final = "kv:model"
"""The cache identity in runs of models, by which they differ from runs of engines."""

IDENTITY: Final = ("cache_identity", "object_id", "predicate", "predicate_id", "token_map")
"""The fields that bind an event to the object of a claim; any event about a claim may have them."""

RENEWS: Final = frozenset(kind for kind in Kind if kind.row.renews)
"""Facts of the next request of an id, where the one before has ended."""

REQUEST_KINDS: Final = frozenset(kind for kind in Kind if kind.row.request)
"""The kinds that name a request."""

ROUTE_REPORTS: Final[Mapping[Kind, tuple[Kind, str]]] = {
    kind: (Kind(kind.row.tells[0]), kind.row.tells[1]) for kind in Kind if kind.row.tells
}
"""Of each report about a route the fact that it is about, and the field that both have."""


def fields_of(kind: Kind) -> tuple[str, ...]:
    """The fields that mean something on this kind, besides STAMP and IDENTITY."""
    row = kind.row
    names: tuple[str, ...] = () if row.claim is Names.NEVER else ("claim_id",)
    names += ("request_id",) if row.request else ()
    names += ("blocking_claim_ids", "proof") if row.action else ()
    return names + tuple(row.fields.split())


def required_of(kind: Kind) -> tuple[str, ...]:
    """The fields without which an event of this kind says too little to be judged.

    Facts about blocks, loads and routes may concern no claim; then `one_of` lists what they name.
    """
    row = kind.row
    names: tuple[str, ...] = ("claim_id",) if row.claim is Names.MUST else ()
    names += ("request_id",) if row.request else ()
    return names + tuple(name for name in row.required.split() if "|" not in name)


def one_of(kind: Kind) -> tuple[str, ...]:
    """Fields of which an event of this kind states at least one, or it cannot be judged."""
    return tuple(n for each in kind.row.required.split() if "|" in each for n in each.split("|"))
