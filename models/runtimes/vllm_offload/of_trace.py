"""Derives the instances of the connector that a trace of the plugin may be about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from models.framework.hooked import Hooked
from models.framework.lineage import Lineage, lineages_of
from models.runtimes.vllm_offload.model import Policy, VllmOffload
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.language.errors import SpecError

__all__ = ["connectors_of"]

_POLICIES: Final = (Policy.FAIL, Policy.RECOMPUTE)
"""Those of a connector that can report a load that failed."""


def connectors_of(events: Sequence[Event]) -> Iterator[tuple[str, Hooked]]:
    """The connectors of the size of a trace, by the policy and what is left open of the prompts.

    The tier has room for all that is stored: no trace states its size.

    Raises:
        TooMany: there are more than were tried.
        SpecError: no request arrives, what a prompt or a claim is about is undetermined, or a
            prompt is not one object, of whole blocks.
    """
    usable = max((event.usable or 0 for event in events), default=0)
    loses = any(event.kind is Kind.BLOCK_LOST and event.block_ids for event in events)
    number = 0
    for number, lineage in enumerate(filter(_is_of_objects, lineages_of(events)), 1):
        objects = {each.object_id: each.shared for each in lineage.prompts}
        prompts = {each.name: each.object_id for each in lineage.prompts}
        sizes = usable, sum(objects.values()), objects, prompts
        for policy in _POLICIES:
            connector = VllmOffload(*sizes, policy, exact=True)
            name = f"traced-{policy}" if number == 1 else f"traced-{policy}-{number}"
            yield name, Hooked(connector, lineage.watches, loses=loses)
    if not number:
        raise SpecError("a prompt of the stream is not the whole of one object, in whole blocks")


def _is_of_objects(lineage: Lineage) -> bool:
    """Whether each prompt is the whole of one object."""
    whole = {(each.object_id, each.shared) for each in lineage.prompts}
    plain = not any(each.own or each.tail or each.between for each in lineage.prompts)
    return plain and len(whole) == len({object_id for object_id, _ in whole})
