"""Collects the modes that the claims of a trace state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.input.records import CANONICAL
from spec.claims.claim import Mode
from spec.contract.modes import MODES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from monitor.input.records import Record
    from spec.events.canonical import Event

__all__ = ["Stated"]


class Stated:
    """Checks each line for a mode that has no judge yet.

    Args:
        judged: the modes by which claims are judged.
        only: look at the claim of this id alone.
    """

    def __init__(self, judged: Collection[Mode], only: str | None = None) -> None:
        self.modes: set[Mode] = set()
        self.more: Mode | None = None
        self._judged, self._only = frozenset(judged), only
        self._read_from: dict[Mode, set[str]] = {}
        self._usual: dict[str, Mode | None] = {}

    def note(self, record: Record) -> bool:
        """Whether the line states a mode that has no judge yet; `more` is then that mode."""
        form = record.stamp.form
        if record.stamp.stream not in self._usual:
            self._usual[record.stamp.stream] = form.usual
        for event, _ in record.events:
            if (mode := self._mode(event)) is None:
                continue
            if self.more is not None:
                return True
            if form is not CANONICAL:
                self._read_from.setdefault(mode, set()).add(form.name)
        return False

    def note_event(self, event: Event, stream: str) -> None:
        """The same of a canonical line, where each mode has a judge."""
        if stream not in self._usual:
            self._usual[stream] = CANONICAL.usual
        if event.mode is not None:
            self._mode(event)

    def note_events(self, events: Iterable[Event], streams: Iterable[str]) -> bool:
        """The same of canonical lines of these streams."""
        for name in streams:
            self._usual.setdefault(name, CANONICAL.usual)
        for event in [event for event in events if event.mode is not None]:
            if self._mode(event) and self.more is not None:
                return True
        return False

    def _mode(self, event: Event) -> Mode | None:
        """The mode that an event states, if it counts; `more` is set where it has no judge."""
        if event.mode is None or event.mode not in MODES:
            return None
        if self._only not in (None, event.claim_id):
            return None
        mode = Mode(event.mode)
        self.modes.add(mode)
        if mode not in self._judged:
            self.more = mode
        return mode

    def join(self, later: Stated) -> None:
        """What was stated in files that come after these."""
        self.modes |= later.modes
        self._usual = {**later._usual, **self._usual}
        for mode, forms in later._read_from.items():
            self._read_from.setdefault(mode, set()).update(forms)

    def forms(self, mode: Mode) -> frozenset[str]:
        """The recorded forms in which claims state a mode."""
        return frozenset(self._read_from.get(mode, ()))

    def usual(self, stream: str) -> Mode | None:
        """The mode that recordings in the form of a stream are mostly judged by."""
        return self._usual.get(stream)
