"""States what the features of vLLM's OffloadingConnector tempt people to infer.

The model is in `models.runtimes.vllm_offload.model`. No field of a request asks for offloading: by
default the connector stores every full block. The one field about it is `max_offload_tokens` in
`kv_transfer_params`, an upper bound; a client that sets it to the length of a prefix may take it
for a request to keep that prefix. KV events of the CPU tier carry hashes, and with the option of
self-describing events the tokens; a reader with the hashes of a prefix can join them. They name no
request, nor does a counter: `vllm:request_success` counts requests by how they ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from models.framework.inference import Inference
from models.framework.premises import patched
from models.runtimes.vllm_offload.model import ERRORS, FAILING, Policy, VllmOffload
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.lowering.vocabulary import Basis, ClaimScope

__all__ = ["INFERENCES", "VARIANTS"]

_ASKS: Final = "max_offload_tokens"
_REPORTS: Final = {
    "BlockStored:CPU": Kind.CLAIM_OFFLOADED,
    "num_external_cached_tokens": Kind.CLAIM_RESTORE_REQUIRED,
}

_BACK: Final = {"BlockStored:GPU:again": Kind.CLAIM_RESTORED}


VARIANTS: Final[Mapping[str, Callable[[], VllmOffload]]] = {
    "fail": VllmOffload,
    "upstream": lambda: VllmOffload(policy=Policy.UPSTREAM),
    "recompute": lambda: VllmOffload(policy=Policy.RECOMPUTE),
    "two_blocks": lambda: VllmOffload(2, 4, {"a": 2, "b": 2}, policy=Policy.RECOMPUTE, lag=False),
    "settled": lambda: VllmOffload(lag=False),
    "small_tier": lambda: VllmOffload(chunks=2, lag=False),
}


INFERENCES: Final = (
    Inference.of(
        "storage_tier -> offloadable",
        "the OffloadingConnector, and max_offload_tokens, the most that is stored for a request",
        Mode.OFFLOADABLE,
        _ASKS,
        VllmOffload,
        "a",
        premises=("storage_tier",),
        adds="The store is under way when the freed block is taken. vLLM waits for it before the "
        "block is written again, so the copy will be whole; at the eviction there is none yet.",
        row=4,
    ),
    Inference.of(
        "claim_joined_offload + generic_onboard_counters -> offloadable",
        "KV events of the tier, and vllm:kv_offload_load_bytes, the counter of loaded bytes",
        Mode.OFFLOADABLE,
        _ASKS,
        VARIANTS["settled"],
        "b",
        {**_REPORTS, "load_bytes": Kind.CLAIM_RESTORED},
        premises=("claim_joined_offload", "generic_onboard_counters"),
        adds="The counter counts the load of another prefix.",
        row=5,
    ),
    Inference.of(
        "same_prompt_block_tier_movement -> offloadable",
        "KV events of both tiers: a prompt's hashes are stored on the CPU, and on the GPU again",
        Mode.OFFLOADABLE,
        _ASKS,
        VARIANTS["settled"],
        "a",
        {**_REPORTS, **_BACK},
        premises=("same_prompt_block_tier_movement",),
        adds="A load that fails emits no KV event, and by the policy fail it ends the request.",
        row=6,
    ),
    Inference.of(
        "fallback recompute after failed load -> restored offloadable claim",
        "kv_load_failure_policy recompute",
        Mode.OFFLOADABLE,
        _ASKS,
        VARIANTS["two_blocks"],
        "a",
        {**_REPORTS, **_BACK},
        concludes="offload_restorability",
        adds="The load fails at its second block, which is computed: its hash is on the GPU again.",
        also=(patched("offload_restorability", ClaimScope.SAME_CLAIM, Basis.FALLBACK_RECOMPUTE),),
        row=9,
    ),
    Inference.of(
        "wrong-claim or unclaimed load failure -> restoration failure outcome",
        "kv_load_failure_policy fail, and its line in the log, which names requests",
        Mode.OFFLOADABLE,
        _ASKS,
        VARIANTS["settled"],
        "b",
        {**_REPORTS, FAILING: Kind.CLAIM_RESTORATION_FAILED},
        concludes="restoration_failure_outcome",
        adds="The load that failed was of another prefix.",
        also=tuple(
            patched("restoration_failure_outcome", scope, Basis.CLAIM_EVENTS)
            for scope in (ClaimScope.ANOTHER_CLAIM, ClaimScope.UNCLAIMED)
        ),
        row=10,
    ),
    Inference.of(
        "generic failure counters -> restoration failure outcome",
        "vllm:request_success with finished_reason error, a counter of requests",
        Mode.OFFLOADABLE,
        _ASKS,
        VARIANTS["settled"],
        "b",
        {**_REPORTS, ERRORS: Kind.CLAIM_RESTORATION_FAILED},
        concludes="restoration_failure_outcome",
        parent="wrong-claim or unclaimed load failure -> restoration failure outcome",
        adds="The request that failed asked for another prefix, and the counter names none.",
        also=tuple(
            patched("restoration_failure_outcome", scope, Basis.GENERIC_COUNTERS)
            for scope in (ClaimScope.SAME_CLAIM, ClaimScope.UNCLAIMED)
        ),
    ),
    Inference.of(
        "refill by recompute -> restored",
        "KV events: a prompt's hashes are on the GPU again",
        Mode.OFFLOADABLE,
        _ASKS,
        VARIANTS["small_tier"],
        "a",
        {**_REPORTS, **_BACK},
        concludes="offload_restorability",
        premises=("block_events", "storage_tier"),
        parent="fallback recompute after failed load -> restored offloadable claim",
        adds="No load fails: the tier has evicted the copy, and the request computes the prefix.",
    ),
)
