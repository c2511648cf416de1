"""States what the features of vLLM's block pool tempt people to infer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from models.framework.inference import Inference
from models.framework.model import Model
from models.framework.shims import Shim
from models.runtimes.vllm_pool.model import Policy, VllmPool
from spec.claims.states import Mode
from spec.events.alphabet import Kind

__all__ = ["INFERENCES", "VARIANTS"]

VARIANTS: Final[Mapping[str, Callable[[], Model[Any]]]] = {
    "native": VllmPool,
    "no_admit": lambda: VllmPool(policy=Policy.NO_ADMIT),
}

_KEEP: Final = frozenset({"keep"})

INFERENCES: Final = (
    Inference(
        name="block_removed -> claim_harm",
        feature="KV events: BlockRemoved",
        mode=Mode.HARD_PROTECTED,
        shim=Shim(Mode.HARD_PROTECTED, means={"BlockRemoved": Kind.CLAIM_HARMED}),
        model=VllmPool,
        tracked="a",
        concludes="claim_harm_attribution",
        premises=("block_removed",),
        adds="The event names hashes, and is the same whether or not anything was promised.",
        row=8,
    ),
    Inference(
        name="write no-admit -> hard_protected",
        feature="write no-admit: a bulky request is served, and what it computes is not cached",
        mode=Mode.HARD_PROTECTED,
        shim=Shim(Mode.HARD_PROTECTED, _KEEP),
        model=VARIANTS["no_admit"],
        tracked="a",
        premises=("block_events",),
        adds="The request caches nothing, but takes its blocks from the queue like any other.",
    ),
    Inference(
        name="prefix cached -> best_effort",
        feature="automatic prefix caching: a prefix that was computed is found again",
        mode=Mode.BEST_EFFORT,
        shim=Shim(Mode.BEST_EFFORT, _KEEP),
        model=VllmPool,
        tracked="a",
        premises=("cached_token_telemetry", "block_events"),
        adds="KV events are of blocks: none says that a prefix is there as a whole.",
    ),
)
