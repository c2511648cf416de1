"""Knows which layers of a model cache what in vLLM 0.32, by the type of the model.

A type is known here only if `tests_vllm/test_budget.py` compares it with what vLLM builds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from models.budget.layers import Layer, Maker, Options, aligned
from spec.language.errors import SpecError
from spec.language.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable

    from models.budget.config import Config
    from models.budget.layers import Placed

__all__ = ["MODEL_TYPES", "layers_of"]

_FULL, _SLIDING = "full_attention", "sliding_attention"


def layers_of(config: Config, options: Options) -> list[Placed]:
    """What each layer of a model caches, in their order; layers without a cache are left out.

    Raises:
        SpecError: the model type is not known, or a number is missing or cannot be divided.
    """
    family = _FAMILIES.get(config.model_type)
    if family is None:
        known = f"known are {', '.join(sorted(MODEL_TYPES))}"
        raise SpecError(
            f"{config.name}: which layers of a {config.model_type[:40]!r} cache what in vLLM is "
            "not known here, and a figure would be a guess",
            f"{did_you_mean(config.model_type, MODEL_TYPES)} {known}".strip(),
        )
    found = family(Maker(config, options))
    placed = [(at, layer) for at, layer in enumerate(found) if layer is not None]
    if not placed or any(layer.page == 0 for _, layer in placed):
        raise SpecError(f"{config.name}: {'a' if placed else 'every'} layer caches no byte")
    return aligned(placed)


def _uniform(make: Maker) -> list[Layer | None]:
    """All layers alike: full attention, or a window in each."""
    config = make.config
    kinds = config.kinds("layer_types", (_FULL, _SLIDING))
    window = config.optional("sliding_window")
    if kinds is not None and len(set(kinds)) > 1:
        raise SpecError(
            f"{config.name}: a {config.model_type} with several layer_types is not known"
        )
    windowed = window and (kinds is None or kinds[0] == _SLIDING)
    layer = make.attention("window", window or 0) if windowed else make.attention()
    return [layer] * config.layers


def _switched(make: Maker) -> list[Layer | None]:
    """Full attention, unless the config switches windows on."""
    if make.config.flag("use_sliding_window", default=False):
        raise SpecError(f"{make.config.name}: use_sliding_window is true, which is not known here")
    return [make.attention()] * make.config.layers


def _interleaved(make: Maker, kinds: list[str]) -> list[Layer | None]:
    """Windows in some layers."""
    window = make.config.number("sliding_window")
    by = {_FULL: make.attention(), _SLIDING: make.attention("window", window)}
    return [by[kind] for kind in kinds]


def _gemma(make: Maker) -> list[Layer | None]:
    config = make.config
    every = 2 if config.model_type == "gemma2" else config.number("sliding_window_pattern", 6)
    if config.raw("use_bidirectional_attention"):
        raise SpecError(f"{config.name}: use_bidirectional_attention is not known here")
    default = [_SLIDING if (at + 1) % every else _FULL for at in range(config.layers)]
    return _interleaved(make, config.kinds("layer_types", (_FULL, _SLIDING)) or default)


def _gemma4(make: Maker) -> list[Layer | None]:
    config = make.config
    if config.raw("use_bidirectional_attention") not in (None, "vision"):
        raise SpecError(f"{config.name}: its use_bidirectional_attention is not known here")
    if config.raw("per_layer_config") is not None:
        raise SpecError(f"{config.name}: per_layer_config is not known here")
    default = [_FULL if (at + 1) % 6 == 0 else _SLIDING for at in range(config.layers)]
    kinds = config.kinds("layer_types", (_FULL, _SLIDING)) or default
    kinds = [*kinds[:-1], _FULL]  # as transformers has it, whatever the config says
    heads = config.number("num_key_value_heads")
    if config.flag("attention_k_eq_v", default=False):
        heads = config.number("num_global_key_value_heads", heads)
    full = make.attention(heads=heads, size=config.number("global_head_dim"))
    window = make.attention("window", config.number("sliding_window"))
    own = config.layers - config.number("num_kv_shared_layers", 0, least=0)
    return [(full if k == _FULL else window) if at < own else None for at, k in enumerate(kinds)]


def _gpt_oss(make: Maker) -> list[Layer | None]:
    config = make.config
    kinds = [_FULL if at % 2 else _SLIDING for at in range(config.layers)]
    if config.kinds("layer_types", (_FULL, _SLIDING)) not in (None, kinds):
        raise SpecError(f"{config.name}: its layer_types do not alternate, as vLLM takes them to")
    make.share(config.number("num_key_value_heads"), "KV heads")  # of which no rank has a copy
    return _interleaved(make, kinds)


def _llama4(make: Maker) -> list[Layer | None]:
    """Chunked attention where there is a rotary embedding."""
    config = make.config
    every = config.number("no_rope_layer_interval", 4)
    default = [int((at + 1) % every != 0) for at in range(config.layers)]
    chunk = config.optional("attention_chunk_size")
    local = make.attention("chunk", chunk) if chunk else make.attention()
    rotary = config.kinds("no_rope_layers", (0, 1)) or default
    return [local if each else make.attention() for each in rotary]


def _latent(make: Maker) -> list[Layer | None]:
    """MLA; a config with an indexer is of another type."""
    if make.config.raw("index_topk") is not None:
        raise SpecError(f"{make.config.name}: sparse attention (index_topk) is not known here")
    return [make.latent()] * make.config.layers


def _lfm2(make: Maker) -> list[Layer | None]:
    config = make.config
    kinds = config.kinds("layer_types", (_FULL, "conv"))
    if kinds is None:
        raise SpecError(f"{config.name}: layer_types is missing")
    channels = "conv_dim" if config.model_type == "lfm2" else "hidden_size"
    conv = make.convolution(config.number(channels), config.number("conv_L_cache"))
    return [make.attention() if kind == _FULL else conv for kind in kinds]


def _delta(make: Maker) -> list[Layer | None]:
    """Gated delta nets, and full attention in every fourth layer."""
    config = make.config
    every = config.number("full_attention_interval", 4)
    default = ["linear_attention" if (at + 1) % every else _FULL for at in range(config.layers)]
    kinds = config.kinds("layer_types", (_FULL, "linear_attention")) or default
    keys, values = config.number("linear_num_key_heads"), config.number("linear_num_value_heads")
    key, value = config.number("linear_key_head_dim"), config.number("linear_value_head_dim")
    make.share(keys, "key heads")
    channels = 2 * keys * key + values * value
    kernel = config.number("linear_conv_kernel_dim")
    net = make.recurrence(channels, kernel, values, key * value)
    return [make.attention() if kind == _FULL else net for kind in kinds]


def _mamba2(make: Maker) -> list[Layer | None]:
    config = make.config
    names = ("n_groups", "num_heads", "head_dim", "state_size", "conv_kernel")
    inner = config.number("expand") * config.number("hidden_size")
    return [make.mamba2(inner, *map(config.number, names))] * config.layers


def _granite(make: Maker) -> list[Layer | None]:
    config = make.config
    full = ("attention", _FULL)
    known = (*full, "mamba", "linear_attention")
    kinds = config.kinds("layer_types", known) or config.kinds("layers_block_type", known)
    if kinds is None:
        raise SpecError(f"{config.name}: layer_types is missing")
    names = ("n_groups", "n_heads", "d_head", "d_state", "d_conv")
    inner = config.number("mamba_expand") * config.number("hidden_size")
    state = make.mamba2(inner, *(config.number(f"mamba_{name}") for name in names))
    return [make.attention() if kind in full else state for kind in kinds]


_FAMILIES: Final[dict[str, Callable[[Maker], list[Layer | None]]]] = {
    **dict.fromkeys(("llama", "mistral", "mixtral", "phi3"), _uniform),
    **dict.fromkeys(("qwen2", "qwen2_moe", "qwen3", "qwen3_moe"), _switched),
    **dict.fromkeys(("gemma2", "gemma3_text"), _gemma),
    "gemma4_text": _gemma4,
    "gpt_oss": _gpt_oss,
    "llama4_text": _llama4,
    **dict.fromkeys(("deepseek_v2", "deepseek_v3", "kimi_k2"), _latent),
    **dict.fromkeys(("lfm2", "lfm2_moe"), _lfm2),
    "qwen3_next": _delta,
    "mamba2": _mamba2,
    "granitemoehybrid": _granite,
}
MODEL_TYPES: Final = frozenset(_FAMILIES)
"""The model types that are known."""
