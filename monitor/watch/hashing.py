"""Recomputes the hashes that engines give to blocks, for events that state no token ids.

Sources: hash_block_tokens and init_none_hash of vllm/v1/core/kv_cache_utils.py with
vllm/utils/hashing.py, of vLLM 0.32; compute_node_event_hash_values of
sglang/srt/mem_cache/utils.py and hash_binding.cpp, of SGLang 0.5.23.
"""

from __future__ import annotations

import hashlib
import pickle
import struct
from typing import TYPE_CHECKING, Final, NamedTuple

from monitor.watch.tokens import package

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["SGLANG", "Hashing"]

SGLANG: Final = "sglang"
_NO_SEED: Final = "vllm-none-hash"
_SALT_OF_SGLANG: Final = b"sglang-cache-salt-v1\0"


class Hashing(NamedTuple):
    """The scheme of an engine.

    Attributes:
        scheme: `sglang`, or vLLM's `--prefix-caching-hash-algo`.
        seed: the engine's PYTHONHASHSEED, for vLLM; None if it has none.
    """

    scheme: str
    seed: str | None = None

    @property
    def covers_adapters(self) -> bool:
        """Whether blocks of different adapters have different hashes."""
        return self.scheme != SGLANG

    def keys(
        self,
        blocks: Sequence[Sequence[int]],
        *,
        adapter: tuple[str, str | None] | None = None,
        salt: str | None = None,
    ) -> tuple[tuple[int | str, ...], ...]:
        """Return the keys that events may state for each block of a prefix: an integer of 64 bits,
        or the whole hash as hexadecimal text. Empty if the hashes cannot be computed.

        Args:
            blocks: the token ids of each block, from the first one of the prompt on.
            adapter: the name and the path of the LoRA adapter.
            salt: the cache salt.

        Raises:
            SpecError: a package is missing.
        """
        if self.scheme == SGLANG:
            # An adapter is hashed by an id that the engine makes up.
            digests = () if adapter else _of_sglang(blocks, salt)
            return tuple((int.from_bytes(each[:8], "big"), each.hex()) for each in digests)
        if adapter is not None and adapter[1] is None:
            return ()
        digests = self._of_vllm(blocks, adapter, salt)
        return tuple((int.from_bytes(each[-8:], "big"), each.hex()) for each in digests)

    def _of_vllm(
        self,
        blocks: Sequence[Sequence[int]],
        adapter: tuple[str, str | None] | None,
        salt: str | None,
    ) -> Iterator[bytes]:
        serialize = _cbor if self.scheme.endswith("_cbor") else _pickle
        digest = _sha256
        if self.scheme.startswith("xxhash"):
            digest = package("xxhash", "xxhash").xxh3_128_digest
        # A pickle refers back to an object that occurs twice; in the engine these are two.
        every = () if adapter is None else (("lora", *map(_copy, adapter)),)
        first = () if salt is None else (("cache_salt", salt),)
        parent = digest(serialize(_NO_SEED if self.seed is None else self.seed))
        for position, tokens in enumerate(blocks):
            extra = every + first if position == 0 else every
            parent = digest(serialize((parent, tuple(tokens), extra or None)))
            yield parent


def _of_sglang(blocks: Sequence[Sequence[int]], salt: str | None) -> Iterator[bytes]:
    parent = b"" if salt is None else _sha256(_SALT_OF_SGLANG + salt.encode())
    for tokens in blocks:
        parent = _sha256(parent + struct.pack(f"<{len(tokens)}I", *tokens))
        yield parent


def _copy(text: str | None) -> str:
    return (text or "").encode().decode()


def _sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _pickle(value: object) -> bytes:
    return pickle.dumps(value, protocol=5)  # no data is ever unpickled


def _cbor(value: object) -> bytes:
    """Canonical CBOR (RFC 8949, 4.2.1) of the few types that are hashed."""
    if value is None:
        return b"\xf6"
    if isinstance(value, int):
        return _cbor_head(0, value)
    if isinstance(value, bytes):
        return _cbor_head(2, len(value)) + value
    if isinstance(value, str):
        encoded = value.encode()
        return _cbor_head(3, len(encoded)) + encoded
    assert isinstance(value, tuple)
    return _cbor_head(4, len(value)) + b"".join(map(_cbor, value))


def _cbor_head(major: int, number: int) -> bytes:
    if number < 24:
        return bytes([major << 5 | number])
    size = next(n for n in range(4) if number < 1 << (8 << n))
    return bytes([major << 5 | 24 + size]) + number.to_bytes(1 << size, "big")
