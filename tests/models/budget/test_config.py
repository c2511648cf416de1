"""Tests of config: what is read, and what is refused."""

import json
import random
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from models.budget.budget import Asked, budget_of
from models.budget.config import read_config
from models.budget.families import MODEL_TYPES, layers_of
from models.budget.layers import Options
from spec.language.errors import SpecError
from tests.models.budget.configs import LLAMA, config_of, written


def refused(at: Path, **more: Any) -> str:
    """Why a config is refused."""
    with pytest.raises(SpecError) as found:
        layers_of(config_of(at, **more), Options())
    return str(found.value).replace(f"{at}/config.json: ", "")


class TestFile:
    @pytest.mark.parametrize(
        ("content", "says"),
        [
            (b"", "truncated"),
            (b"[]", "Expected `object`"),
            (b"\xff", "Invalid UTF-8|malformed"),
            (b'{"model_type": "llama", "model_type": "llama"}', "occurs twice"),
            (b'{"a": NaN}', "malformed"),
            (b'{"a":' + b"[" * 100_000, "deep|truncated"),
            (b" " * ((1 << 20) + 1), "over 1048576 bytes"),
            (b"{}", "model_type is missing"),
            (b'{"model_type": 7}', "model_type is missing"),
        ],
    )
    def test_refused(self, content: bytes, says: str, tmp_path: Path) -> None:
        """What is no JSON object of at most a mebibyte, with each key once, is refused."""
        (tmp_path / "config.json").write_bytes(content)
        with pytest.raises(SpecError, match=says):
            read_config(tmp_path)

    def test_missing(self, tmp_path: Path) -> None:
        """A folder without a config is refused by the name of that file."""
        with pytest.raises(SpecError, match=re.escape("config.json: No such file")):
            read_config(tmp_path)

    def test_nested(self, tmp_path: Path) -> None:
        """The layers of text of a model of more than text are read; the type may be stated once."""
        inner = {**LLAMA, "model_type": "mistral", "sliding_window": None}
        del inner["torch_dtype"]
        outer = {"model_type": "mistral3", "dtype": "bfloat16", "text_config": inner}
        found = layers_of(read_config(written(tmp_path, outer)), Options())
        assert (32, 65536) == (len(found), found[0][1].page)

    def test_nested_unknown(self, tmp_path: Path) -> None:
        """A model around them that is not known may have other layers with a cache."""
        outer = {"model_type": "whisper", "text_config": LLAMA}
        with pytest.raises(SpecError, match="of a 'whisper'"):
            read_config(written(tmp_path, outer))


class TestNumbers:
    @pytest.mark.parametrize("value", [0, -1, 1.5, "32", True, [], {}, 1 << 25, 10**400])
    @pytest.mark.parametrize("key", ["num_hidden_layers", "num_attention_heads", "head_dim"])
    def test_refused(self, key: str, value: object, tmp_path: Path) -> None:
        """A number that is none, or out of range, is refused by its key."""
        if (key, value) != ("head_dim", 0):
            assert key in refused(tmp_path, **{key: value}) or value == 1 << 25

    @pytest.mark.parametrize("key", ["num_hidden_layers", "num_attention_heads", "hidden_size"])
    def test_missing(self, key: str, tmp_path: Path) -> None:
        """A number that a size depends on is not guessed."""
        assert f"{key} is missing; the size of a block depends on it" == refused(
            tmp_path, **{key: None}
        )

    def test_layers(self, tmp_path: Path) -> None:
        """More layers than any model has are refused."""
        assert refused(tmp_path, num_hidden_layers=5000).startswith("it has 5000 layers")

    def test_as_long(self, tmp_path: Path) -> None:
        """Digits of a hostile number are not repeated."""
        text = json.dumps(LLAMA).replace("32,", f"{'9' * 5000},", 1)
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(SpecError) as found:
            layers_of(read_config(tmp_path), Options())
        assert len(str(found.value)) < 400


class TestUnknown:
    def test_type(self, tmp_path: Path) -> None:
        """Of a type that is not known no figure is made; the nearest one is named."""
        says = refused(tmp_path, model_type="lama")
        assert "a figure would be a guess; did you mean llama? known are deepseek_v2" in says

    @pytest.mark.parametrize(
        ("more", "says"),
        [
            ({"layer_types": ["full_attention"] * 31}, "one value for each layer"),
            ({"layer_types": ["mystery"] * 32}, "'mystery', which is not known here"),
            ({"layer_types": [["full_attention"]] * 32}, "which is not known here"),
            ({"layer_types": ["full_attention", "sliding_attention"] * 16}, "is not known"),
            ({"model_type": "qwen3", "use_sliding_window": True}, "use_sliding_window is true"),
            ({"model_type": "qwen3", "use_sliding_window": "yes"}, "it is true or false"),
            ({"model_type": "gemma3_text", "use_bidirectional_attention": True}, "not known"),
            ({"model_type": "gemma4_text", "per_layer_config": {}}, "per_layer_config"),
            ({"model_type": "gpt_oss", "layer_types": ["full_attention"] * 32}, "alternate"),
            ({"model_type": "lfm2"}, "layer_types is missing"),
            ({"model_type": "granitemoehybrid"}, "layer_types is missing"),
            ({"model_type": "deepseek_v3", "index_topk": 2048}, "sparse attention"),
            ({"model_type": "deepseek_v3"}, "give --block-size as vLLM prints it"),
            ({"torch_dtype": None}, "it states no dtype"),
            ({"hidden_size": 31}, "a layer caches no byte"),
            ({"torch_dtype": "int8"}, "the dtype 'int8'"),
            ({"quantization_config": {"kv_cache_scheme": {"num_bits": 8}}}, "--kv-cache-dtype"),
            ({"quantization_config": {"quantization": {"kv_cache_quant_algo": "FP8"}}}, "--kv-c"),
        ],
    )
    def test_key(self, more: dict[str, Any], says: str, tmp_path: Path) -> None:
        """A key that changes the cache in a way that is not known is refused."""
        assert says in refused(tmp_path, **more)


_JUNK = (None, True, -1, 0, 1, 3, 7, 1 << 20, 1.5, "", "full_attention", [], {}, [1], ["conv"] * 32)
_KEYS = [
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "hidden_size",
    "dtype",
    "layer_types",
    "sliding_window",
    "sliding_window_pattern",
    "attention_chunk_size",
    "no_rope_layers",
    "no_rope_layer_interval",
    "kv_lora_rank",
    "qk_rope_head_dim",
    "conv_dim",
    "conv_L_cache",
    "linear_num_key_heads",
    "linear_num_value_heads",
    "linear_key_head_dim",
    "linear_conv_kernel_dim",
    "full_attention_interval",
    "expand",
    "num_heads",
    "state_size",
    "n_groups",
    "conv_kernel",
    "mamba_n_heads",
    "mamba_d_head",
    "mamba_d_state",
    "num_kv_shared_layers",
    "global_head_dim",
    "attention_k_eq_v",
    "num_global_key_value_heads",
    "use_bidirectional_attention",
    "quantization_config",
    "torch_dtype",
]
_WHOLE: dict[str, Any] = {
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "conv_dim": 4096,
    "conv_L_cache": 3,
    "expand": 2,
    "num_heads": 128,
    "head_dim": 64,
    "state_size": 128,
    "n_groups": 1,
    "conv_kernel": 4,
    "mamba_d_head": 64,
}
_KINDS = {
    "lfm2": ["conv", "full_attention"],
    "lfm2_moe": ["conv", "full_attention"],
    "granitemoehybrid": ["mamba", "attention"],
}
"""What the types need beside LLAMA."""


@pytest.mark.parametrize("kind", sorted(MODEL_TYPES))
def test_junk(kind: str, tmp_path: Path) -> None:
    """Whatever a config states, there is a figure of at least a byte, or a reason for none."""
    source, figures = random.Random(kind), 0
    whole = {**_WHOLE, **({"layer_types": _KINDS[kind] * 16} if kind in _KINDS else {})}
    for _ in range(150):
        more = {key: source.choice(_JUNK) for key in source.sample(_KEYS, 4)}
        config = config_of(tmp_path, **{**whole, **more, "model_type": kind})
        options = Options(64, source.choice((1, 2, 3)), source.choice((1, 2, 5)))
        with suppress(SpecError):
            found = budget_of(config, options, 1 << 30, Asked(4096, 8192))
            assert found.block_bytes > 0
            assert 0 <= found.tiers[0].claims * found.footprint <= found.tiers[0].usable
            figures += 1
    assert figures
