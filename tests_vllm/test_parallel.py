"""Which engines in parallel are hooked, without an engine."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from vllm.config import KVTransferConfig, ParallelConfig

from runtime_hooks.engines.shared.engine import EVERYWHERE, unfit_config
from runtime_hooks.engines.shared.parallel import rank_of
from runtime_hooks.routing.rank import Rank, rank_in

TIER = KVTransferConfig(kv_connector="OffloadingConnector", kv_role="kv_both")


def unfit_of(config: Any) -> str:
    """Why no engine of a configuration can be hooked."""
    return unfit_config(config, EVERYWHERE)


def configured(parallel: ParallelConfig, **changes: Any) -> Any:
    """What decides, of a configuration."""
    return SimpleNamespace(
        parallel_config=parallel,
        speculative_config=None,
        kv_transfer_config=changes.get("tier"),
        model_config=SimpleNamespace(is_multimodal_model=False, is_moe=changes.get("moe", False)),
        cache_config=SimpleNamespace(enable_prefix_caching=True),
    )


def rank(number: int, ranks: int) -> ParallelConfig:
    """The configuration that a rank of a dense model has in its own process."""
    config = ParallelConfig(data_parallel_size=ranks)
    config.data_parallel_index = number
    config.reconfigure_for_independent_dp_rank()
    assert 1 == config.data_parallel_size
    return config


def test_dense() -> None:
    """The ranks of a dense model are hooked, and each knows its number, which its name states."""
    assert "" == unfit_of(configured(ParallelConfig(data_parallel_size=2)))
    for number in range(3):
        found = configured(rank(number, 3))
        assert ("", Rank(number, 3)) == (unfit_of(found), rank_of(found))
        assert Rank(number, 3) == rank_in(f"4711{rank_of(found)}.aa.sock")
    alone = configured(ParallelConfig())
    assert ("", None, None) == (unfit_of(alone), rank_of(alone), rank_in("4711.aa.sock"))


@pytest.mark.parametrize("parallel", [ParallelConfig(data_parallel_size=2), rank(1, 2)])
def test_experts(parallel: ParallelConfig) -> None:
    """The ranks of a model with experts step together, and are not hooked."""
    assert "without experts" in unfit_of(configured(parallel, moe=True))
    assert "" == unfit_of(configured(ParallelConfig(), moe=True))


def test_untried() -> None:
    """Nor is what was not tried with ranks: another load balancer, a tier."""
    other = ParallelConfig(data_parallel_size=2, data_parallel_hybrid_lb=True)
    assert "vLLM's own load balancer" in unfit_of(configured(other))
    assert "an offload tier was tried with one rank" in unfit_of(configured(rank(0, 2), tier=TIER))
    assert "" == unfit_of(configured(ParallelConfig(), tier=TIER))
