"""Derives the instances of the pool that a trace of the plugin may be about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from models.framework.hooked import Hooked
from models.framework.lineage import lineages_of
from models.runtimes.vllm_pool.model import Prompt, VllmPool
from spec.events.alphabet import Kind
from spec.events.canonical import Event

__all__ = ["INSTANCES", "pools_of"]

INSTANCES: Final = ("traced",)
"""The names of the instances, without their numbers."""


def pools_of(events: Sequence[Event]) -> Iterator[tuple[str, Hooked]]:
    """The pools of the size of a trace, by what the trace leaves open of its prompts.

    A request that caches nothing is served without its blocks being admitted.

    Raises:
        TooMany: there are more than were tried.
        SpecError: no request arrives, or what a prompt or a claim is about is undetermined.
    """
    usable = max((event.usable or 0 for event in events), default=0)
    loses = any(event.kind is Kind.BLOCK_LOST and event.block_ids for event in events)
    for number, lineage in enumerate(lineages_of(events), 1):
        prompts = tuple(
            Prompt(
                each.name,
                each.object_id,
                each.shared,
                each.own,
                tail=each.tail,
                exact=not each.tail,
                admitted=each.start is not None,
                between=each.between,
            )
            for each in lineage.prompts
        )
        pool = VllmPool(usable, prompts, {})
        name = INSTANCES[0] if number == 1 else f"{INSTANCES[0]}-{number}"
        yield name, Hooked(pool, lineage.watches, loses=loses)
