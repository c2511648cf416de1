"""Estimates, as a range, what a GPU has left for its cache beside weights and activations.

vLLM measures this at start by a run of the model. The range covers its smallest and its largest
default batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from models.budget.layers import dtype_of
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from pathlib import Path

    from models.budget.config import Config
    from models.budget.layers import Options

__all__ = ["DENSE", "Estimate", "Range", "estimated", "weights_in"]

DENSE: Final = frozenset({"llama", "mistral", "phi3", "qwen2", "qwen3", "gemma2", "gemma3_text"})
"""The model types whose weights are counted by the config."""
_BATCHES: Final = ((2048, 256), (16384, 1024))
"""The least and the most tokens and requests of a batch, by vLLM's defaults for GPUs."""
_MORE: Final = 1.05
"""Weights that are not counted, such as norms and biases, are at most a twentieth."""
_UNEVEN: Final = 1.5
"""Pipeline stages differ in layers, and two of them have the embeddings."""
_OTHER: Final = 3 << 29
"""CUDA graphs and what is not torch's, at most, beside collective operations."""
_COLLECTIVES: Final = 1 << 30


class Range(msgspec.Struct, frozen=True):
    """At least and at most, in bytes."""

    least: int
    most: int


class Estimate(msgspec.Struct, frozen=True):
    """What each part takes of a rank's memory, and what it leaves for the cache."""

    utilization: float
    requested: int
    weights: Range
    activations: Range
    other: Range
    cache: Range


def estimated(
    config: Config, options: Options, memory: int, utilization: float, weights: int | None
) -> Estimate:
    """The range of what is left for the cache on each rank.

    Args:
        memory: bytes of one GPU.
        utilization: the part of it that vLLM may use.
        weights: the bytes of the checkpoint; None to count them by the config.

    Raises:
        SpecError: the weights cannot be counted, or they do not fit.
    """
    ranks = options.tensor_parallel * options.pipeline_parallel
    total = _weights(config, options) if weights is None else weights
    more = _MORE if options.pipeline_parallel == 1 else _UNEVEN
    loaded = Range(total // ranks, int(total * more) // ranks)
    width = dtype_of(config, options.dtype)
    running = Range(
        *(_activations(config, width, options.tensor_parallel, *each) for each in _BATCHES)
    )
    other = Range(0, _OTHER + (_COLLECTIVES if ranks > 1 else 0))
    requested = int(memory * utilization)
    parts = (loaded, running, other)
    most = requested - sum(each.least for each in parts)
    if most <= 0:
        raise SpecError(
            f"the weights alone take {loaded.least:,} of the {requested:,} bytes that vLLM may use",
            "give more memory, with its unit, such as 80GiB, or more ranks",
        )
    least = max(0, requested - sum(each.most for each in parts))
    return Estimate(utilization, requested, *parts, Range(least, most))


def weights_in(folder: Path) -> int | None:
    """The bytes of the checkpoint in a folder; None where it has none in safetensors.

    Of a folder with `model*.safetensors` those count, and not another copy of the same weights,
    such as `consolidated.safetensors`.

    Raises:
        SpecError: a file of it cannot be read.
    """
    if not folder.is_dir():
        return None
    try:
        found = [*folder.glob("model*.safetensors")] or folder.glob("*.safetensors")
        return sum(each.stat().st_size for each in found) or None
    except OSError as problem:
        raise SpecError(
            f"cannot read {problem.filename}: {problem.strerror}", "give --weights"
        ) from None


def _weights(config: Config, options: Options) -> int:
    kind = config.model_type
    if kind not in DENSE or config.is_part or config.raw("quantization_config"):
        raise SpecError(
            f"{config.name}: the weights of this {kind} are not counted by its config",
            "give --weights, the size of its checkpoint, or a folder with its safetensors",
        )
    hidden, heads = config.number("hidden_size"), config.number("num_attention_heads")
    size = config.number("head_dim", 0, least=0) or hidden // heads
    shared = heads + config.number("num_key_value_heads", heads)
    attention = 2 * hidden * shared * size  # queries and output, keys and values
    layer = attention + 3 * hidden * config.number("intermediate_size")
    tied = config.flag("tie_word_embeddings", default=kind.startswith("gemma"))
    embedding = config.number("vocab_size") * hidden * (1 if tied else 2)
    return (config.layers * layer + embedding) * dtype_of(config, options.dtype)


def _activations(config: Config, width: int, ranks: int, tokens: int, requests: int) -> int:
    """The tensors of one layer that live at a time, and the logits of a batch in float32."""
    hidden = config.number("hidden_size")
    inner = config.number("intermediate_size", 4 * hidden)
    layer = tokens * (2 * inner // ranks + 4 * hidden) * width
    return layer + 4 * requests * config.number("vocab_size")
