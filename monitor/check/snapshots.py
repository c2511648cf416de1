"""Writes the state of a judging as bytes, and reads it back."""

from __future__ import annotations

from typing import Final, NamedTuple

from monitor.check import judging, parts, stated, theorem, whole
from monitor.durable.frame import framed, unframed
from monitor.durable.known import Known
from monitor.durable.reader import read
from monitor.durable.state import STATE
from monitor.durable.writer import written
from monitor.input.resequencer import Disorder
from monitor.input.sources import Account
from monitor.stream.limits import Limits

__all__ = ["State", "restored", "snapshot"]

_WHAT: Final = "snapshot"


class State(NamedTuple):
    """All that judges, and what was read so far."""

    judging: judging.Judging
    account: Account


KNOWN: Final = Known(
    (
        *(State, Account, Disorder, whole.Asked, Limits),
        *(judging.Judging, judging._Judge, parts.Trusted, stated.Stated, theorem.Theorem),
    ),
    beside=STATE,
)
"""What a snapshot contains."""


def snapshot(state: State) -> bytes:
    """The state as bytes; SpecError where there is more than a snapshot holds."""
    return framed(_WHAT, written(KNOWN, state))


def restored(data: bytes) -> State:
    """The state that `snapshot` wrote.

    Raises:
        CorruptSnapshot: it is torn, modified, or none.
        ForeignSnapshot: it was made for another specification, or holds the state in another form.
    """
    state: State = read(KNOWN, unframed(_WHAT, data), State)
    return state
