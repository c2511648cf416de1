"""What a source hands to the engine: canonical events, each with the place it came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

if TYPE_CHECKING:
    from spec.alphabet import Kind
    from spec.events import Event, Mark

__all__ = ["At", "Doubt", "Record", "Stamp", "Trail"]


class At(msgspec.Struct, frozen=True):
    """Where something was read: a file as the user named it, and a line counted from 1."""

    file: str
    line: int
    sequence: int | None = None


Trail: TypeAlias = "tuple[tuple[Kind, At | None], ...]"
"""Events in their order, each with its place."""


class Stamp(msgspec.Struct, frozen=True):
    """Order of one line in its stream. `skips` says that missing numbers are no loss there, `mark`
    that the line is a mark of the stream.
    """

    stream: str
    sequence: int | None
    time_ns: int | None
    skips: bool = False
    mark: Mark | None = None


class Doubt(msgspec.Struct, frozen=True):
    """Why nothing new is concluded from the events of a line on: what the line leaves unsaid.

    It concerns `claim_id`, or every claim alive in the stream; and the obligations in `only`, or
    all of them.
    """

    why: str
    claim_id: str | None = None
    only: frozenset[str] = frozenset()


class Record(msgspec.Struct, frozen=True):
    """One line: its place, its order, and the canonical events it stands for, each with its place.

    A line of a kind that nobody knows has no events and names the kind in `unknown`.
    """

    at: At
    stamp: Stamp
    events: tuple[tuple[Event, At], ...] = ()
    unknown: str | None = None
    doubts: tuple[Doubt, ...] = ()
