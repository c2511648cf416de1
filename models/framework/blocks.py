"""Defines what models of block pools share: the longest cached prefix, the free queue, facts.

Several blocks can cache one content: vLLM computes the last block of a prompt again even where it
is cached. A look-up finds the one that was cached first (`BlockHashToBlockMap.get_one_block` in
vLLM 0.32.0, `vllm/v1/core/block_pool.py`). So a pool remembers as `again` the blocks that cache
what another one did, in the order in which they were cached.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import takewhile
from typing import TypeAlias

from models.framework.model import Emitted, fact
from spec.events.alphabet import Kind

__all__ = ["Content", "Slot", "cached_facts", "filed", "filed_again", "freed", "hits"]

Content: TypeAlias = tuple[str, int]
"""What a block holds: an object, or a request where it is its own, and the position in it."""

Slot: TypeAlias = Content | None
"""What a block of a pool caches."""


def filed(cached: Sequence[Slot], again: Sequence[int] = ()) -> dict[Content, list[int]]:
    """The blocks that cache each content, the one that was cached first before the others."""
    blocks: dict[Content, list[int]] = {}
    for block in (*(each for each in range(len(cached)) if each not in again), *again):
        if (content := cached[block]) is not None:
            blocks.setdefault(content, []).append(block)
    return blocks


def filed_again(
    cached: Sequence[Slot], again: Sequence[int], new: Collection[int]
) -> tuple[int, ...]:
    """The blocks that cache what another one did before them, once the `new` ones are the last.

    Args:
        cached: what blocks hold after it.
        again: those before it; some may have lost their content since.
    """
    kept = [None if block in new else content for block, content in enumerate(cached)]
    blocks = filed(kept, again)
    later = {block for each in blocks.values() for block in each[1:]}
    doubled = [block for block in new if cached[block] in blocks]
    return (*(block for block in again if block in later), *doubled)


def hits(
    cached: Sequence[Slot], contents: Iterable[Content], again: Sequence[int] = ()
) -> tuple[int, ...]:
    """The blocks that cache the longest prefix of these contents; of several the first cached."""
    blocks = filed(cached, again)
    return tuple(blocks[content][0] for content in takewhile(blocks.__contains__, contents))


def freed(free: tuple[int, ...], cached: Sequence[Slot], back: Iterable[int]) -> tuple[int, ...]:
    """The free queue of vLLM with blocks given back: those that cache nothing at its front."""
    returned = tuple(back)
    first = tuple(block for block in returned if cached[block] is None)
    return (*first, *free, *(block for block in returned if cached[block] is not None))


def cached_facts(request_id: str, new: Iterable[tuple[int, Content]]) -> list[Emitted]:
    """The facts that a request computed these blocks, one for each object."""
    pairs = list(new)
    facts: list[Emitted] = []
    for object_id in dict.fromkeys(name for _, (name, _) in pairs):
        own = [(block, at) for block, (name, at) in pairs if name == object_id]
        facts.append(
            fact(
                Kind.BLOCK_CACHED,
                request_id=request_id,
                object_id=object_id,
                block_ids=tuple(block for block, _ in own),
                positions=tuple(at for _, at in own),
            )
        )
    return facts
