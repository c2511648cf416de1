"""Which engines in parallel are hooked, and rows of the table in two processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from vllm.config import KVTransferConfig, ParallelConfig

from runtime_hooks.demo.tiny import DEVICE
from runtime_hooks.engines.shared.engine import EVERYWHERE, unfit_config
from runtime_hooks.engines.shared.parallel import rank_of
from runtime_hooks.routing.rank import Rank, rank_in
from tests_vllm.conftest import LONG_S, Keep
from tests_vllm.others import TWO_RANKS
from tests_vllm.test_table import ALL

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


IN_CI = ("one rank fails to load", "one rank fails to compare")


@pytest.mark.skipif(DEVICE != "cpu", reason="two ranks need two devices")
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in IN_CI else pytest.mark.deep) for n in TWO_RANKS]
)
def test_two_ranks(tmp_path: Path, keep: Keep, name: str) -> None:
    """An engine whose model is split over two processes does what one does in a single process,
    also where a transfer fails on the second rank only. Its twins are found violated there, too.
    Where the plugin fails on one rank, the engine does the same, and the verdict is inconclusive.
    """
    due = TWO_RANKS[name]
    if due.row not in ALL:
        pytest.skip("not tried with this version")
    command = [sys.executable, "-m", "tests_vllm.two_ranks", str(tmp_path), name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG_S, check=False)
    assert 0 == done.returncode, done.stderr
    row, said = ALL[due.row], json.loads(done.stdout.splitlines()[-1])
    assert due.code == said["code"]
    if due.twin:
        assert row.twins[due.twin].broken in said["violated"]
    else:
        assert (row.ends, row.told) == (said["ends"], said["story"])
    if due.code == 0:
        keep(f"two-ranks-of-a-model {name}", tmp_path / "trace.jsonl", row.mode, model="")
