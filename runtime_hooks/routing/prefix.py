"""Digests prefixes of prompts alike in the processes of a server, whatever the engine's hashes."""

from __future__ import annotations

import hashlib
from array import array
from typing import TYPE_CHECKING, Final

from runtime_hooks.routing.routes import Prefix

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["prefixes_of"]

_SIZE: Final = 16  # bytes of a digest


def prefixes_of(
    tokens: Sequence[int], lengths: Iterable[int], salt: str | None, adapter: str | None
) -> Iterator[Prefix]:
    """The prefixes of a prompt that have these lengths in tokens, the shortest first.

    Args:
        salt: the cache salt of the request; `adapter` the name of its LoRA adapter. Prompts that
            differ in one of them share no blocks.
    """
    digest = hashlib.blake2b(repr((salt or "", adapter or "")).encode(), digest_size=_SIZE)
    ends = sorted(length for length in lengths if 0 < length <= len(tokens))
    content, at = memoryview(array("q", tokens[: ends[-1]] if ends else ())), 0
    for end in ends:
        digest.update(content[at:end])
        at = end
        yield Prefix(end, digest.copy().hexdigest())
