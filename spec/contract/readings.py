"""Every choice of reading, named, in one place. The prover and the monitor follow the same ones.

Where the papers leave a word open, the choice made here decides what is provable, so each is an
object with a name that outputs can cite, not a habit spread over the guards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spec.contract.ledgers import chosen, kind
from spec.contract.vocabulary import e
from spec.events.alphabet import CONFLICT_ACTIONS, Kind

if TYPE_CHECKING:
    from spec.language.terms import Term

__all__ = ["CLOSES", "READINGS", "Reading"]


@dataclass(frozen=True, slots=True)
class Reading:
    """A named decision: what was chosen, in a line and in full, and what goes wrong otherwise."""

    name: str
    in_short: str
    decides: str
    otherwise: str


CLOSES: Term = (e.mine & chosen) | kind(Kind.REQUEST_FINISHED, *CONFLICT_ACTIONS)

READINGS: tuple[Reading, ...] = (
    Reading(
        "due-by",
        "an owed report is due before the runtime acts again",
        "A report that is owed is due at the earlier of two events. One is a commitment, "
        "retirement, eviction or reuse of the claim, or caching that makes its predicate true. The "
        "other is the next action on, or end of, any request of the pool, even one that has "
        "nothing to do with the claim. Look-ups and routes close nothing.",
        "If the environment's facts closed the window too, a reset right after a commitment would "
        "put a blameless runtime in the wrong.",
    ),
    Reading(
        "paired-ends",
        "every end of responsibility is reported",
        "ordered_lifecycle_events owes the report of each end of responsibility: a registry entry "
        "that ends is followed by demoted, expired or released, in time and by someone entitled.",
        "With an order that only orders, a claim can be accepted, dropped from the registry and "
        "never spoken of again, and an auditor believes in it for ever.",
    ),
    Reading(
        "one-life",
        "a claim id is accepted once in a stream",
        "A claim id is accepted once in a stream; after demotion, expiry, release or refusal a new "
        "promise needs a new id. An owner may withdraw a claim before any decision.",
        "A late report about the first life would be read as one about the second.",
    ),
    Reading(
        "blame",
        "those named explain the refusal, and none is too many",
        "The blocking ids of a refusal are claims responsible in that pool at that moment, "
        "sufficient (without their blocks the request fits) and irredundant (with any one of them "
        "put back it does not). In a standing conflict this is judged beside the claims alone; in "
        "a transient one, for some amount that other requests may occupy, and naming nobody is "
        "right, too. Where there is neither, nobody is to blame.",
        "Naming every responsible claim would make smearing untestable; naming only claims that "
        "are pivotal alone can leave nobody to name.",
    ),
    Reading(
        "conflict",
        "the request fits the empty pool, not beside the claims",
        "A conflict is standing if the request would fit the empty pool and does not fit beside "
        "the responsible claims alone; then an action is owed. It is transient if the request fits "
        "beside them, and not beside what other requests occupy as well; then it may wait in "
        "silence. The stream does not say how much those occupy, so any amount is allowed, from "
        "nothing to the sum of what they need. A silent end is judged by the claims that were "
        "responsible from the arrival to the end, an action by those that are responsible when it "
        "is taken.",
        "A request larger than the pool would conflict with nobody and still owe somebody's name; "
        "a request that waits for another one would owe the name of a claim.",
    ),
    Reading(
        "room",
        "claims that share a block take it once",
        "A pool holds blocks, not footprints. Equal positions of one object are one block, and so "
        "are equal content keys and positions in one physical block. A set of claims frees the "
        "blocks all of whose responsible owners are in it; the share of a member is what would not "
        "be freed without it. Blocks of an object belong to every claim on it, later ones as well. "
        "Where nobody states whether positions are shared, the sums are an interval.",
        "Two claims on one prefix would be refused room that they do not take, and freeing one of "
        "them would be said to free blocks that the other one keeps.",
    ),
    Reading(
        "loss",
        "held before, not after; copies count in offloadable",
        "A claim is lost when its predicate, true of the blocks on the GPU, becomes false while "
        "the runtime is responsible. A copy that can be restored counts in offloadable alone: "
        "there the claim is lost with the last of both. Of several copies of a position on the "
        "GPU, too, the last one counts.",
        "A demotable claim would count as kept while no request can use it; an offloadable one "
        "would be harmed each time its GPU blocks are used for something else.",
    ),
    Reading(
        "reuse",
        "what is reused was there before, or was loaded",
        "A request reuses a claim that was away when it arrived, or since, only if the claim was "
        "loaded since it was last away, for any request, or computed by another one. A request "
        "that asked for all of a claim, of which a copy is there, and computes it instead has "
        "used it unrestored. What a request asks for is what its look-up states, or that a restore "
        "is required for it; one that looks up a claim that is neither held nor copied asks for "
        "nothing. A request that ends before the claim is back needs it no more. A load that "
        "brought the claim back is reported as a restore before any request reuses the claim; one "
        "that brought it for the first time is not, unless the claim was said to be offloaded.",
        "Computing the prefix again would pass for a restore, each time.",
    ),
    Reading(
        "failed-restore",
        "an outcome names the claim before the request ends",
        "A failed load of a claim is answered, before the request ends and before it computes or "
        "reuses the claim, by a refusal, demotion, expiry or harm that names that claim. An "
        "outcome is what happened: a refusal needs the request refused, and not served after it; "
        "demotion, expiry and harm need their own events. Harm that is stated as the outcome and "
        "reported by claim_harmed is one harm. A connector's later echo of what the scheduler "
        "reported is no second answer. A load that fails while the claim is on the GPU is no "
        "failed restore. One that fails after the end of responsibility may be reported, and moves "
        "nothing. A refusal that is said to be for a failed restore and names the claim reports a "
        "failure, which must have happened.",
        "A recomputation would pass for a restore as soon as some component logged the claim's id.",
    ),
    Reading(
        "controlled-pressure",
        "ranks are judged where eviction had the choice",
        "What soft_priority promises is judged at each eviction, after the whole event: no block "
        "of a claim goes while one of a claim of lower priority could be taken. Where a claim of "
        "lower priority holds blocks and the stream does not state what could be taken, or the "
        "event itself took a block of that priority, it is not known. Each loss is reported before "
        "another claim loses to eviction.",
        "Comparing who lost first would let a claim of high priority lose everything, as long as "
        "the lower one loses nothing; a request that is using the lower one would count against "
        "the runtime.",
    ),
    Reading(
        "watched",
        "with no acceptance, registration starts the telemetry",
        "Modes without explicit acceptance owe their telemetry from registration on, until the "
        "registry entry of the claim ends: of one to which nobody committed, because its owner "
        "withdrew it or its duration is over.",
        "A mode that promises only telemetry would promise it to nobody, or for ever.",
    ),
)
