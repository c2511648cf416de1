"""KV connectors for tests, made from vLLM's example, which saves prompts to disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from vllm.config import KVTransferConfig
from vllm.distributed.kv_transfer.kv_connector.v1.example_connector import ExampleConnector

__all__ = ["FailingConnector", "saving"]


class FailingConnector(ExampleConnector):  # type: ignore[misc]
    """Loads that fail: each entry of `fails` says from which block on the next load stays empty, as
    a fraction of its blocks. Those before the load, which it writes as well, are among them."""

    fails: ClassVar[list[float]] = []

    def get_num_new_matched_tokens(self, request: Any, computed: int) -> tuple[int | None, bool]:
        """Do not load for a preempted request: the example would open a file that is not there."""
        if request.num_preemptions:
            return 0, False
        matched: tuple[int | None, bool] = super().get_num_new_matched_tokens(request, computed)
        return matched

    def start_load_kv(self, forward_context: Any, **kwargs: Any) -> None:
        """Load, and empty blocks."""
        super().start_load_kv(forward_context, **kwargs)
        self._invalid = set[int]()
        for request in self._get_connector_metadata().requests:
            if not request.is_store and self.fails:
                slots = request.slot_mapping.tolist()[:: self._block_size]
                empty = [slot // self._block_size for slot in slots]
                empty = empty[int(self.fails.pop(0) * len(slots)) :]
                self._invalid.update(empty)
                for layer in forward_context.no_compile_layers.values():
                    layer.kv_cache[empty] = 0.0

    def get_block_ids_with_load_errors(self) -> set[int]:
        """The blocks that stayed empty."""
        return self._invalid


def saving(
    folder: Path, policy: str = "fail", name: str = "ExampleConnector", *, several: bool = False
) -> dict[str, Any]:
    """The configuration of an engine that saves its prompts to a folder.

    Args:
        several: by a MultiConnector, which saves them to a second folder, too.
    """
    extra = {"shared_storage_path": str(folder)}
    part = {"kv_connector": name, "kv_role": "kv_both", "kv_connector_extra_config": extra}
    if not several:
        return {"kv_transfer_config": KVTransferConfig(**part, kv_load_failure_policy=policy)}
    second = {**part, "kv_connector_extra_config": {"shared_storage_path": f"{folder}.second"}}
    return {
        "disable_hybrid_kv_cache_manager": True,
        "kv_transfer_config": KVTransferConfig(
            kv_connector="MultiConnector",
            kv_role="kv_both",
            kv_load_failure_policy=policy,
            kv_connector_extra_config={"connectors": [part, second]},
        ),
    }
