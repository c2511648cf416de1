"""Defines the kinds of events, a row each: its role, its meaning and its fields."""

from __future__ import annotations

from enum import StrEnum

from spec.events.row import By, Names, Role, Row

__all__ = ["Kind"]

_MAY, _MUST, _NEVER = Names.MAY, Names.MUST, Names.NEVER
_CHOICE, _OUTSIDE = Role.CHOICE, Role.ENVIRONMENT
_REPORT = Role.REPORT


_COPIES = "block_ids positions keys tier group"
"""What a fact about blocks or copies may state of them."""

_WHOSE = "claim_id|object_id|keys|block_ids"
"""What a fact about copies states of whose they are: at least one of these."""


def _action(says: str, fields: str = "") -> Row:
    """The row of an action on active work."""
    return Row(_REPORT, says, _NEVER, f"reason {fields}", request=True, action=True)


class Kind(StrEnum):
    """The kinds of events of the canonical form."""

    _value_: str
    row: Row

    def __new__(cls, value: str, *row: Row) -> Kind:
        """The member with its row."""
        member = str.__new__(cls, value)
        member._value_ = value
        (member.row,) = row
        return member

    # Facts about a claim's registry entry and its blocks.
    CLAIM_REGISTERED = (
        "claim_registered",
        Row(
            _OUTSIDE,
            "a claim was submitted, or an auditor's registry holds it",
            _MUST,
            fields="mode owner_scope duration priority footprint keys",
            required="predicate",
        ),
    )
    CLAIM_COMMITTED = (
        "claim_committed",
        Row(
            _CHOICE,
            "the runtime's registry took responsibility for the claim",
            _MUST,
            fields="mode owner_scope duration priority footprint keys content_keys",
            required="footprint",
        ),
    )
    CLAIM_RETIRED = (
        "claim_retired",
        Row(_CHOICE, "the registry entry of the claim ended", _MUST, fields="by", by=(By.ENTRY,)),
    )
    DURATION_ELAPSED = (
        "duration_elapsed",
        Row(_OUTSIDE, "the clock reached the claim's duration", _MUST),
    )
    BLOCK_CACHED = (
        "block_cached",
        Row(
            _CHOICE,
            "blocks are cached, at logical positions of the claim or with keys",
            _MAY,
            fields=f"{_COPIES} request_id found",
            required="block_ids|keys",
            by=(By.NAME, By.OBJECT, By.CONTENT, By.REQUEST),
        ),
    )
    BLOCK_EVICTED = (
        "block_evicted",
        Row(
            _CHOICE,
            "the allocator chose cached blocks as victims",
            _MAY,
            fields=f"{_COPIES} request_id lowest_priority",
            required="block_ids|keys",
            blocks_gone=True,
            by=(By.LOSS, By.POOL),
        ),
    )
    BLOCK_LOST = (
        "block_lost",
        Row(
            _OUTSIDE,
            "cached blocks were lost to a reset or a failure",
            _MAY,
            fields=_COPIES,
            blocks_gone=True,
            by=(By.LOSS,),
        ),
    )
    # Facts about copies in other tiers.
    STORE_FINISHED = (
        "store_finished",
        Row(
            _OUTSIDE,
            "the claim's blocks were copied to a tier other than the GPU",
            _MAY,
            fields=_COPIES,
            required=_WHOSE,
            about_blocks=True,
        ),
    )
    HOST_COPY_FOUND = (
        "host_copy_found",
        Row(_OUTSIDE, "a copy of the claim's blocks was found in a tier", _MAY, fields=_COPIES),
    )
    HOST_COPY_LOST = (
        "host_copy_lost",
        Row(_OUTSIDE, "a copy of the claim's blocks in a tier is gone", _MAY, fields=_COPIES),
    )
    LOAD_FINISHED = (
        "load_finished",
        Row(
            _OUTSIDE,
            "the claim's blocks were loaded back for a request",
            _MAY,
            fields=f"held {_COPIES}",
            required=_WHOSE,
            request=True,
            by=(By.NAME, By.OBJECT, By.BLOCKS, By.CONTENT, By.REQUEST),
        ),
    )
    LOAD_FAILED = (
        "load_failed",
        Row(
            _OUTSIDE,
            "loading the claim's blocks back for a request failed",
            _MAY,
            fields=_COPIES,
            required=_WHOSE,
            request=True,
            renews=True,
        ),
    )
    # Facts about requests.
    REQUEST_ARRIVED = (
        "request_arrived",
        Row(
            _OUTSIDE,
            "a request arrived, with the blocks that it needs and the usable blocks of the pool",
            _NEVER,
            fields="needed usable",
            required="needed usable",
            request=True,
            renews=True,
        ),
    )
    PREFIX_LOOKUP = (
        "prefix_lookup",
        Row(
            _CHOICE,
            "a request looked up the blocks of the claim that it can use",
            _MAY,
            fields="held asked block_ids keys tier group",
            request=True,
            about_blocks=True,
        ),
    )
    PREFIX_REUSED = (
        "prefix_reused",
        Row(
            _CHOICE,
            "a request consumed the claim's prefix",
            _MAY,
            fields="block_ids keys tier group",
            required=_WHOSE,
            request=True,
            about_blocks=True,
        ),
    )
    REQUEST_ROUTED = (
        "request_routed",
        Row(
            _CHOICE,
            "the router sent a request to a worker, at a cost",
            _MAY,
            fields="cost worker keys",
            required="cost worker claim_id|object_id|keys",
            request=True,
            renews=True,
        ),
    )
    REUSE_SERVED = (
        "reuse_served",
        Row(
            _CHOICE,
            "the routed request hit or missed the claim's prefix",
            _MAY,
            fields="hit keys",
            required="hit claim_id|object_id|keys",
            request=True,
        ),
    )
    REQUEST_FINISHED = (
        "request_finished",
        Row(_CHOICE, "a request ended: finished, aborted or refused", _NEVER, request=True),
    )
    # Reports about a claim.
    CLAIM_ACCEPTED = (
        "claim_accepted",
        Row(
            _REPORT,
            "the runtime reports that it accepts the claim",
            _MUST,
            fields="mode owner_scope duration priority footprint keys reason",
            required="footprint",
            lifecycle=True,
        ),
    )
    CLAIM_REJECTED = (
        "claim_rejected",
        Row(
            _REPORT,
            "the runtime reports that it rejects the claim",
            _MUST,
            fields="reason",
            lifecycle=True,
        ),
    )
    CLAIM_MATERIALIZED = (
        "claim_materialized",
        Row(
            _REPORT,
            "the runtime reports that the predicate holds",
            _MUST,
            about_blocks=True,
            lifecycle=True,
        ),
    )
    CLAIM_UNMATERIALIZED = (
        "claim_unmaterialized",
        Row(
            _REPORT,
            "the runtime reports that the predicate no longer holds",
            _MUST,
            about_blocks=True,
            lifecycle=True,
        ),
    )
    CLAIM_OFFLOADED = (
        "claim_offloaded",
        Row(
            _REPORT,
            "the runtime reports that the claim is in a tier other than the GPU",
            _MUST,
            fields="by",
            about_blocks=True,
            lifecycle=True,
        ),
    )
    CLAIM_RESTORE_REQUIRED = (
        "claim_restore_required",
        Row(
            _REPORT,
            "the runtime reports that reuse needs a restore first",
            _MUST,
            request=True,
            about_blocks=True,
            lifecycle=True,
        ),
    )
    CLAIM_RESTORED = (
        "claim_restored",
        Row(
            _REPORT,
            "the runtime reports that the claim was restored",
            _MUST,
            fields="from_tier",
            request=True,
            about_blocks=True,
            lifecycle=True,
        ),
    )
    CLAIM_RESTORATION_FAILED = (
        "claim_restoration_failed",
        Row(
            _REPORT,
            "the runtime reports that a restore failed, and the outcome",
            _MUST,
            fields="outcome outcome_claim_id blocking_claim_ids duplicate echo",
            required="outcome",
            request=True,
            lifecycle=True,
        ),
    )
    CLAIM_DEMOTED = (
        "claim_demoted",
        Row(
            _REPORT,
            "the runtime reports that it demoted the claim",
            _MUST,
            fields="by",
            required="by",
            lifecycle=True,
            ends=True,
        ),
    )
    CLAIM_EXPIRED = (
        "claim_expired",
        Row(
            _REPORT,
            "the runtime reports that the claim expired",
            _MUST,
            fields="by",
            required="by",
            lifecycle=True,
            ends=True,
        ),
    )
    CLAIM_RELEASED = (
        "claim_released",
        Row(
            _REPORT,
            "the runtime reports that the owner withdrew the claim",
            _MUST,
            fields="by",
            required="by",
            lifecycle=True,
            ends=True,
        ),
    )
    CLAIM_HARMED = (
        "claim_harmed",
        Row(
            _REPORT,
            "the runtime reports that the claim was harmed",
            _MUST,
            fields="reason capacity",
            about_blocks=True,
            lifecycle=True,
        ),
    )
    CLAIM_BLOCK_LOST = (
        "claim_block_lost",
        Row(
            _REPORT,
            "the runtime reports that the claim lost a block",
            _MUST,
            fields="block_ids",
            about_blocks=True,
        ),
    )
    # Reports about active work in conflict with resident claims.
    REQUEST_DEFERRED = "request_deferred", _action("the runtime reports that it deferred a request")
    REQUEST_REFUSED = (
        "request_refused",
        _action(
            "the runtime reports that it refused a request",
            "restore outcome_claim_id duplicate echo",
        ),
    )
    REQUEST_ROUTED_ELSEWHERE = (
        "request_routed_elsewhere",
        _action("the runtime reports that it routed a request elsewhere"),
    )
    REQUEST_BOUNDED = (
        "request_bounded",
        _action("the runtime reports that it bounded a request's live blocks"),
    )
    REQUEST_OFFLOADED = (
        "request_offloaded",
        _action("the runtime reports that it offloaded active blocks"),
    )
    REQUEST_SPLIT = (
        "request_split",
        _action("the runtime reports that it split or recomputed a request"),
    )
    # Reports about routes.
    ROUTE_COST_REPORTED = (
        "route_cost_reported",
        Row(
            _REPORT,
            "the router reports the cost of a route, for the claim",
            _MUST,
            fields="cost",
            required="cost",
            request=True,
            tells=("request_routed", "cost"),
        ),
    )
    ROUTE_PLACEMENT_REPORTED = (
        "route_placement_reported",
        Row(
            _REPORT,
            "the router reports which worker it chose",
            _MUST,
            fields="worker",
            required="worker",
            request=True,
            tells=("request_routed", "worker"),
        ),
    )
    ROUTE_REUSE_REPORTED = (
        "route_reuse_reported",
        Row(
            _REPORT,
            "the router reports whether the prefix was hit",
            _MUST,
            fields="hit",
            required="hit",
            request=True,
            tells=("reuse_served", "hit"),
        ),
    )
