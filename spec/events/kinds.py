"""Defines the kinds of events, a row each: its role, its meaning and its fields."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Any

from msgspec import Struct

__all__ = ["Kind", "Names", "Role", "Row"]


class Role(Enum):
    """Who is answerable for an event."""

    CHOICE = "fact, chosen by the runtime"
    ENVIRONMENT = "fact, from outside the runtime"
    REPORT = "report"


class Names(Enum):
    """Whether an event names a claim by `claim_id`."""

    NEVER = "never"
    MAY = "may"
    MUST = "must"


class Row(Struct, frozen=True):
    """All that is stated of a kind; the tables of kinds and fields are made from these.

    Args:
        name: what it is called in a stream.
        says: what happened, or what is reported, in words.
        claim: whether it names a claim.
        fields: what it may state besides claim, request, time and identity, with blanks between.
        required: those without which it cannot be judged, besides claim and request; of fields
            with a bar between them one is enough.
        request: it names a request, always.
        renews: a fact of the next request of an id, where the one before has ended: a router
        reports on it before its arrival, and where an engine reports that a load failed there may
        be an outcome to come.
        lifecycle: a report that moves the claim along its lifecycle.
        ends: a report that ends responsibility.
        blocks_gone: a fact that takes cached blocks away.
        action: a report of an action on active work in conflict with claims.
        tells: of a report about a route, the fact that it is about, and the field that both have.
    """

    name: str
    role: Role
    says: str
    claim: Names
    fields: str = ""
    required: str = ""
    request: bool = False
    renews: bool = False
    lifecycle: bool = False
    ends: bool = False
    blocks_gone: bool = False
    action: bool = False
    tells: tuple[str, str] | None = None


_MAY, _MUST, _NEVER = Names.MAY, Names.MUST, Names.NEVER
_CHOICE, _OUTSIDE = Role.CHOICE, Role.ENVIRONMENT
_REPORT = Role.REPORT


_COPIES = "block_ids positions keys tier group"
"""What a fact about blocks or copies may state of them."""

_WHOSE = "claim_id|object_id|keys|block_ids"
"""What a fact about copies states of whose they are: at least one of these."""


def _report(name: str, says: str, **more: Any) -> Row:
    """The row of a report about a claim."""
    return Row(name, _REPORT, f"the runtime reports that {says}", _MUST, **more)


def _step(name: str, says: str, **more: Any) -> Row:
    """The row of a report that moves the claim along its lifecycle."""
    return _report(name, says, lifecycle=True, **more)


def _end(name: str, says: str) -> Row:
    """The row of a report that ends responsibility."""
    return _step(name, says, fields="by", required="by", ends=True)


def _action(name: str, says: str, fields: str = "") -> Row:
    """The row of an action on active work."""
    fields = f"reason {fields}"
    says = f"the runtime reports that {says}"
    return Row(name, _REPORT, says, _NEVER, fields, request=True, action=True)


def _route(name: str, says: str, field: str, of: str) -> Row:
    """The row of a report of a router about a fact `of` a route, both of which have the field."""
    says = f"the router reports {says}"
    return Row(name, _REPORT, says, _MUST, field, field, request=True, tells=(of, field))


class Kind(StrEnum):
    """The kinds of events of the canonical form."""

    _value_: str
    row: Row

    def __new__(cls, row: Any) -> Kind:  # for type checkers, Kind(text) calls it as well
        """The member with its row."""
        member = str.__new__(cls, row.name)
        member._value_, member.row = row.name, row
        return member

    # Facts about a claim's registry entry and its blocks.
    CLAIM_REGISTERED = Row(
        "claim_registered",
        _OUTSIDE,
        "a claim was submitted, or an auditor's registry holds it",
        _MUST,
        fields="mode owner_scope duration priority footprint keys",
        required="predicate",
    )
    CLAIM_COMMITTED = Row(
        "claim_committed",
        _CHOICE,
        "the runtime's registry took responsibility for the claim",
        _MUST,
        fields="mode owner_scope duration priority footprint keys content_keys",
        required="footprint",
    )
    CLAIM_RETIRED = Row(
        "claim_retired", _CHOICE, "the registry entry of the claim ended", _MUST, fields="by"
    )
    DURATION_ELAPSED = Row(
        "duration_elapsed", _OUTSIDE, "the clock reached the claim's duration", _MUST
    )
    BLOCK_CACHED = Row(
        "block_cached",
        _CHOICE,
        "blocks are cached, at logical positions of the claim or with keys",
        _MAY,
        fields=f"{_COPIES} request_id found",
        required="block_ids|keys",
    )
    BLOCK_EVICTED = Row(
        "block_evicted",
        _CHOICE,
        "the allocator chose cached blocks as victims",
        _MAY,
        fields=f"{_COPIES} request_id lowest_priority",
        required="block_ids|keys",
        blocks_gone=True,
    )
    BLOCK_LOST = Row(
        "block_lost",
        _OUTSIDE,
        "cached blocks were lost to a reset or a failure",
        _MAY,
        fields=_COPIES,
        blocks_gone=True,
    )
    # Facts about copies in other tiers.
    STORE_FINISHED = Row(
        "store_finished",
        _OUTSIDE,
        "the claim's blocks were copied to a tier other than the GPU",
        _MAY,
        fields=_COPIES,
        required=_WHOSE,
    )
    HOST_COPY_FOUND = Row(
        "host_copy_found",
        _OUTSIDE,
        "a copy of the claim's blocks was found in a tier",
        _MAY,
        fields=_COPIES,
    )
    HOST_COPY_LOST = Row(
        "host_copy_lost",
        _OUTSIDE,
        "a copy of the claim's blocks in a tier is gone",
        _MAY,
        fields=_COPIES,
    )
    LOAD_FINISHED = Row(
        "load_finished",
        _OUTSIDE,
        "the claim's blocks were loaded back for a request",
        _MAY,
        fields=f"held {_COPIES}",
        required=_WHOSE,
        request=True,
    )
    LOAD_FAILED = Row(
        "load_failed",
        _OUTSIDE,
        "loading the claim's blocks back for a request failed",
        _MAY,
        fields=_COPIES,
        required=_WHOSE,
        request=True,
        renews=True,
    )
    # Facts about requests.
    REQUEST_ARRIVED = Row(
        "request_arrived",
        _OUTSIDE,
        "a request arrived, with the blocks that it needs and the usable blocks of the pool",
        _NEVER,
        fields="needed usable",
        required="needed usable",
        request=True,
        renews=True,
    )
    PREFIX_LOOKUP = Row(
        "prefix_lookup",
        _CHOICE,
        "a request looked up the blocks of the claim that it can use",
        _MAY,
        fields="held asked block_ids keys tier group",
        request=True,
    )
    PREFIX_REUSED = Row(
        "prefix_reused",
        _CHOICE,
        "a request consumed the claim's prefix",
        _MAY,
        fields="block_ids keys tier group",
        required=_WHOSE,
        request=True,
    )
    REQUEST_ROUTED = Row(
        "request_routed",
        _CHOICE,
        "the router sent a request to a worker, at a cost",
        _MAY,
        fields="cost worker keys",
        required="cost worker claim_id|object_id|keys",
        request=True,
        renews=True,
    )
    REUSE_SERVED = Row(
        "reuse_served",
        _CHOICE,
        "the routed request hit or missed the claim's prefix",
        _MAY,
        fields="hit keys",
        required="hit claim_id|object_id|keys",
        request=True,
    )
    REQUEST_FINISHED = Row(
        "request_finished",
        _CHOICE,
        "a request ended: finished, aborted or refused",
        _NEVER,
        request=True,
    )
    # Reports about a claim.
    CLAIM_ACCEPTED = _step(
        "claim_accepted",
        "it accepts the claim",
        fields="mode owner_scope duration priority footprint keys reason",
        required="footprint",
    )
    CLAIM_REJECTED = _step("claim_rejected", "it rejects the claim", fields="reason")
    CLAIM_MATERIALIZED = _step("claim_materialized", "the predicate holds")
    CLAIM_UNMATERIALIZED = _step("claim_unmaterialized", "the predicate no longer holds")
    CLAIM_OFFLOADED = _step(
        "claim_offloaded", "the claim is in a tier other than the GPU", fields="by"
    )
    CLAIM_RESTORE_REQUIRED = _step(
        "claim_restore_required", "reuse needs a restore first", request=True
    )
    CLAIM_RESTORED = _step(
        "claim_restored", "the claim was restored", fields="from_tier", request=True
    )
    CLAIM_RESTORATION_FAILED = _step(
        "claim_restoration_failed",
        "a restore failed, and the outcome",
        fields="outcome outcome_claim_id blocking_claim_ids duplicate echo",
        required="outcome",
        request=True,
    )
    CLAIM_DEMOTED = _end("claim_demoted", "it demoted the claim")
    CLAIM_EXPIRED = _end("claim_expired", "the claim expired")
    CLAIM_RELEASED = _end("claim_released", "the owner withdrew the claim")
    CLAIM_HARMED = _step("claim_harmed", "the claim was harmed", fields="reason capacity")
    CLAIM_BLOCK_LOST = _report("claim_block_lost", "the claim lost a block", fields="block_ids")
    # Reports about active work in conflict with resident claims.
    REQUEST_DEFERRED = _action("request_deferred", "it deferred a request")
    REQUEST_REFUSED = _action(
        "request_refused", "it refused a request", "restore outcome_claim_id duplicate echo"
    )
    REQUEST_ROUTED_ELSEWHERE = _action("request_routed_elsewhere", "it routed a request elsewhere")
    REQUEST_BOUNDED = _action("request_bounded", "it bounded a request's live blocks")
    REQUEST_OFFLOADED = _action("request_offloaded", "it offloaded active blocks")
    REQUEST_SPLIT = _action("request_split", "it split or recomputed a request")
    # Reports about routes.
    ROUTE_COST_REPORTED = _route(
        "route_cost_reported", "the cost of a route, for the claim", "cost", of="request_routed"
    )
    ROUTE_PLACEMENT_REPORTED = _route(
        "route_placement_reported", "which worker it chose", "worker", of="request_routed"
    )
    ROUTE_REUSE_REPORTED = _route(
        "route_reuse_reported", "whether the prefix was hit", "hit", of="reuse_served"
    )
