"""Judges streams as `Streams` does, and puts a timeline of them meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.core import Streams
from monitor.results import USUAL
from monitor.timeline.lanes import Lanes
from spec.contract.modes import Bundle

if TYPE_CHECKING:
    from monitor.core import Stream
    from monitor.input.records import Form
    from monitor.timeline.lanes import Written
    from spec.claims.states import Mode
    from spec.stream.breaks import Limits

__all__ = ["Recorder"]


class Recorder(Streams):
    """The streams of some sources, and where the items of their timeline go.

    Memory is that of the judge; it holds the claims and requests in hand, and no item.

    Args:
        written: is given each item, as soon as it is known.
    """

    def __init__(
        self,
        written: Written,
        default: Mode | None = None,
        bundle: Bundle = Bundle.CONTRACT,
        *,
        limits: Limits = USUAL,
        only: str | None = None,
        watched: bool = False,
    ) -> None:
        super().__init__(default, bundle, limits=limits, only=only, watched=watched)
        self._written = written

    def make(self, file: str, name: str, form: Form) -> Stream:
        """A new stream."""
        return Lanes(
            self._written,
            file,
            name,
            form,
            default=self.default,
            bundle=self.bundle,
            limits=self.limits,
            only=self.only,
            watched=self.watched,
        )

    def finish(self) -> None:
        """Every stream is over."""
        super().finish()
        for stream in self:
            stream.end()  # type: ignore[attr-defined]
