"""What `budget` computes from a config.json is what vLLM makes of the same model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from transformers import AutoConfig
from vllm.config import KVTransferConfig
from vllm.distributed.kv_transfer.kv_connector.v1.offloading.config import build_offloading_config
from vllm.v1.core.kv_cache_utils import resolve_kv_cache_block_sizes
from vllm.v1.kv_offload.cpu.spec import CPUOffloadingSpec

from models.budget.budget import Asked, Budget, budget_of
from models.budget.config import DEFAULTS, WRAPPERS, read_config
from models.budget.families import MODEL_TYPES, layers_of
from models.budget.layers import Options
from runtime_hooks.claims.groups import Groups
from runtime_hooks.demo.engine import tiny_llm
from runtime_hooks.demo.tiny import BLOCK
from runtime_hooks.engines import installed
from runtime_hooks.engines.shared.engine import groups_of
from spec.language.errors import SpecError
from tests_vllm.architectures import ARCHITECTURES, SIZES
from tests_vllm.caches import Laid, laid_out, one_process

pytestmark = pytest.mark.skipif(
    not installed().startswith("0.32."), reason="the figures are those of vLLM 0.32"
)
MEMORY: Final = (1 << 28) + 12_345
MOE: Final = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64}


def _plain(architecture: str, kind: str, **more: Any) -> dict[str, Any]:
    named = {"architectures": [f"{architecture}ForCausalLM"], "model_type": kind}
    return {**SIZES, **named, "num_hidden_layers": 3, **more}


CONFIGS: Final[dict[str, dict[str, Any]]] = {
    **ARCHITECTURES,
    "llama": _plain("Llama", "llama", num_attention_heads=4, num_key_value_heads=2),
    "llama, heads of its own": _plain("Llama", "llama", head_dim=64),
    "llama, no key heads": _plain("Llama", "llama", num_key_value_heads=None),
    "mistral, no window": _plain("Mistral", "mistral", sliding_window=None),
    "mixtral": _plain("Mixtral", "mixtral", num_local_experts=4),
    "phi3": _plain("Phi3", "phi3", sliding_window=128, pad_token_id=0),
    "qwen2": _plain("Qwen2", "qwen2", use_sliding_window=False, sliding_window=64),
    "qwen2 moe": _plain("Qwen2Moe", "qwen2_moe", shared_expert_intermediate_size=64, **MOE),
    "qwen3": _plain("Qwen3", "qwen3"),
    "qwen3 moe": _plain("Qwen3Moe", "qwen3_moe", **MOE),
    "gemma 2": _plain("Gemma2", "gemma2", sliding_window=128, query_pre_attn_scalar=32),
}


CONFIGS |= {
    "deepseek-v2": {
        **ARCHITECTURES["deepseek-v3"],
        "architectures": ["DeepseekV2ForCausalLM"],
        "model_type": "deepseek_v2",
        "q_lora_rank": None,
        "kv_lora_rank": 256,
    },
    "kimi k2": {**ARCHITECTURES["deepseek-v3"], "model_type": "kimi_k2"},
    "lfm2 moe": {
        **ARCHITECTURES["lfm2"],
        **MOE,
        "architectures": ["Lfm2MoeForCausalLM"],
        "model_type": "lfm2_moe",
        "num_dense_layers": 1,
    },
    "gemma 4, shared keys": {
        **ARCHITECTURES["gemma 4"],
        "num_hidden_layers": 8,
        "layer_types": [
            *ARCHITECTURES["gemma 4"]["layer_types"],
            "sliding_attention",
            "full_attention",
        ],
        "num_kv_shared_layers": 2,
    },
    "gemma 3, 8 layers": {
        **ARCHITECTURES["gemma 3"],
        "num_hidden_layers": 8,
        "layer_types": None,
    },
    "gpt-oss, 5 layers": {
        **ARCHITECTURES["gpt-oss"],
        "num_hidden_layers": 5,
        "layer_types": None,
    },
    "qwen3-next, 9 layers": {
        **ARCHITECTURES["qwen3-next"],
        "num_hidden_layers": 9,
        "layer_types": None,
    },
}


@pytest.fixture(scope="module", autouse=True)
def groups_of_ranks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Groups of one rank."""
    with one_process(tmp_path_factory.mktemp("ranks")):
        yield


def budget(
    folder: Path,
    laid: Laid,
    config: dict[str, Any],
    memory: int = MEMORY,
    prefix: int | None = None,
    asked: Asked | None = None,
    **more: Any,
) -> Budget:
    """The budget of the config.json that vLLM read, with what vLLM was started with."""
    cache = laid.vllm.cache_config
    options = Options(
        block_size=cache.block_size if "kv_lora_rank" in config else BLOCK,
        dtype=config["torch_dtype"],
        mamba_ssm_cache_dtype=cache.mamba_ssm_cache_dtype,
    )._replace(**more)
    asked = asked or Asked(prefix, laid.vllm.model_config.max_model_len)
    return budget_of(read_config(folder), options, memory, asked)


def compare(found: Budget, laid: Laid) -> None:
    """Assert the same blocks, of the same bytes, in the same groups."""
    assert {each.num_blocks for each in laid.ranks} == {found.tiers[0].blocks}
    assert laid.block_bytes == found.block_bytes
    if found.ranks == 1:
        theirs = [(len(g.layer_names), g.kv_cache_spec.block_size) for g in laid.groups]
        ours = [each for each in found.groups for _ in range(each.groups)]
        assert theirs == [(each.layers, each.block_tokens) for each in ours]
    if found.printed is not None:
        assert laid.printed == found.printed


class TestModels:
    @pytest.mark.parametrize("name", CONFIGS)
    def test_model(self, name: str, tmp_path: Path) -> None:
        """A model of each type has the blocks that vLLM gives it, and a claim on a prefix takes
        what the plugin counts for it."""
        config = CONFIGS[name]
        laid = laid_out(tmp_path, config, MEMORY)
        found = budget(tmp_path, laid, config, prefix=20 * 192)
        compare(found, laid)
        block, hashed = resolve_kv_cache_block_sizes(laid.ranks[0], laid.vllm)
        assert (hashed, block) == (found.hash_block, found.align)
        stated = groups_of(laid.groups, hashed, drops=False)
        for tokens in (192, 480, 640, 20 * 192):
            whole = tokens // block * (block // hashed)
            asked = budget(tmp_path, laid, config, prefix=tokens)
            assert len([*Groups(stated).places(whole)]) == asked.footprint

    def test_every_type(self) -> None:
        """Each type that is known is compared here."""
        assert MODEL_TYPES == {config["model_type"] for config in CONFIGS.values()}

    @pytest.mark.parametrize("name", ["llama", "gemma 3", "qwen3-next"])
    def test_fp8(self, name: str, tmp_path: Path) -> None:
        """A cache of fp8 has one byte a number; states keep their own."""
        config = CONFIGS[name]
        laid = laid_out(tmp_path, config, MEMORY, kv_cache_dtype="fp8")
        compare(budget(tmp_path, laid, config, kv_cache_dtype="fp8"), laid)

    def test_float32(self, tmp_path: Path) -> None:
        """vLLM computes a model of float32 in 16 bits, unless it is asked not to."""
        laid = laid_out(tmp_path, CONFIGS["llama"], MEMORY, dtype="auto")
        compare(budget(tmp_path, laid, CONFIGS["llama"], dtype="auto"), laid)


class TestRanks:
    @pytest.mark.parametrize("name", [name for name in CONFIGS if not name.startswith("gpt-oss")])
    def test_tensor(self, name: str, tmp_path: Path) -> None:
        """Two ranks divide heads and states; both have the only head of keys, or latent vector."""
        config = {**CONFIGS[name], "linear_num_key_heads": 2}
        laid = laid_out(tmp_path, config, MEMORY, tensor=2)
        compare(budget(tmp_path, laid, config, tensor_parallel=2), laid)

    def test_no_copies(self, tmp_path: Path) -> None:
        """Of gpt-oss no rank has a copy of a head of keys: vLLM fails, and no figure is made."""
        config = CONFIGS["gpt-oss"]
        with pytest.raises(ZeroDivisionError):
            laid_out(tmp_path, config, MEMORY, tensor=2)
        with pytest.raises(SpecError, match="1 KV heads cannot be divided"):
            layers_of(read_config(tmp_path), Options(tensor_parallel=2))
        config = {**config, "num_key_value_heads": 2}
        laid = laid_out(tmp_path, config, MEMORY, tensor=2)
        compare(budget(tmp_path, laid, config, tensor_parallel=2), laid)

    @pytest.mark.parametrize("stages", [2, 3])
    @pytest.mark.parametrize(
        "name", ["llama", "gemma 3, 8 layers", "gpt-oss, 5 layers", "qwen3-next, 9 layers"]
    )
    def test_stages(self, name: str, stages: int, tmp_path: Path) -> None:
        """The stage with the largest blocks says how many there are."""
        config = CONFIGS[name]
        if name.startswith("qwen3-next"):
            config = {**config, "num_hidden_layers": 4 * stages + 1}
        laid = laid_out(tmp_path, config, MEMORY, stages=stages)
        compare(budget(tmp_path, laid, config, pipeline_parallel=stages), laid)

    def test_states_alone(self, tmp_path: Path) -> None:
        """A stage without attention does not pad its states: other groups, and no figure."""
        config = CONFIGS["qwen3-next, 9 layers"]
        laid = laid_out(tmp_path, config, MEMORY, stages=3)
        assert {32, 96} == {each.kv_cache_spec.block_size for each in laid.groups}
        with pytest.raises(SpecError, match="a pipeline stage has states and no attention"):
            budget(tmp_path, laid, config, pipeline_parallel=3)


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("name", ["llama", "gpt-oss", "mamba 2", "deepseek-v2"])
def test_tier(name: str, ranks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tier of vLLM's OffloadingConnector has these blocks; on a GPU ranks of MLA share one."""
    config = {**CONFIGS[name], "num_key_value_heads": 2}
    laid = laid_out(tmp_path, config, MEMORY, tensor=ranks)
    offloading = {"kv_connector_extra_config": {"cpu_bytes_to_use": MEMORY}}
    transfer = KVTransferConfig(kv_connector="OffloadingConnector", kv_role="kv_both", **offloading)
    laid.vllm.kv_transfer_config = transfer
    parallel = laid.vllm.parallel_config
    parallel.world_size, parallel.distributed_executor_backend = ranks, "mp"
    monkeypatch.setattr(CPUOffloadingSpec, "_uses_shared_region", lambda _: True)
    spec = CPUOffloadingSpec(build_offloading_config(laid.vllm, laid.ranks[0]))
    asked = Asked(None, None, {"cpu": MEMORY})
    found = budget(tmp_path, laid, config, asked=asked, tensor_parallel=ranks)
    assert (spec.kv_bytes_per_chunk, spec.num_chunks) == (
        found.tiers[1].block_bytes,
        found.tiers[1].blocks,
    )


@pytest.mark.parametrize("kind", sorted(WRAPPERS))
def test_wrapped(kind: str) -> None:
    """The layers of text of a model of more than text are of a type that is known."""
    assert AutoConfig.for_model(kind).get_text_config().model_type in {*MODEL_TYPES}


@pytest.mark.parametrize("kind", DEFAULTS)
def test_defaults(kind: str) -> None:
    """What a config leaves out is what transformers takes instead."""
    config = AutoConfig.for_model(kind)
    stated = {**config.to_dict(), "global_head_dim": 512}
    if kind == "gemma4_text":
        assert 512 == config.per_layer_config[-1].head_dim
    assert dict(DEFAULTS[kind]) == {key: stated.get(key) for key in DEFAULTS[kind]}


@pytest.mark.parametrize("name", ["gpt-oss", "lfm2"])
def test_engine(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine starts with these blocks."""
    monkeypatch.delenv("VLLM_CPU_KVCACHE_SPACE")
    config, memory = CONFIGS[name], (64 << 20) + 999
    more = {"num_gpu_blocks_override": None, "kv_cache_memory_bytes": memory}
    llm = tiny_llm(tmp_path, 0, config, dtype=config["torch_dtype"], **more)
    core = llm.llm_engine.engine_core.engine_core
    pool = core.scheduler.kv_cache_manager.block_pool
    laid = Laid(llm.llm_engine.vllm_config, [core.scheduler.kv_cache_config])
    found = budget(tmp_path / "model", laid, config, memory)
    compare(found, laid)
    assert pool.get_num_free_blocks() == found.tiers[0].usable
    if found.printed is not None:
        assert laid.vllm.cache_config.kv_cache_size_tokens == found.printed
    llm.llm_engine.engine_core.shutdown()
