"""Every choice of reading, named, in one place. The prover and the monitor follow the same ones.

Where the papers leave a word open, the choice made here decides what is provable, so each is an
object with a name that outputs can cite, not a habit spread over the guards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spec.alphabet import CONFLICT_ACTIONS, Kind
from spec.ledgers import chosen, kind
from spec.vocabulary import e

if TYPE_CHECKING:
    from spec.terms import Term

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
        "A report that is owed is due before the next fact that the runtime chooses about the same "
        "claim (further caching that leaves the predicate as it was is not one), and before any "
        "request in which the claim has a part is acted on or ends.",
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
        "promise needs a new id.",
        "A late report about the first life would be read as one about the second.",
    ),
    Reading(
        "blame",
        "those named explain the refusal, and none is too many",
        "The blocking ids of a refusal are claims responsible in that pool at that moment, "
        "sufficient (without their blocks the request fits) and irredundant (with any one of them "
        "put back it does not). Where there is no conflict nobody is to blame.",
        "Naming every responsible claim would make smearing untestable; naming only claims that "
        "are pivotal alone can leave nobody to name.",
    ),
    Reading(
        "conflict",
        "the request fits the empty pool, not beside the claims",
        "A request conflicts with resident claims if it would fit the empty pool and does not fit "
        "beside them.",
        "A request larger than the pool would conflict with nobody and still owe somebody's name.",
    ),
    Reading(
        "loss",
        "usable or restorable before, neither of them after",
        "A claim is lost when its predicate, true of the blocks on the GPU or of a copy that can "
        "be restored, becomes false while the runtime is responsible; a failed restore counts too.",
        "A claim whose copy sits on the host would be harmed each time its GPU blocks are reused.",
    ),
    Reading(
        "failed-restore",
        "an outcome names the claim before the request ends",
        "A failed load of a claim is answered, before the request ends, by a refusal, demotion, "
        "expiry or harm that names that claim; a connector's later echo of what the scheduler "
        "reported is no second answer.",
        "A recomputation would pass for a restore as soon as some component logged the claim's id.",
    ),
    Reading(
        "controlled-pressure",
        "ranks are compared where eviction had the choice",
        "What soft_priority promises is compared where blocks are lost to eviction alone, after "
        "both claims were registered, and where the lower one had a block that could be taken; "
        "each loss is told before another claim loses.",
        "A reset would decide which claim loses first, or a request that is using the lower one, "
        "and no priority can; and reports of losses told in another order than they happened would "
        "swap the ranks.",
    ),
    Reading(
        "watched",
        "with no acceptance, registration starts the telemetry",
        "Modes without explicit acceptance owe their telemetry from registration on, until the "
        "registry entry of a claim to which nobody committed ends, because its owner withdrew it "
        "or its duration is over.",
        "A mode that promises only telemetry would promise it to nobody, or for ever.",
    ),
)
