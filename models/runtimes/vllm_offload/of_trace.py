"""Derives the instances of the connector that a trace of the plugin may be about.

A trace that is a run of one of them is accepted. One that is a run of none is rejected only where
an instance is named that excludes what the model leaves out. Otherwise it is undecided, because the
engine does what the model has no state for, and a trace does not show whether it did:

* The tier stores and evicts single chunks, and of a step for which it has no room it stores nothing
  (`prepare_store`). A trace states neither the size of a chunk, nor that of the tier, nor by what
  threshold and in what order (lru, arc or another) it stores and evicts. It states copies only of
  offloadable claims, once all their blocks are copied. So any first part of what is missing may be
  loaded, or nothing.
* An asynchronous load takes blocks only for what it brings (`schedule`: `num_new_tokens = 0`). The
  rest of the prompt gets blocks when the load is over. Other requests may take blocks until then.
* A load of blocks without a claim is stated without a request. Where several requests wait, it is
  undetermined whose prompt has what these blocks hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from models.framework.hooked import Hooked
from models.framework.lineage import Lineage, Parted, lineages_of
from models.runtimes.vllm_offload.model import Policy, VllmOffload
from spec.events.canonical import Event

__all__ = ["INSTANCES", "connectors_of"]

INSTANCES: Final = {f"objects-{each}": each for each in (Policy.FAIL, Policy.RECOMPUTE)}
"""The policies of a connector that can report a load that failed, by the names of the instances."""

_PARTED: Final = "prompts may share parts of objects, which the model stores and loads as a whole"
_ROOM: Final = "the tier may lack room for what the model has in it"


def connectors_of(events: Sequence[Event]) -> Iterator[tuple[str, Hooked]]:
    """The connectors of the size of a trace, by the policy and what is left open of the prompts.

    No trace states the size of the tier: that of the instances has room for all that is stored.
    The model stores, loads and evicts the copy of an object as a whole, and its prompts are
    objects. A prompt that shares only a part of another's blocks, or that ends in a block that is
    not whole, has copies of some of its blocks, and gets others once these are loaded. The model
    has no such step. So that none of these makes a trace proves nothing, unless one is named.

    Raises:
        Parted: always, in the end: prompts may be other than whole objects, or the tier smaller.
        Untried: there are more than were tried.
        SpecError: no request arrives, or what a prompt or a claim is about is undetermined.
    """
    parted = False
    for lineage in lineages_of(events):
        if not _is_of_objects(lineage):
            parted = True
            continue
        objects = {each.object_id: each.shared for each in lineage.prompts}
        prompts = {each.name: each.object_id for each in lineage.prompts}
        sizes = lineage.usable, sum(objects.values()), objects, prompts
        for name, policy in INSTANCES.items():
            connector = VllmOffload(*sizes, policy, exact=True)
            yield name, Hooked(connector, lineage.watches, events)
    if parted:
        raise Parted(_PARTED, "name the instance objects-fail to take prompts to be whole objects")
    raise Parted(_ROOM, "name the instance objects-fail to take it to have room for everything")


def _is_of_objects(lineage: Lineage) -> bool:
    """Whether each prompt is the whole of one object."""
    whole = {(each.object_id, each.shared) for each in lineage.prompts}
    plain = not any(each.own or each.tail or each.between for each in lineage.prompts)
    return plain and len(whole) == len({object_id for object_id, _ in whole})
