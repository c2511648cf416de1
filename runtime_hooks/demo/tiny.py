"""Makes a tiny model: its configuration, its prompts, and the environment that the engine needs.

It is a Llama of two layers with random weights, and has no tokenizer: prompts are token ids. Blocks
hold 32 tokens, which is the least on a CPU.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "OMP_NUM_THREADS": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
}
os.environ.update(ENVIRONMENT)

DEVICE = os.environ.get("RESIDENT_CLAIMS_TINY_DEVICE", "cpu")
"""The device of the tiny engine: `cpu` or `cuda`."""

DTYPE = "float32" if DEVICE == "cpu" else "bfloat16"

MEMORY = {} if DEVICE == "cpu" else {"gpu_memory_utilization": 0.02, "kv_cache_memory_bytes": 2**26}
"""What keeps the engine small on a GPU, so that several can run beside each other."""

MEMORY_FLAGS = " ".join(f"--{name.replace('_', '-')}={value}" for name, value in MEMORY.items())
"""The same as flags of `vllm serve`."""

BLOCK = 32
_VOCABULARY = 512
_CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "vocab_size": _VOCABULARY,
    "max_position_embeddings": 8192,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "torch_dtype": DTYPE,
    "hidden_act": "silu",
}


def model_folder(at: Path, config: Mapping[str, Any] | None = None) -> Path:
    """Write the configuration of a model to a folder, by default the usual one; return it."""
    at.mkdir(parents=True, exist_ok=True)
    (at / "config.json").write_text(json.dumps(config or _CONFIG))
    return at


def tokens(name: str, blocks: int) -> list[int]:
    """A prompt of this many whole blocks, the same for the same name."""
    source = random.Random(name)
    return [source.randrange(1, _VOCABULARY) for _ in range(blocks * BLOCK)]
