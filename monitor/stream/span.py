"""Says which numbers the lines of a stream have, and whether others may follow in another file."""

from __future__ import annotations

from typing import NamedTuple

from monitor.input.records import CANONICAL

__all__ = ["Span"]


class Span(NamedTuple):
    """The name of a stream's form, and its first and its last sequence number."""

    form: str | None
    first: int | None
    last: int | None

    def may_go_on_in(self, other: Span) -> bool:
        """Whether another file of this stream may hold the lines that follow. Recorded lines carry
        the name of their run, and a run may have several engines with numbers of their own: lines
        of another form, or numbers that begin before these end, are of another engine.
        """
        if self.form == CANONICAL.name:
            return True
        last, first = self.last, other.first
        return other.form == self.form and (last is None or first is None or first > last)
