"""The alphabet: every kind of event, and who is answerable for it.

A **fact** is what an instrumented allocator, connector, scheduler or router did; hooks are trusted
to observe facts faithfully, and that is the whole of the trust. A **report** is what the runtime
says, and reports are on trial. Some facts are the runtime's own choice (it evicts a block); others
are the environment's (a device resets, a clock reaches a duration), and a runtime is never blamed
for those.

Names are vLLM's and the papers' where they have one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum

__all__ = [
    "BLOCKS_GONE",
    "CONFLICT_ACTIONS",
    "ENDS",
    "ENVIRONMENT",
    "FACTS",
    "KINDS",
    "LIFECYCLE_REPORTS",
    "REPORTS",
    "Kind",
    "KindInfo",
    "Role",
]


class Role(Enum):
    """Who is answerable for an event."""

    CHOICE = "fact, chosen by the runtime"
    ENVIRONMENT = "fact, from outside the runtime"
    REPORT = "report"
    STREAM = "a property of the stream itself"


class Kind(StrEnum):
    """The kinds of events of the canonical form."""

    # Facts about a claim's registry entry and its blocks.
    CLAIM_REGISTERED = "claim_registered"
    CLAIM_COMMITTED = "claim_committed"
    CLAIM_RETIRED = "claim_retired"
    DURATION_ELAPSED = "duration_elapsed"
    BLOCK_CACHED = "block_cached"
    BLOCK_EVICTED = "block_evicted"
    BLOCK_LOST = "block_lost"
    # Facts about the offload tier.
    STORE_FINISHED = "store_finished"
    HOST_COPY_FOUND = "host_copy_found"
    HOST_COPY_LOST = "host_copy_lost"
    LOAD_FINISHED = "load_finished"
    LOAD_FAILED = "load_failed"
    # Facts about requests.
    REQUEST_ARRIVED = "request_arrived"
    PREFIX_LOOKUP = "prefix_lookup"
    PREFIX_REUSED = "prefix_reused"
    REQUEST_ROUTED = "request_routed"
    REUSE_SERVED = "reuse_served"
    REQUEST_FINISHED = "request_finished"
    # Reports about a claim.
    CLAIM_ACCEPTED = "claim_accepted"
    CLAIM_REJECTED = "claim_rejected"
    CLAIM_MATERIALIZED = "claim_materialized"
    CLAIM_UNMATERIALIZED = "claim_unmaterialized"
    CLAIM_OFFLOADED = "claim_offloaded"
    CLAIM_RESTORE_REQUIRED = "claim_restore_required"
    CLAIM_RESTORED = "claim_restored"
    CLAIM_RESTORATION_FAILED = "claim_restoration_failed"
    CLAIM_DEMOTED = "claim_demoted"
    CLAIM_EXPIRED = "claim_expired"
    CLAIM_RELEASED = "claim_released"
    CLAIM_HARMED = "claim_harmed"
    CLAIM_BLOCK_LOST = "claim_block_lost"
    # Reports about active work in conflict with resident claims.
    REQUEST_DEFERRED = "request_deferred"
    REQUEST_REFUSED = "request_refused"
    REQUEST_ROUTED_ELSEWHERE = "request_routed_elsewhere"
    REQUEST_BOUNDED = "request_bounded"
    REQUEST_OFFLOADED = "request_offloaded"
    REQUEST_SPLIT = "request_split"
    # Reports about routes.
    ROUTE_COST_REPORTED = "route_cost_reported"
    ROUTE_PLACEMENT_REPORTED = "route_placement_reported"
    ROUTE_REUSE_REPORTED = "route_reuse_reported"
    # What the reader of a stream noticed.
    STREAM_DISORDER = "stream_disorder"


@dataclass(frozen=True, slots=True)
class KindInfo:
    """What a kind of event says, and who is answerable for it."""

    kind: Kind
    role: Role
    says: str


def _table() -> dict[Kind, KindInfo]:
    choice, env, report, stream = Role.CHOICE, Role.ENVIRONMENT, Role.REPORT, Role.STREAM
    rows = [
        (Kind.CLAIM_REGISTERED, env, "a claim was submitted, or an auditor's registry holds it"),
        (Kind.CLAIM_COMMITTED, choice, "the runtime's registry took responsibility for the claim"),
        (Kind.CLAIM_RETIRED, choice, "the registry entry of the claim ended"),
        (Kind.DURATION_ELAPSED, env, "the clock reached the claim's duration"),
        (Kind.BLOCK_CACHED, choice, "blocks at logical positions of the claim are cached"),
        (Kind.BLOCK_EVICTED, choice, "the allocator chose cached blocks as victims"),
        (Kind.BLOCK_LOST, env, "cached blocks were lost to a reset or a failure"),
        (Kind.STORE_FINISHED, env, "the claim's blocks were copied to the offload tier"),
        (Kind.HOST_COPY_FOUND, env, "a copy of the claim's blocks was found in the offload tier"),
        (Kind.HOST_COPY_LOST, env, "the copy in the offload tier is gone"),
        (Kind.LOAD_FINISHED, env, "the claim's blocks were loaded back for a request"),
        (Kind.LOAD_FAILED, env, "loading the claim's blocks back for a request failed"),
        (Kind.REQUEST_ARRIVED, env, "a request needs so many blocks of so many usable ones"),
        (Kind.PREFIX_LOOKUP, choice, "a request looked up how many blocks of the claim it can use"),
        (Kind.PREFIX_REUSED, choice, "a request consumed the claim's prefix"),
        (Kind.REQUEST_ROUTED, choice, "the router sent a request to a worker, at a cost"),
        (Kind.REUSE_SERVED, choice, "the routed request hit or missed the claim's prefix"),
        (Kind.REQUEST_FINISHED, choice, "a request reached its termination boundary"),
        (Kind.CLAIM_ACCEPTED, report, "the runtime says that it accepts the claim"),
        (Kind.CLAIM_REJECTED, report, "the runtime says that it turns the claim away"),
        (Kind.CLAIM_MATERIALIZED, report, "the runtime says that the predicate holds"),
        (Kind.CLAIM_UNMATERIALIZED, report, "the runtime says that the predicate holds no more"),
        (Kind.CLAIM_OFFLOADED, report, "the runtime says that the claim is in the offload tier"),
        (Kind.CLAIM_RESTORE_REQUIRED, report, "the runtime says that reuse needs a restore first"),
        (Kind.CLAIM_RESTORED, report, "the runtime says that the claim was restored"),
        (Kind.CLAIM_RESTORATION_FAILED, report, "the runtime says that a restore failed, and how"),
        (Kind.CLAIM_DEMOTED, report, "the runtime says that it demoted the claim"),
        (Kind.CLAIM_EXPIRED, report, "the runtime says that the claim expired"),
        (Kind.CLAIM_RELEASED, report, "the runtime says that the owner withdrew the claim"),
        (Kind.CLAIM_HARMED, report, "the runtime says that the claim was harmed"),
        (Kind.CLAIM_BLOCK_LOST, report, "the runtime says that the claim lost a block"),
        (Kind.REQUEST_DEFERRED, report, "the runtime says that it deferred a request"),
        (Kind.REQUEST_REFUSED, report, "the runtime says that it refused a request"),
        (Kind.REQUEST_ROUTED_ELSEWHERE, report, "the runtime says that it sent a request away"),
        (Kind.REQUEST_BOUNDED, report, "the runtime says that it bounded a request's live blocks"),
        (Kind.REQUEST_OFFLOADED, report, "the runtime says that it offloaded active blocks"),
        (Kind.REQUEST_SPLIT, report, "the runtime says that it split or recomputed a request"),
        (Kind.ROUTE_COST_REPORTED, report, "the router says what a route cost the claim"),
        (Kind.ROUTE_PLACEMENT_REPORTED, report, "the router says which worker it chose"),
        (Kind.ROUTE_REUSE_REPORTED, report, "the router says whether the prefix was hit"),
        (Kind.STREAM_DISORDER, stream, "time or sequence ran backwards in the stream"),
    ]
    return {kind: KindInfo(kind, role, says) for kind, role, says in rows}


KINDS: dict[Kind, KindInfo] = _table()

REPORTS = frozenset(k for k, info in KINDS.items() if info.role is Role.REPORT)
ENVIRONMENT = frozenset(k for k, info in KINDS.items() if info.role is Role.ENVIRONMENT)
FACTS = ENVIRONMENT | {k for k, info in KINDS.items() if info.role is Role.CHOICE}
LIFECYCLE_REPORTS = frozenset(
    {
        Kind.CLAIM_ACCEPTED,
        Kind.CLAIM_REJECTED,
        Kind.CLAIM_MATERIALIZED,
        Kind.CLAIM_UNMATERIALIZED,
        Kind.CLAIM_OFFLOADED,
        Kind.CLAIM_RESTORE_REQUIRED,
        Kind.CLAIM_RESTORED,
        Kind.CLAIM_RESTORATION_FAILED,
        Kind.CLAIM_DEMOTED,
        Kind.CLAIM_EXPIRED,
        Kind.CLAIM_RELEASED,
        Kind.CLAIM_HARMED,
    }
)
ENDS = frozenset({Kind.CLAIM_DEMOTED, Kind.CLAIM_EXPIRED, Kind.CLAIM_RELEASED})
BLOCKS_GONE = frozenset({Kind.BLOCK_EVICTED, Kind.BLOCK_LOST})
CONFLICT_ACTIONS = frozenset(
    {
        Kind.REQUEST_DEFERRED,
        Kind.REQUEST_REFUSED,
        Kind.REQUEST_ROUTED_ELSEWHERE,
        Kind.REQUEST_BOUNDED,
        Kind.REQUEST_OFFLOADED,
        Kind.REQUEST_SPLIT,
    }
)
