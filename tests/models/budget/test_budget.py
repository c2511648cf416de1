"""Tests of budget_of: blocks, what fits, and ranks; `tests_vllm` compares them with vLLM."""

from pathlib import Path
from typing import Any

import pytest

from models.budget.budget import Asked, Budget, budget_of
from models.budget.groups import Cache, Caches
from models.budget.layers import Layer, Options
from spec.language.errors import SpecError
from tests.models.budget.configs import config_of

GIB = 1 << 30
GPT_OSS = {
    "model_type": "gpt_oss",
    "hidden_size": 2880,
    "num_hidden_layers": 24,
    "num_attention_heads": 64,
}
LATENT = {
    "model_type": "deepseek_v3",
    "num_hidden_layers": 61,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
}
NEXT = {
    "model_type": "qwen3_next",
    "num_hidden_layers": 48,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
}


def budget(
    at: Path, config: dict[str, Any], memory: int = GIB, asked: Asked | None = None, **more: Any
) -> Budget:
    """A budget of LLAMA with other keys."""
    return budget_of(config_of(at, **config), Options(**more), memory, asked or Asked())


class TestBytes:
    @pytest.mark.parametrize(
        ("config", "options", "expected"),
        [
            ({}, {}, 32 * 2 * 8 * 128 * 2 * 16),
            ({}, {"block_size": 64}, 32 * 2 * 8 * 128 * 2 * 64),
            ({}, {"tensor_parallel": 4}, 32 * 2 * 2 * 128 * 2 * 16),
            ({}, {"tensor_parallel": 16}, 32 * 2 * 1 * 128 * 2 * 16),
            ({}, {"kv_cache_dtype": "fp8"}, 32 * 2 * 8 * 128 * 16),
            ({"torch_dtype": "float32"}, {}, 32 * 2 * 8 * 128 * 2 * 16),
            ({}, {"dtype": "float32"}, 32 * 2 * 8 * 128 * 4 * 16),
            ({}, {"pipeline_parallel": 5}, 7 * 2 * 8 * 128 * 2 * 16),
            ({"num_key_value_heads": None}, {}, 32 * 2 * 32 * 128 * 2 * 16),
            (LATENT, {"block_size": 64}, 61 * 576 * 2 * 64),
            (LATENT, {"block_size": 64, "tensor_parallel": 8}, 61 * 576 * 2 * 64),
            (GPT_OSS, {}, 12 * 2 * 8 * 64 * 2 * 16),
        ],
    )
    def test_block(
        self, config: dict[str, Any], options: dict[str, Any], expected: int, tmp_path: Path
    ) -> None:
        """A block has these bytes on the rank with most of it."""
        assert expected == budget(tmp_path, config, **options).block_bytes

    def test_states(self, tmp_path: Path) -> None:
        """Blocks of attention grow until a state fits: those of Qwen3-Next to 544 tokens, and to
        1,056 with states of float32."""
        for dtype, tokens in (("auto", 544), ("float32", 1056)):
            found = budget(tmp_path, NEXT, mamba_ssm_cache_dtype=dtype)
            assert [("state", 3, 12, tokens), ("full", 1, 12, tokens)] == [
                (each.kind, each.groups, each.layers, each.block_tokens) for each in found.groups
            ]

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ({"tensor_parallel": 3}, "32 attention heads cannot be divided between 3 ranks"),
            ({"pipeline_parallel": 33}, "32 layers have no 33 stages"),
            ({"block_size": 24}, "a block of 24 tokens is no multiple of 16"),
        ],
    )
    def test_refused(self, options: dict[str, Any], says: str, tmp_path: Path) -> None:
        """What cannot be divided is refused."""
        with pytest.raises(SpecError, match=says):
            budget(tmp_path, {}, **options)


class TestFits:
    def test_claims(self, tmp_path: Path) -> None:
        """A claim of full attention and a window takes all blocks of one, and the last of the
        other."""
        found = budget(tmp_path, GPT_OSS, asked=Asked(2048))
        assert ([8, 128], 136) == ([each.needs for each in found.groups], found.footprint)
        assert (2730 - 1) // 136 == found.tiers[0].claims

    def test_part(self, tmp_path: Path) -> None:
        """Tokens behind the last whole block are not claimed."""
        found = budget(tmp_path, {}, asked=Asked(2063))
        assert (2063, 2048, 128) == (found.prefix, found.held, found.footprint)

    def test_short(self, tmp_path: Path) -> None:
        """A prefix without a whole block cannot be claimed."""
        with pytest.raises(SpecError, match="a prefix of 15 tokens has no whole block"):
            budget(tmp_path, {}, asked=Asked(15))

    @pytest.mark.parametrize("memory", [2 << 20, 3 << 20, 4 << 20])
    def test_little(self, memory: int, tmp_path: Path) -> None:
        """Block 0 is not usable: one block is none."""
        (gpu,) = budget(tmp_path, {}, memory, Asked(16)).tiers
        usable = memory // (2 << 20) - 1
        assert (usable, 16 * usable, usable) == (gpu.usable, gpu.longest, gpu.claims)

    @pytest.mark.parametrize("asked", [Asked(16), Asked(16, tiers={"cpu": 1})])
    def test_no_block(self, asked: Asked, tmp_path: Path) -> None:
        """Memory that holds no block is refused, of the GPU and of a tier."""
        memory = (2 << 20) - 1 if not asked.tiers else 2 << 20
        with pytest.raises(SpecError, match="hold no block, which has 2 MiB"):
            budget(tmp_path, {}, memory, asked)

    def test_any_length(self, tmp_path: Path) -> None:
        """A cache of windows alone has a place for a prefix of any length."""
        window = {"model_type": "mistral", "sliding_window": 4096}
        found = budget(tmp_path, window, asked=Asked(100_000))
        assert (None, 256) == (found.tiers[0].longest, found.footprint)
        assert budget(tmp_path, window, 200 << 21).tiers[0].longest == 199 * 16

    def test_tiers(self, tmp_path: Path) -> None:
        """A copy in host memory has the bytes of all ranks; ranks that hold the same share one."""
        tiers = Asked(None, None, {"cpu": GIB})
        plain = budget(tmp_path, {}, asked=tiers, tensor_parallel=4).tiers[1]
        assert (2 << 20, 512, 512) == (plain.block_bytes, plain.blocks, plain.usable)
        latent = budget(tmp_path, LATENT, asked=tiers, tensor_parallel=8, block_size=64).tiers[1]
        assert -(-61 * 576 * 2 * 64 // 4096) * 4096 == latent.block_bytes

    def test_printed(self, tmp_path: Path) -> None:
        """vLLM counts block 0, and does not start where a request does not fit beside it."""
        at_most = 511 * 16
        fits = budget(tmp_path, {}, asked=Asked(None, at_most))
        assert (511, 512 * 16) == (fits.request, fits.printed)
        more = budget(tmp_path, {}, asked=Asked(None, at_most + 1))
        assert (512, None) == (more.request, more.printed)
        assert budget(tmp_path, GPT_OSS, asked=Asked(None, 64)).request is None


class TestGroups:
    """What models are known for that no example has."""

    def test_chunks_alone(self, tmp_path: Path) -> None:
        """The plugin accepts no claim where all layers are chunked."""
        chunks = {"model_type": "llama4_text", "no_rope_layers": [1] * 32}
        assert budget(tmp_path, chunks).unarmed.startswith("no cache is of full attention")
        assert "" == budget(tmp_path, {"model_type": "llama4_text"}).unarmed

    def test_spans(self) -> None:
        """A window in blocks of twice the size is counted in these; a hit ends where both do."""
        window, full = Layer("window", 32, 1, 4, 64), Layer("full", 16, 1, 8)
        one = [Cache(each, 1, (128,), (4,)) for each in (window, full)]
        caches = Caches(tuple(one), 16, 32)
        assert [[2, 6], [2, 6], [1, 2], [0, 0]] == [caches.needed(n) for n in (96, 127, 32, 31)]
