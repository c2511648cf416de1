"""Derives the instances of the pool that a trace of the plugin may be about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from models.framework.hooked import Hooked
from models.framework.lineage import lineages_of
from models.runtimes.vllm_pool.model import Prompt, VllmPool
from spec.events.canonical import Event

__all__ = ["INSTANCES", "pools_of"]

INSTANCES: Final = ("traced",)
"""The names of the instances."""


def pools_of(events: Sequence[Event]) -> Iterator[tuple[str, Hooked]]:
    """The pools of the size of a trace, by what the trace leaves open of its prompts.

    A request that caches nothing is served without its blocks being admitted.

    Raises:
        Untried: there are more than were tried.
        SpecError: no request arrives, or what a prompt or a claim is about is undetermined.
    """
    for lineage in lineages_of(events):
        prompts = tuple(
            Prompt(*each[:5], not each.tail, each.start is not None, each.between)
            for each in lineage.prompts
        )
        pool = VllmPool(lineage.usable, prompts, {})
        yield INSTANCES[0], Hooked(pool, lineage.watches, events)
