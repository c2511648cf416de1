"""Says what one layer of a model caches on one rank: attention, a latent vector, or a state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from models.budget.config import Config

__all__ = ["BYTES", "KV_DTYPES", "Layer", "Maker", "Options", "Placed", "aligned", "dtype_of"]

BYTES: Final[Mapping[str, int]] = {"float32": 4, "bfloat16": 2, "float16": 2}
"""The bytes of a number, by vLLM's `--dtype`."""

KV_DTYPES: Final[Mapping[str, int]] = {**BYTES, "fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1}
"""The bytes of a number in the cache, by vLLM's `--kv-cache-dtype`."""

KERNEL: Final = 16
"""Tokens of the smallest block of attention on a GPU, by FlashAttention and Triton."""


class Options(NamedTuple):
    """What vLLM is started with, by the names of its flags."""

    block_size: int | None = None
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    dtype: str = "auto"
    kv_cache_dtype: str = "auto"
    mamba_ssm_cache_dtype: str = "auto"


class Layer(NamedTuple):
    """What one layer caches on a rank. Layers that are equal can share blocks.

    `kind` is "full", "latent" (MLA), "window", "chunk" or "state". A token of the first four takes
    `heads` times `content` bytes. A state takes `state` bytes in a block, for however many tokens.
    `reach` is the window or the chunk, in tokens; `padded` the size to which a block is padded. A
    request has at most `kept` blocks of a state.
    """

    kind: str
    block: int
    heads: int = 0
    content: int = 0
    reach: int = 0
    state: int = 0
    padded: int = 0
    kept: int = 0

    @property
    def page(self) -> int:
        """The bytes of one block of this layer."""
        return self.padded or self.state or self.block * self.heads * self.content


Placed: TypeAlias = "tuple[int, Layer]"
"""What a layer caches, after the number of that layer in the model."""


class Maker:
    """Makes the layers of one model, by what one rank has of it.

    Raises:
        SpecError: by each method, too: a number is missing, or cannot be divided between ranks.
    """

    def __init__(self, config: Config, options: Options) -> None:
        self.config, self._ranks = config, options.tensor_parallel
        self._dtype = dtype_of(config, options.dtype)
        self._cached = _cached_of(config, options.kv_cache_dtype) or self._dtype
        self._asked = options.block_size
        self._ssm = options.mamba_ssm_cache_dtype
        self._block = options.block_size or KERNEL
        if self._block % KERNEL:
            raise SpecError(f"a block of {self._block} tokens is no multiple of {KERNEL}")

    def attention(
        self, kind: str = "full", reach: int = 0, *, heads: int | None = None, size: int = 0
    ) -> Layer:
        """A key and a value of each head for each token."""
        config, ranks = self.config, self._ranks
        queries = config.number("num_attention_heads")
        self.share(queries, "attention heads")
        heads = heads or config.number("num_key_value_heads", queries)
        if heads % ranks and ranks % heads:
            self.share(heads, "KV heads")
        size = size or config.number("head_dim", 0, least=0)
        size = size or config.number("hidden_size") // queries
        return Layer(kind, self._block, max(1, heads // ranks), 2 * size * self._cached, reach)

    def latent(self) -> Layer:
        """One vector for each token, which every rank has (MLA)."""
        if self._asked is None:
            raise SpecError(
                "the block of a model with MLA depends on the backend of attention",
                "give --block-size as vLLM prints it, such as 64 for FlashMLA",
            )
        size = self.config.number("kv_lora_rank") + self.config.number("qk_rope_head_dim")
        return Layer("latent", self._block, 1, size * self._cached)

    def convolution(self, channels: int, kernel: int) -> Layer:
        """A state of the last inputs of a short convolution (LFM2)."""
        size = self.share(channels, "channels") * (kernel - 1) * self._dtype
        return Layer("state", self._block, state=size, kept=2)

    def recurrence(self, channels: int, kernel: int, heads: int, cell: int) -> Layer:
        """The state of a convolution, and `cell` numbers of each head."""
        conv = self.convolution(channels, kernel)
        width = self._dtype if self._ssm == "auto" else BYTES[self._ssm]
        return conv._replace(state=conv.state + self.share(heads, "heads of states") * cell * width)

    def mamba2(
        self, inner: int, groups: int, heads: int, size: int, states: int, kernel: int
    ) -> Layer:
        """A layer of Mamba 2; a rank has at least one group."""
        groups += 0 if groups % self._ranks == 0 else self._ranks - groups
        state = self.recurrence(inner + 2 * groups * states, kernel, heads, size * states)
        return state._replace(kept=3)  # it can be saved within a prefill

    def share(self, total: int, what: str) -> int:
        """What each rank has of so many, which they divide."""
        if total % self._ranks:
            raise SpecError(
                f"{self.config.name}: {total} {what} cannot be divided between {self._ranks} ranks",
                "change --tensor-parallel",
            )
        return total // self._ranks


def aligned(placed: list[Placed]) -> list[Placed]:
    """Layers in which a block of attention is as large as a state, and a state padded to it.

    It follows `_align_hybrid_block_size` in vLLM's platforms/interface.py.
    """
    states = [layer for _, layer in placed if layer.kind == "state"]
    others = [layer for _, layer in placed if layer.kind != "state"]
    if not states or not others:
        return placed
    most, token = max(each.state for each in states), others[0].heads * others[0].content
    unit = max(others[0].block, 128 if others[0].kind == "latent" else 0)
    block = max(others[0].block, unit * -(-most // (unit * token)))
    return [
        (at, each._replace(block=block, padded=block * token if each.kind == "state" else 0))
        for at, each in placed
    ]


def dtype_of(config: Config, asked: str) -> int:
    """The bytes of a number that the model is computed in; raises SpecError."""
    if asked != "auto":
        return BYTES[asked]
    stated = config.raw("dtype") or config.raw("torch_dtype")
    if not isinstance(stated, str) or stated not in BYTES:
        found = "no dtype" if stated is None else f"the dtype {str(stated)[:40]!r}"
        raise SpecError(f"{config.name}: it states {found}", "give --dtype, as to vLLM")
    return 2  # vLLM computes a model of float32 in 16 bits unless --dtype asks for it


def _cached_of(config: Config, asked: str) -> int | None:
    """The bytes of a number in the cache; None where it is that of the model."""
    if asked != "auto":
        return KV_DTYPES[asked]
    for key in ("quantization_config", "compression_config"):
        stated: Any = config.raw(key)
        parts = [stated, stated.get("quantization")] if isinstance(stated, dict) else []
        names = ("kv_cache_scheme", "kv_cache_quant_algo")
        if any(part.get(name) for part in parts if isinstance(part, dict) for name in names):
            raise SpecError(
                f"{config.name}: its quantization says how the cache is stored",
                "give --kv-cache-dtype, such as fp8",
            )
    return None
