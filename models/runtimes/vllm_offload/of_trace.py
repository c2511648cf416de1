"""Derives the instances of the connector that a trace of the plugin may be about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from models.framework.hooked import Hooked
from models.framework.lineage import Lineage, Parted, lineages_of
from models.runtimes.vllm_offload.model import Policy, VllmOffload
from spec.events.alphabet import Kind
from spec.events.canonical import Event

__all__ = ["connectors_of"]

_POLICIES: Final = (Policy.FAIL, Policy.RECOMPUTE)
"""Those of a connector that can report a load that failed."""


_PARTED: Final = "prompts may share parts of objects, which the model stores and loads as a whole"


def connectors_of(events: Sequence[Event]) -> Iterator[tuple[str, Hooked]]:
    """The connectors of the size of a trace, by the policy and what is left open of the prompts.

    The tier has room for all that is stored: no trace states its size. The model stores, loads and
    evicts the copy of an object as a whole, and its prompts are objects. A prompt that shares only
    a part of another's blocks, or that ends in a block that is not whole, has copies of some of its
    blocks, and gets others once these are loaded. The model has no such step, so that what it would
    say of such a prompt proves nothing.

    Raises:
        Parted: prompts may be other than whole objects.
        TooMany: there are more than were tried.
        SpecError: no request arrives, or what a prompt or a claim is about is undetermined.
    """
    usable = max((event.usable or 0 for event in events), default=0)
    loses = any(event.kind is Kind.BLOCK_LOST and event.block_ids for event in events)
    number, parted = 0, False
    for lineage in lineages_of(events):
        if not _is_of_objects(lineage):
            parted = True
            continue
        number += 1
        objects = {each.object_id: each.shared for each in lineage.prompts}
        prompts = {each.name: each.object_id for each in lineage.prompts}
        sizes = usable, sum(objects.values()), objects, prompts
        for policy in _POLICIES:
            connector = VllmOffload(*sizes, policy, exact=True)
            name = f"objects-{policy}" if number == 1 else f"objects-{policy}-{number}"
            yield name, Hooked(connector, lineage.watches, loses=loses)
    if parted:
        raise Parted(_PARTED, "name the instance objects-fail to take prompts to be whole objects")


def _is_of_objects(lineage: Lineage) -> bool:
    """Whether each prompt is the whole of one object."""
    whole = {(each.object_id, each.shared) for each in lineage.prompts}
    plain = not any(each.own or each.tail or each.between for each in lineage.prompts)
    return plain and len(whole) == len({object_id for object_id, _ in whole})
