"""Lists false inferences from feature tables (table 9 of the paper), each with its premise.

No result is written here: `proofs` labels each by the same relation as every other row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from spec.claims.claim import Mode
from spec.contract.modes import Depth
from spec.lowering.depths import PRECONDITIONS
from spec.lowering.descriptor import SCHEMA, Descriptor
from spec.lowering.obligations import RELEVANT_ORDER
from spec.lowering.vocabulary import Basis, ClaimScope

__all__ = ["LOOKALIKES", "Lookalike"]

_ARTIFACT: Final = "https://github.com/gustavgauge/resident-kv-lowering-artifact/tree/b9f82f4"


@dataclass(frozen=True, slots=True)
class Lookalike:
    """An inference from what `premises` show, all of which must fail, to a mode or an obligation.

    `why` it fails is the paper's reason, shortened.
    """

    inference: str
    premises: tuple[Descriptor, ...]
    concludes: Mode | str
    why: str


def _premise(**parts: Any) -> Descriptor:
    """A runtime of which nothing but `parts` is known."""
    anchor = {"kind": "artifact", "source": _ARTIFACT, "path": "bad_lowering/", "note": "Table 9."}
    return Descriptor.model_validate(
        {
            "schema": SCHEMA,
            "name": "lookalike",
            "runtime": "a feature table",
            "version": "none",
            "about": "The starting point of an inference.",
            "anchors": {"shown": anchor, **parts.pop("anchors", {})},
            **parts,
        }
    )


def _signals(*names: str, **parts: Any) -> Descriptor:
    shown = [{"signal": name, "status": "supported", "anchor": "shown"} for name in names]
    return _premise(signals=shown, **parts)


def _patched(obligation: str, claim: ClaimScope, basis: Basis) -> Descriptor:
    """A patch whose run is in order, of this claim and this basis."""
    run = {
        "kind": "trace",
        "source": _ARTIFACT,
        "path": "results/vllm_scheduler_boundary/",
        "note": "A control of table 8.",
        "order": [RELEVANT_ORDER[obligation]],
        "claim": claim,
        "basis": basis,
    }
    item = {
        "obligation": obligation,
        "modes": [Mode.OFFLOADABLE],
        "status": "supported",
        "scope": "conformance_trace",
        "anchor": "run",
    }
    patch = Depth.BACKEND_PATCH
    hold = [{"precondition": each, "anchor": "shown"} for each in PRECONDITIONS[patch]]
    return _premise(
        anchors={"run": run},
        adapters=[{"depth": patch, "preconditions": hold, "evidence": [item]}],
    )


_NO_EVICT: Final = {
    "signal": "active_no_evict",
    "mode": Mode.HARD_PROTECTED,
    "up_to": Depth.TELEMETRY_JOIN,
    "because": "It is about requests that run.",
    "anchor": "shown",
}

LOOKALIKES: Final = (
    Lookalike(
        "priority_value_in_event -> soft_priority",
        (_signals("priority_value_in_event"),),
        Mode.SOFT_PRIORITY,
        "A priority value is block metadata until its influence and claim-scoped telemetry are "
        "both shown.",
    ),
    Lookalike(
        "active_no_evict -> future_resident hard_protected",
        (_signals("active_no_evict"), _signals("active_no_evict", forbidden=[_NO_EVICT])),
        Mode.HARD_PROTECTED,
        "It protects running requests: no accepted future-resident identity, victim exclusion, "
        "conflict action, blocking ids or harm.",
    ),
    Lookalike(
        "duration_metadata -> expiring",
        (_signals("duration_metadata"),),
        Mode.EXPIRING,
        "A duration does not report the boundary where responsibility for the claim ends.",
    ),
    Lookalike(
        "storage_tier -> offloadable",
        (_signals("storage_tier"),),
        Mode.OFFLOADABLE,
        "Movement shows neither restoration before reuse nor the claim's failed restore.",
    ),
    Lookalike(
        "claim_joined_offload + generic_onboard_counters -> offloadable",
        (_signals("claim_joined_offload", "generic_onboard_counters"),),
        Mode.OFFLOADABLE,
        "An offload of the claim and counters of loads do not make a restore of the claim before "
        "reuse, or an outcome of a failed one.",
    ),
    Lookalike(
        "same_prompt_block_tier_movement -> offloadable",
        (_signals("same_prompt_block_tier_movement"),),
        Mode.OFFLOADABLE,
        "Hashes moved 0 to 1 under pressure and back, with no claim identity, predicate, failure "
        "outcome, lifecycle or harm.",
    ),
    Lookalike(
        "kv_aware_routing -> routed_reuse",
        (_signals("kv_aware_routing"),),
        Mode.ROUTED_REUSE,
        "Cost, placement and later reuse must be attributed to an accepted claim.",
    ),
    Lookalike(
        "block_removed -> claim_harm",
        (_signals("block_removed"),),
        "claim_harm_attribution",
        "A removed block is ordinary cache behaviour without an accepted claim, a broken "
        "predicate and reported harm of that claim.",
    ),
    Lookalike(
        "fallback recompute after failed load -> restored offloadable claim",
        (_patched("offload_restorability", ClaimScope.SAME_CLAIM, Basis.FALLBACK_RECOMPUTE),),
        "offload_restorability",
        "Recomputing is not evidence that the offloaded claim was restored.",
    ),
    Lookalike(
        "wrong-claim or unclaimed load failure -> restoration failure outcome",
        tuple(
            _patched("restoration_failure_outcome", scope, Basis.CLAIM_EVENTS)
            for scope in (ClaimScope.ANOTHER_CLAIM, ClaimScope.UNCLAIMED)
        ),
        "restoration_failure_outcome",
        "The failure must be of the same accepted claim.",
    ),
)
"""All ten, in the paper's order."""
