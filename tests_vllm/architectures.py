"""Tiny models with other caches than one of full attention, by what a hit needs of them.

A window is four blocks of 32 tokens. vLLM builds Mamba 2 on a CPU, and cannot run it there with
prefix caching: such an engine has vLLM's own scheduler and pool, and its steps are not computed.
"""

from __future__ import annotations

from typing import Any, Final

from tests_vllm.steps import StepsExecutor

__all__ = ["ARCHITECTURES", "SIZES", "configured"]

SIZES: Final = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "vocab_size": 512,
    "max_position_embeddings": 8192,
    "torch_dtype": "float32",
}
_WINDOW: Final = 4 * 32
_NOT_COMPUTED: Final = ("granite 4", "mamba 2")


def _layers(first: str, last: str, of_first: int = 1, times: int = 1) -> dict[str, Any]:
    kinds = ([first] * of_first + [last]) * times
    return {"layer_types": kinds, "num_hidden_layers": len(kinds)}


def _gemma(kind: str, **more: Any) -> dict[str, Any]:
    return {
        **SIZES,
        "architectures": [f"G{kind[1:]}ForCausalLM"],
        "model_type": f"{kind}_text",
        "sliding_window": _WINDOW,
        "query_pre_attn_scalar": 32,
        "hidden_activation": "gelu_pytorch_tanh",
        "tie_word_embeddings": True,
        **_layers("sliding_attention", "full_attention", of_first=5),
        **more,
    }


_LLAMA_4: Final = {
    **SIZES,
    "architectures": ["Llama4ForCausalLM"],
    "model_type": "llama4_text",
    "attention_chunk_size": _WINDOW,
    "num_local_experts": 4,
    "num_experts_per_tok": 1,
    "interleave_moe_layer_step": 2,
    "intermediate_size_mlp": 128,
}
_LFM2: Final = {
    **SIZES,
    "architectures": ["Lfm2ForCausalLM"],
    "model_type": "lfm2",
    "block_dim": 64,
    "conv_dim": 64,
    "conv_L_cache": 3,
    "block_ff_dim": 128,
    "block_multiple_of": 32,
}

ARCHITECTURES: Final[dict[str, dict[str, Any]]] = {
    "gpt-oss": {
        **SIZES,
        "architectures": ["GptOssForCausalLM"],
        "model_type": "gpt_oss",
        "sliding_window": _WINDOW,
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
        "attention_bias": True,
        "swiglu_limit": 7.0,
        "rope_theta": 150000,
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 2.0,
            "beta_fast": 32.0,
            "beta_slow": 1.0,
            "truncate": False,
            "original_max_position_embeddings": 4096,
        },
        **_layers("sliding_attention", "full_attention", times=2),
    },
    "gemma 3": _gemma("gemma3", rope_local_base_freq=10000.0),
    "gemma 4": _gemma("gemma4", global_head_dim=32, vocab_size_per_layer_input=512),
    "mistral": {  # one cache, with a window
        **SIZES,
        "architectures": ["MistralForCausalLM"],
        "model_type": "mistral",
        "sliding_window": _WINDOW,
        "num_hidden_layers": 2,
        "hidden_act": "silu",
    },
    "gemma 4, two sizes": _gemma(
        "gemma4",
        global_head_dim=64,
        vocab_size_per_layer_input=512,
        attention_k_eq_v=True,
        num_global_key_value_heads=1,
    ),
    "llama 4": {**_LLAMA_4, "num_hidden_layers": 4, "no_rope_layers": [1, 1, 1, 0]},
    "llama 4, chunks alone": {**_LLAMA_4, "num_hidden_layers": 2, "no_rope_layers": [1, 1]},
    "lfm2": {**_LFM2, **_layers("conv", "full_attention", of_first=3)},
    "lfm2, states alone": {**_LFM2, **_layers("conv", "conv")},
    "granite 4": {  # Mamba 2
        **SIZES,
        "architectures": ["GraniteMoeHybridForCausalLM"],
        "model_type": "granitemoehybrid",
        "shared_intermediate_size": 128,
        "num_local_experts": 0,
        "num_experts_per_tok": 0,
        "mamba_n_heads": 2,
        "mamba_d_head": 64,
        "mamba_d_state": 8,
        "mamba_n_groups": 1,
        "mamba_expand": 2,
        "position_embedding_type": "nope",
        **_layers("mamba", "attention", of_first=3),
    },
    "mamba 2": {  # one cache, of states
        **SIZES,
        "architectures": ["Mamba2ForCausalLM"],
        "model_type": "mamba2",
        "num_hidden_layers": 2,
        "num_heads": 2,
        "head_dim": 64,
        "state_size": 8,
        "n_groups": 1,
        "expand": 2,
        "conv_kernel": 4,
        "chunk_size": 256,
        "time_step_limit": [0.0, 100.0],
    },
    "deepseek-v3": {  # one cache, of latent attention
        **SIZES,
        "architectures": ["DeepseekV3ForCausalLM"],
        "model_type": "deepseek_v3",
        "num_hidden_layers": 2,
        "num_key_value_heads": 2,
        "moe_intermediate_size": 64,
        "n_routed_experts": 4,
        "n_shared_experts": 1,
        "num_experts_per_tok": 2,
        "n_group": 2,
        "topk_group": 1,
        "kv_lora_rank": 512,
        "q_lora_rank": 32,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "hidden_act": "silu",
        "torch_dtype": "bfloat16",
    },
    "qwen3-next": {
        **SIZES,
        "architectures": ["Qwen3NextForCausalLM"],
        "model_type": "qwen3_next",
        "num_key_value_heads": 2,
        "head_dim": 256,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "linear_num_key_heads": 1,
        "linear_num_value_heads": 2,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 64,
        "shared_expert_intermediate_size": 64,
        "torch_dtype": "bfloat16",
        **_layers("linear_attention", "full_attention", of_first=3),
    },
}


def configured(model: str, **more: Any) -> dict[str, Any]:
    """The configuration of an engine with this model."""
    config = ARCHITECTURES[model]
    if model in _NOT_COMPUTED:
        more = {"distributed_executor_backend": StepsExecutor, **more}
    return {"config": config, "max_model_len": 640, "dtype": config["torch_dtype"], **more}
