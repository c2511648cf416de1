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


def _action(name: str, says: str, fields: str = "") -> Row:
    """The row of an action on active work."""
    return Row(name, _REPORT, says, _NEVER, f"reason {fields}", request=True, action=True)


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
    CLAIM_ACCEPTED = Row(
        "claim_accepted",
        _REPORT,
        "the runtime reports that it accepts the claim",
        _MUST,
        fields="mode owner_scope duration priority footprint keys reason",
        required="footprint",
        lifecycle=True,
    )
    CLAIM_REJECTED = Row(
        "claim_rejected",
        _REPORT,
        "the runtime reports that it rejects the claim",
        _MUST,
        fields="reason",
        lifecycle=True,
    )
    CLAIM_MATERIALIZED = Row(
        "claim_materialized",
        _REPORT,
        "the runtime reports that the predicate holds",
        _MUST,
        lifecycle=True,
    )
    CLAIM_UNMATERIALIZED = Row(
        "claim_unmaterialized",
        _REPORT,
        "the runtime reports that the predicate no longer holds",
        _MUST,
        lifecycle=True,
    )
    CLAIM_OFFLOADED = Row(
        "claim_offloaded",
        _REPORT,
        "the runtime reports that the claim is in a tier other than the GPU",
        _MUST,
        fields="by",
        lifecycle=True,
    )
    CLAIM_RESTORE_REQUIRED = Row(
        "claim_restore_required",
        _REPORT,
        "the runtime reports that reuse needs a restore first",
        _MUST,
        request=True,
        lifecycle=True,
    )
    CLAIM_RESTORED = Row(
        "claim_restored",
        _REPORT,
        "the runtime reports that the claim was restored",
        _MUST,
        fields="from_tier",
        request=True,
        lifecycle=True,
    )
    CLAIM_RESTORATION_FAILED = Row(
        "claim_restoration_failed",
        _REPORT,
        "the runtime reports that a restore failed, and the outcome",
        _MUST,
        fields="outcome outcome_claim_id blocking_claim_ids duplicate echo",
        required="outcome",
        request=True,
        lifecycle=True,
    )
    CLAIM_DEMOTED = Row(
        "claim_demoted",
        _REPORT,
        "the runtime reports that it demoted the claim",
        _MUST,
        fields="by",
        required="by",
        lifecycle=True,
        ends=True,
    )
    CLAIM_EXPIRED = Row(
        "claim_expired",
        _REPORT,
        "the runtime reports that the claim expired",
        _MUST,
        fields="by",
        required="by",
        lifecycle=True,
        ends=True,
    )
    CLAIM_RELEASED = Row(
        "claim_released",
        _REPORT,
        "the runtime reports that the owner withdrew the claim",
        _MUST,
        fields="by",
        required="by",
        lifecycle=True,
        ends=True,
    )
    CLAIM_HARMED = Row(
        "claim_harmed",
        _REPORT,
        "the runtime reports that the claim was harmed",
        _MUST,
        fields="reason capacity",
        lifecycle=True,
    )
    CLAIM_BLOCK_LOST = Row(
        "claim_block_lost",
        _REPORT,
        "the runtime reports that the claim lost a block",
        _MUST,
        fields="block_ids",
    )
    # Reports about active work in conflict with resident claims.
    REQUEST_DEFERRED = _action("request_deferred", "the runtime reports that it deferred a request")
    REQUEST_REFUSED = _action(
        "request_refused",
        "the runtime reports that it refused a request",
        "restore outcome_claim_id duplicate echo",
    )
    REQUEST_ROUTED_ELSEWHERE = _action(
        "request_routed_elsewhere", "the runtime reports that it routed a request elsewhere"
    )
    REQUEST_BOUNDED = _action(
        "request_bounded", "the runtime reports that it bounded a request's live blocks"
    )
    REQUEST_OFFLOADED = _action(
        "request_offloaded", "the runtime reports that it offloaded active blocks"
    )
    REQUEST_SPLIT = _action(
        "request_split", "the runtime reports that it split or recomputed a request"
    )
    # Reports about routes.
    ROUTE_COST_REPORTED = Row(
        "route_cost_reported",
        _REPORT,
        "the router reports the cost of a route, for the claim",
        _MUST,
        fields="cost",
        required="cost",
        request=True,
        tells=("request_routed", "cost"),
    )
    ROUTE_PLACEMENT_REPORTED = Row(
        "route_placement_reported",
        _REPORT,
        "the router reports which worker it chose",
        _MUST,
        fields="worker",
        required="worker",
        request=True,
        tells=("request_routed", "worker"),
    )
    ROUTE_REUSE_REPORTED = Row(
        "route_reuse_reported",
        _REPORT,
        "the router reports whether the prefix was hit",
        _MUST,
        fields="hit",
        required="hit",
        request=True,
        tells=("reuse_served", "hit"),
    )
