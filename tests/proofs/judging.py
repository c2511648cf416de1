"""Judges the events of a run."""

from __future__ import annotations

from collections.abc import Iterable

from spec.claims.states import Mode
from spec.events.canonical import Event
from spec.stream.breaks import line_of
from spec.stream.judge import Judge

__all__ = ["judged"]


def judged(events: Iterable[Event], mode: Mode) -> Judge:
    """The judge of a stream of these events, whose lines are numbered from 1."""
    judge = Judge(mode)
    for at, event in enumerate(events, 1):
        judge.take(line_of(event, at))
    judge.finish()
    return judge
