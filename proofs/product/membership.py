"""Decides whether a stream of events is what a reader writes for a run of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from proofs.product.runs import events_of

if TYPE_CHECKING:
    from models.framework.model import Model
    from models.framework.shims import Shim
    from spec.events.canonical import Event

__all__ = ["is_run"]


def is_run(model: Model[Any], shim: Shim, events: Sequence[Event]) -> bool:
    """Whether a reader writes exactly these events, and maybe more, for some run of a model.

    Names and numbers count as they are; of the stream itself, and of sequence numbers and times,
    nothing is compared.
    """
    wanted = [_plain(event) for event in events]
    todo = [(state, 0) for state in model.initial()]
    seen = set(todo)
    while todo:
        state, taken = todo.pop()
        if taken == len(wanted):
            return True
        for action in model.actions(state):
            after, emits = model.apply(state, action)
            told = [_plain(event) for event in events_of(shim, emits)]
            rest = wanted[taken : taken + len(told)]
            if told[: len(rest)] != rest:
                continue
            reached = (after, taken + len(rest))
            if reached not in seen:
                seen.add(reached)
                todo.append(reached)
    return False


def _plain(event: Event) -> Event:
    return msgspec.structs.replace(event, stream="", sequence=None, time_ns=None)
