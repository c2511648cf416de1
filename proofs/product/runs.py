"""Defines a run of a model, and the events that a reader writes for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from models.framework.model import Action, Emitted
from models.framework.shims import Shim, stream_of
from spec.events.canonical import Event

__all__ = ["STREAM", "Run", "plainness"]

STREAM: Final = "run"
"""The name of the stream of a run."""


@dataclass(frozen=True)
class Run:
    """A run of a model: its first state, its actions, and what each of them emitted."""

    start: Any
    steps: tuple[tuple[Action, tuple[Emitted, ...]], ...]

    @property
    def actions(self) -> tuple[Action, ...]:
        """What was done."""
        return tuple(action for action, _ in self.steps)

    def events(self, shim: Shim) -> list[Event]:
        """What a reader writes for it: a complete stream, numbered from 0."""
        return stream_of(shim, (each for _, emits in self.steps for each in emits), STREAM)

    def until(self, shim: Shim, events: int) -> Run:
        """The run up to the emission in which a reader writes the event of this number, from 1."""
        steps, left = [], events
        for action, emits in self.steps:
            kept = []
            for each in emits:
                if left > 0:
                    kept.append(each)
                    left -= len(shim.events(each))
            steps.append((action, tuple(kept)))
            if left <= 0:
                break
        return Run(self.start, tuple(steps))


def plainness(run: Run, shim: Shim) -> tuple[int, int, int, int, tuple[str, ...]]:
    """Orders runs of one length: by their claims, requests, blocks, actions and names."""
    events = run.events(shim)
    claims = {event.claim_id for event in events if event.claim_id is not None}
    requests = {event.request_id for event in events if event.request_id is not None}
    blocks = {block for event in events for block in event.block_ids}
    names = tuple(map(str, run.actions))
    return len(claims), len(requests), len(blocks), len(names), names
