"""Runs the reference projection as an automaton that is built as a search needs it.

A configuration is all that the projection knows after some events. Each is a number, and what an
action's events make of it is remembered, so that the projection takes in each event once in each
configuration, however many states of the model share it.
"""

from __future__ import annotations

from typing import Any, Final

from models.model import Emitted, Model
from models.shims import Shim, claim_of
from proofs.product.runs import events_of
from spec.claims.claim import Mode
from spec.events.canonical import Event
from spec.language.verdicts import Verdict
from spec.projection.stepper import Followed, Frozen, Stepper

__all__ = ["FIRST", "Observed"]

FIRST: Final = 0
"""The configuration before any event."""


class Observed:
    """The observer of one obligation of one claim, over what a model emits.

    Args:
        tracked: the holder whose claim is judged.
    """

    def __init__(
        self, model: Model[Any], shim: Shim, mode: Mode, obligation: str, tracked: str
    ) -> None:
        claims = map(claim_of, model.holders)
        followed = Followed(mode, claim_of(tracked), [obligation], claims, model.requests)
        self.shim, self.obligation = shim, obligation
        self._stepper = Stepper(followed)
        self._known: list[Frozen] = []
        self._numbers: dict[Frozen, int] = {}
        self._after: dict[tuple[int, tuple[Emitted, ...]], tuple[int, int]] = {}
        self._events: dict[tuple[Emitted, ...], list[Event]] = {}
        self.verdicts: list[Verdict] = []
        self._number()

    def __len__(self) -> int:
        return len(self._known)

    def after(self, configuration: int, emits: tuple[Emitted, ...]) -> tuple[int, int]:
        """The configuration after what an action emitted, and how many events that was.

        What breaks the obligation breaks it for good: events after that one are not taken in.
        """
        known = self._after.get((configuration, emits))
        return known or self._take(configuration, emits)

    def _take(self, configuration: int, emits: tuple[Emitted, ...]) -> tuple[int, int]:
        events = self._events.get(emits)
        if events is None:
            events = self._events[emits] = events_of(self.shim, emits)
        number, taken = configuration, 0
        if events:
            self._stepper.thaw(self._known[configuration])
            for event in events:
                self._stepper.take(event)
                taken += 1
                if self._verdict() is Verdict.VIOLATED:
                    break
            number = self._number()
        self._after[configuration, emits] = number, taken
        return number, taken

    def _verdict(self) -> Verdict:
        return self._stepper.verdicts()[self.obligation]

    def _number(self) -> int:
        frozen = self._stepper.frozen()
        number = self._numbers.setdefault(frozen, len(self._known))
        if number == len(self._known):
            self._known.append(frozen)
            self.verdicts.append(self._verdict())
        return number
