"""Takes events that follow the line before, and name no claim, or one that is in hand.

Such an event can neither bring a claim nor make it unclear by which mode one goes. Of all others
`monitor.engine.Monitor` decides whether the stream is to be parted before, and `Stream.stamp` what
is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monitor.input.records import At, at_line
from monitor.pool.objects import open_without
from monitor.stream.stream_state import INTRODUCES
from spec.contract.modes import MODES, Bundle
from spec.events.alphabet import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.stream.projection import Stream
    from spec.events.canonical import Event

__all__ = ["take_usual", "take_usual_of"]

_OPEN: Final = frozenset(
    kind
    for kind in Kind
    for mode in MODES.values()
    for bundle in Bundle
    if open_without(kind, frozenset(mode.names(bundle)))
)
"""Facts that are to name a claim or an object; else obligations of some mode are open."""


def take_usual(stream: Stream, event: Event, at: At) -> bool:
    """Take an event on a canonical line of its own; False, and nothing has changed, if it is not
    usual.
    """
    claim_id = event.claim_id
    if claim_id is None:
        if event.kind in _OPEN and event.object_id is None:
            return False
    elif claim_id not in stream.claims or (event.mode is not None and event.kind in INTRODUCES):
        return False
    return stream.take_next(event, at)


def take_usual_of(stream: Stream, events: Sequence[Event], file: str, line: int) -> int:
    """Take events, each on a line of its own, up to the first one that is not usual, or after
    which the stream is to be parted.

    Args:
        line: that of the first event.

    Returns:
        How many were taken.
    """
    taken = 0
    for event in events:
        if not take_usual(stream, event, at_line(file, line + taken, event.sequence)):
            break
        taken += 1
        if stream.apart:
            break
    return taken
