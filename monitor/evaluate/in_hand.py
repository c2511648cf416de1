"""Holds one request as one claim sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from monitor.evaluate.observer_state import ObserverState, Registers

__all__ = ["InHand"]


class InHand:
    """One request as one claim sees it; `touched` says that it had to do with the claim itself.

    `among` are the requests that stood alike when they were last compared, by their ids.
    """

    __slots__ = ("among", "ended", "facts", "touched", "watches")

    def __init__(
        self,
        facts: Registers,
        watches: list[ObserverState],
        touched: bool = False,
        ended: bool = False,
    ) -> None:
        self.facts, self.watches, self.touched, self.ended = facts, watches, touched, ended
        self.among: dict[str, InHand] | None = None

    @property
    def stands(self) -> Hashable:
        """What an event meets here, equal for all requests that it moves alike."""
        return (self.facts, *((watch.state, watch.own) for watch in self.watches))
