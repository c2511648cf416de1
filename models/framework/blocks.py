"""Defines what models of block pools share: the longest cached prefix, the free queue, facts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from models.framework.model import Emitted, fact
from spec.events.alphabet import Kind

__all__ = ["Content", "Slot", "cached_facts", "freed", "hits"]

Content: TypeAlias = tuple[str, int]
"""What a block holds: an object, or a request where it is its own, and the position in it."""

Slot: TypeAlias = Content | None
"""What a block of a pool caches."""


def hits(cached: Sequence[Slot], contents: Iterable[Content]) -> tuple[int, ...]:
    """The blocks that cache the longest prefix of these contents."""
    places = {content: block for block, content in enumerate(cached) if content}
    found: list[int] = []
    for content in contents:
        if content not in places:
            break
        found.append(places[content])
    return tuple(found)


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
