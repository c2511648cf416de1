"""Defines the interpretations: named choices where the papers leave a word open.

The prover and the monitor use the same ones. Such a choice decides what is provable, so each is an
object with a name that outputs cite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from spec.contract.ledgers import chosen, kind
from spec.contract.vocabulary import e
from spec.events.alphabet import CONFLICT_ACTIONS, Kind

if TYPE_CHECKING:
    from spec.language.terms import Term

__all__ = ["CLOSES", "INTERPRETATIONS", "Interpretation"]


class Interpretation(Struct, frozen=True):
    """An interpretation: what was chosen, in a line and in full, and what goes wrong otherwise."""

    name: str
    in_short: str
    decides: str
    otherwise: str


CLOSES: Term = (e.mine & chosen) | kind(Kind.REQUEST_FINISHED, *CONFLICT_ACTIONS)

INTERPRETATIONS: tuple[Interpretation, ...] = (
    Interpretation(
        "due-by",
        "an owed report is due before the runtime acts again",
        "A report that is owed is due at the earlier of two events. One is a commitment, "
        "retirement, eviction or reuse of the claim, or caching that makes its predicate "
        "true. The other is the next action on, or end of, any request of the pool, even one "
        "that has nothing to do with the claim. Look-ups and routes make nothing due.",
        "If facts of the environment made reports due too, a reset right after a commitment "
        "would be a violation by a runtime that did nothing wrong.",
    ),
    Interpretation(
        "paired-ends",
        "every end of responsibility is reported",
        "ordered_lifecycle_events requires a report of each end of responsibility: a "
        "registry entry that ends is followed by demoted, expired or released, in time and "
        "by a caller who has the right to end the claim.",
        "If only the order of reports were checked, a claim could be accepted and dropped "
        "from the registry without any report, and an auditor would believe for ever that it "
        "is protected.",
    ),
    Interpretation(
        "one-life",
        "a claim id is accepted once in a stream",
        "A claim id is accepted once in a stream; after demotion, expiry, release or refusal a new "
        "promise needs a new id. An owner may withdraw a claim before any decision.",
        "A late report about the first life would be read as one about the second.",
    ),
    Interpretation(
        "blame",
        "the named claims are sufficient, and each is necessary",
        "The blocking ids of a refusal are claims responsible in that pool at that moment, "
        "sufficient (without their blocks the request fits) and irredundant (with any one of "
        "them put back it does not). In a standing conflict this is judged beside the claims "
        "alone; in a transient one, for some amount that other requests may occupy, and "
        "naming no claim is right, too. Where there is neither, no claim may be named.",
        "If every responsible claim could be named, false blame could not be detected. If "
        "only claims that are necessary alone could be named, there might be none to name.",
    ),
    Interpretation(
        "conflict",
        "the request fits the empty pool, not beside the claims",
        "A conflict is standing if the request would fit the empty pool and does not fit "
        "beside the responsible claims alone; then an action is owed. It is transient if the "
        "request fits beside them, and not beside what other requests occupy as well; then "
        "it may wait without a report. The stream does not say how much those occupy, so any "
        "amount is allowed, from nothing to the sum of what they need. An end without an "
        "action is judged by the claims that were responsible from the arrival to the end, "
        "an action by those that are responsible when it is taken.",
        "A request larger than the pool conflicts with no claim, and its refusal would still "
        "have to name one; so would an action on a request that waits for another request.",
    ),
    Interpretation(
        "relax",
        "a claim may give way in a standing conflict",
        "The runtime may end a hard_protected claim by itself only where the registry entry ends "
        "while a request in hand is in a standing conflict with the responsible claims. The end "
        "is reported before any block of the claim is evicted, and that is an explicit action of "
        "the conflict. The report is a demotion, or an offload that states its caller while a tier "
        "has a copy; an offload without a caller leaves responsibility in place. A descriptor "
        "promises the stricter form, in which only the owner ends a claim, where it says that a "
        "conflict never meets relax_claim.",
        "If the runtime could never give way, an action that the papers list would be a "
        "violation. If it could at any time, protection would be a hint.",
    ),
    Interpretation(
        "smaller-grant",
        "an acceptance may grant less than what was asked for",
        "A registry may commit to fewer blocks or a shorter duration than the registration asks "
        "for. The terms of the commitment replace those of the registration, and the acceptance "
        "has to state them. An acceptance that states more than the commitment is a violation; "
        "one that is silent about the duration states what was asked for.",
        "A smaller grant would be a contradiction of facts, or an owner would count on terms "
        "that nobody holds.",
    ),
    Interpretation(
        "capacity",
        "claims that share a block take it once",
        "A pool holds blocks, not footprints. Equal positions of one object are one block, "
        "and so are equal content keys and positions in one physical block. A set of claims "
        "frees the blocks all of whose responsible owners are in it; the share of a member "
        "is what would not be freed without it. Blocks of an object belong to every claim on "
        "it, later ones as well. Where the stream does not state whether positions are "
        "shared, the sums are an interval.",
        "Blocks of two claims on one prefix would be counted twice, and ending one of them "
        "would seem to free blocks that the other one keeps.",
    ),
    Interpretation(
        "loss",
        "true before, false after; copies count in offloadable",
        "A claim is lost when its predicate, true of the blocks on the GPU, becomes false while "
        "the runtime is responsible. Copies in other tiers count in offloadable alone: there the "
        "claim is lost when a block that the predicate needs is neither on the GPU nor in a "
        "tier. Of several copies of a position, in one tier or in several, the last one counts.",
        "A demotable claim would count as kept while no request can use it; an offloadable one "
        "would be harmed each time its GPU blocks are used for something else.",
    ),
    Interpretation(
        "reuse",
        "what is reused was on the GPU before, or was loaded",
        "A request may reuse a claim that was not on the GPU when it arrived, or at some "
        "time since, only if the claim was loaded since, for any request, or computed by "
        "another one. A request that asked for all of a claim, of which a copy exists, and "
        "computes it instead has used it without a restore. What a request asks for is what "
        "its look-up states, or that a restore is required for it; one that looks up a claim "
        "that is neither held nor copied asks for nothing. A request that ends before the "
        "claim is back no longer needs it. A load that brought the claim back is reported as "
        "a restore before any request reuses the claim; one that brought it for the first "
        "time is not, unless the claim was reported as offloaded.",
        "Each recomputation of the prefix would count as a restore.",
    ),
    Interpretation(
        "failed-restore",
        "an outcome names the claim before the request ends",
        "A failed load of a claim is answered, before the request ends and before it "
        "computes or reuses the claim, by a refusal, demotion, expiry or harm that names "
        "that claim. An outcome is what happened: a refusal needs the request refused, and "
        "not served after it; demotion, expiry and harm need their own events. Harm that is "
        "stated as the outcome and reported by claim_harmed is one harm. A connector's later "
        "repetition of what the scheduler reported is no second outcome. A load that fails "
        "while the claim is on the GPU is no failed restore. One that fails after the end of "
        "responsibility may be reported, and changes nothing. A refusal that states a failed "
        "restore as its cause and names the claim reports a failure, which must have "
        "happened.",
        "A recomputation would count as a restore as soon as some component logged the claim's id.",
    ),
    Interpretation(
        "controlled-pressure",
        "priorities are judged where the eviction had a choice",
        "What soft_priority promises is judged at each eviction, after the whole event: no "
        "block of a claim is evicted while one of a claim of lower priority could be. Where "
        "a claim of lower priority holds blocks and the stream does not state what could be "
        "taken, or the event itself took a block of that priority, the verdict is "
        "inconclusive. Each loss is reported before another claim loses to eviction.",
        "Comparing who lost first would let a claim of high priority lose everything, as long as "
        "the lower one loses nothing; a request that is using the lower one would count against "
        "the runtime.",
    ),
    Interpretation(
        "watched",
        "with no acceptance, registration starts the telemetry",
        "Modes without explicit acceptance owe their telemetry from registration on, until "
        "the registry entry of the claim ends: for a claim without a commitment, because its "
        "owner withdrew it or its duration is over.",
        "A mode that promises only telemetry would owe it for no claim, or for ever.",
    ),
)
