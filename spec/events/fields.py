"""What the fields of a canonical event mean, in what unit, and which kinds speak of them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from spec.events.alphabet import CONFLICT_ACTIONS, REPORTS, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ABOUT_BLOCKS",
    "FIELDS",
    "IDENTITY",
    "RENEWS",
    "REQUEST_KINDS",
    "ROUTE_REPORTS",
    "RUNTIME",
    "STAMP",
    "fields_of",
    "required_of",
]

RUNTIME: Final = "runtime"
"""What `by` says where the runtime itself is behind a step."""

FIELDS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "kind": ("name", "what happened or was said: one of the kinds of this page"),
        "stream": ("name", "one engine, one pool, one run; where it is empty, the file"),
        "sequence": ("count", "place in the stream; grows, and a gap is missing events"),
        "time_ns": ("ns", "monotonic time; never runs backwards within a stream"),
        "claim_id": ("name", "the claim that the event names"),
        "request_id": ("name", "the request that the event belongs to"),
        "cache_identity": ("name", "which blocks are the same blocks, as one canonical text"),
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
        "by": ("name", "who is behind the step: a scope, or the word runtime"),
        "duration": ("text with unit", "how long responsibility lasts, such as 15 s or 60 steps"),
        "priority": ("number", "rank of the claim; more is higher"),
        "footprint": ("blocks", "size of the claim as committed or accepted"),
        "block_ids": (
            "list of ids",
            "physical blocks; a block_lost that lists none means all of them",
        ),
        "positions": ("list of positions", "logical positions of the claim, one for each block id"),
        "lowest_priority": (
            "number",
            "lowest priority among the blocks of claims that could be taken, those that were "
            "included; without it, any could",
        ),
        "found": (
            "yes or no",
            "the blocks were found in the cache, and the request did not compute them",
        ),
        "content_keys": (
            "list of names",
            "what each position of the claim holds, from 0 on: equal keys are equal blocks, in "
            "whatever claim",
        ),
        "held": (
            "blocks",
            "found by a look-up or brought back, from the first needed on; a look-up without it "
            "shows nothing",
        ),
        "asked": (
            "blocks",
            "blocks of the claim that the prompt of the look-up could use, from position 0 on; "
            "without it, finding less than is held shows nothing",
        ),
        "needed": (
            "blocks",
            "the most that the request can come to need, less what it shares with claims",
        ),
        "usable": ("blocks", "what of the pool is usable at all"),
        "blocking_claim_ids": ("list of names", "the claims that made the action necessary"),
        "proof": (
            "five counts of blocks",
            "capacity: resident + active = total > usable; shortfall is by how much",
        ),
        "restore": ("yes or no", "the refusal is for a restore that failed, not for want of room"),
        "outcome": ("name", "of a failed restore: refusal, demotion, expiry or harm"),
        "outcome_claim_id": ("name", "the claim that the outcome names"),
        "echo": ("yes or no", "a lower level repeats a failure that was already reported"),
        "from_tier": (
            "yes or no",
            "the restore came from the tier, not from recomputation",
        ),
        "cost": ("cost units of the router", "cost of the route"),
        "worker": ("name", "the worker of the route"),
        "hit": ("yes or no", "the routed request reused the claim's prefix"),
    }
)
"""The fields in the order of `spec.events.canonical.Event`: unit, and meaning."""

STAMP: Final = ("kind", "stream", "sequence", "time_ns")
"""The fields that every event has."""

IDENTITY: Final = ("cache_identity", "object_id", "predicate", "predicate_id", "token_map")
"""The fields that bind an event to the object of a claim; any event about a claim may have them."""

RENEWS: Final = frozenset({Kind.REQUEST_ARRIVED, Kind.REQUEST_ROUTED, Kind.LOAD_FAILED})
"""Facts of the next request of an id, where the one before has ended: a router speaks of it before
its arrival, and where an engine says that a load failed there may be an outcome to come."""

REQUEST_KINDS: Final = CONFLICT_ACTIONS | {
    Kind.REQUEST_ARRIVED,
    Kind.PREFIX_LOOKUP,
    Kind.PREFIX_REUSED,
    Kind.REQUEST_ROUTED,
    Kind.REUSE_SERVED,
    Kind.REQUEST_FINISHED,
    Kind.LOAD_FINISHED,
    Kind.LOAD_FAILED,
    Kind.CLAIM_RESTORE_REQUIRED,
    Kind.CLAIM_RESTORED,
    Kind.CLAIM_RESTORATION_FAILED,
    Kind.ROUTE_COST_REPORTED,
    Kind.ROUTE_PLACEMENT_REPORTED,
    Kind.ROUTE_REUSE_REPORTED,
}
"""The kinds that name a request."""

ABOUT_BLOCKS: Final = frozenset(
    {
        *(Kind.CLAIM_MATERIALIZED, Kind.CLAIM_UNMATERIALIZED, Kind.CLAIM_BLOCK_LOST),
        *(Kind.CLAIM_OFFLOADED, Kind.CLAIM_RESTORE_REQUIRED, Kind.CLAIM_RESTORED),
        *(Kind.CLAIM_HARMED, Kind.STORE_FINISHED, Kind.PREFIX_LOOKUP, Kind.PREFIX_REUSED),
    }
)
"""The kinds that speak of blocks of a claim which were there before them."""

ROUTE_REPORTS: Final[Mapping[Kind, tuple[Kind, str]]] = {
    Kind.ROUTE_COST_REPORTED: (Kind.REQUEST_ROUTED, "cost"),
    Kind.ROUTE_PLACEMENT_REPORTED: (Kind.REQUEST_ROUTED, "worker"),
    Kind.ROUTE_REUSE_REPORTED: (Kind.REUSE_SERVED, "hit"),
}
"""Of each report about a route the fact that it is about, and the field that both have."""

_NO_CLAIM: Final = CONFLICT_ACTIONS | {
    Kind.REQUEST_ARRIVED,
    Kind.REQUEST_FINISHED,
    Kind.STREAM_DISORDER,
}
_ASKED: Final = ("mode", "owner_scope", "duration", "priority")
_OWN: Final[Mapping[Kind, tuple[str, ...]]] = {
    Kind.CLAIM_REGISTERED: (*_ASKED, "footprint"),
    Kind.CLAIM_COMMITTED: (*_ASKED, "footprint", "content_keys"),
    Kind.CLAIM_ACCEPTED: (*_ASKED, "footprint"),
    Kind.BLOCK_CACHED: ("block_ids", "positions", "request_id", "found"),
    Kind.BLOCK_EVICTED: ("block_ids", "positions", "request_id", "lowest_priority"),
    Kind.BLOCK_LOST: ("block_ids", "positions"),
    Kind.CLAIM_BLOCK_LOST: ("block_ids",),
    Kind.CLAIM_RETIRED: ("by",),
    Kind.PREFIX_LOOKUP: ("held", "asked"),
    Kind.LOAD_FINISHED: ("held", "block_ids", "positions"),
    Kind.CLAIM_RESTORED: ("from_tier",),
    Kind.CLAIM_RESTORATION_FAILED: (
        "outcome",
        "outcome_claim_id",
        "blocking_claim_ids",
        "echo",
    ),
    Kind.CLAIM_DEMOTED: ("by",),
    Kind.CLAIM_EXPIRED: ("by",),
    Kind.CLAIM_RELEASED: ("by",),
    Kind.REQUEST_ARRIVED: ("needed", "usable"),
    Kind.REQUEST_REFUSED: ("restore", "outcome_claim_id", "echo"),
    Kind.REQUEST_ROUTED: ("cost", "worker"),
    Kind.REUSE_SERVED: ("hit",),
    Kind.ROUTE_COST_REPORTED: ("cost",),
    Kind.ROUTE_PLACEMENT_REPORTED: ("worker",),
    Kind.ROUTE_REUSE_REPORTED: ("hit",),
}


def fields_of(kind: Kind) -> tuple[str, ...]:
    """The fields that mean something on this kind, besides STAMP and IDENTITY."""
    names: tuple[str, ...] = () if kind in _NO_CLAIM else ("claim_id",)
    names += ("request_id",) if kind in REQUEST_KINDS else ()
    names += ("blocking_claim_ids", "proof") if kind in CONFLICT_ACTIONS else ()
    return names + _OWN.get(kind, ())


_BOUND: Final[Mapping[Kind, tuple[str, ...]]] = {
    Kind.CLAIM_REGISTERED: ("predicate",),
    Kind.CLAIM_COMMITTED: ("footprint",),
    Kind.CLAIM_ACCEPTED: ("footprint",),
    Kind.BLOCK_CACHED: ("block_ids", "positions"),
    Kind.BLOCK_EVICTED: ("block_ids",),
    Kind.CLAIM_RESTORATION_FAILED: ("outcome",),
    Kind.CLAIM_DEMOTED: ("by",),
    Kind.CLAIM_EXPIRED: ("by",),
    Kind.CLAIM_RELEASED: ("by",),
    Kind.REQUEST_ARRIVED: ("needed", "usable"),
    Kind.REQUEST_ROUTED: ("cost", "worker"),
    Kind.REUSE_SERVED: ("hit",),
    Kind.ROUTE_COST_REPORTED: ("cost",),
    Kind.ROUTE_PLACEMENT_REPORTED: ("worker",),
    Kind.ROUTE_REUSE_REPORTED: ("hit",),
}
_NAMES_CLAIM: Final = (REPORTS - CONFLICT_ACTIONS) | {
    Kind.CLAIM_REGISTERED,
    Kind.CLAIM_COMMITTED,
    Kind.CLAIM_RETIRED,
    Kind.DURATION_ELAPSED,
}


def required_of(kind: Kind) -> tuple[str, ...]:
    """The fields without which an event of this kind says too little to be judged.

    Facts about blocks, loads and routes may be about nobody's claim; loads, reuses and routes then
    say about which object they are (or of which blocks), or nobody can tell whose they are.
    """
    names: tuple[str, ...] = ("claim_id",) if kind in _NAMES_CLAIM else ()
    names += ("request_id",) if kind in REQUEST_KINDS else ()
    return names + _BOUND.get(kind, ())
