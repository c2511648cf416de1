"""Runs the reference projection as an automaton that is built as a search needs it.

A configuration is all that the projection knows after some events. Each is a number, and what an
action's events make of it is remembered, so that the projection takes in each event once in each
configuration, however many states of the model share it.
"""

from __future__ import annotations

from typing import Final

from models.framework.model import Emitted
from models.framework.shims import Shim, claim_of
from proofs.product.graph import Graph, Names
from proofs.product.runs import events_of
from spec.claims.claim import Mode
from spec.language.verdicts import Verdict
from spec.projection.alone import Alone, stands_alone
from spec.projection.parts import Config, Parts
from spec.projection.stepper import Followed, Stepper
from spec.projection.values import Values

__all__ = ["FIRST", "Observed"]

FIRST: Final = 0
"""The configuration before any event."""


class Observed:
    """The observer of one obligation of one claim, over what a model emits.

    Where the obligation reads nothing of other claims the claim is followed by itself.

    Args:
        tracked: the holder whose claim is judged.
        whole: follow all claims, whether the obligation reads them or not.
    """

    def __init__(
        self,
        graph: Graph,
        shim: Shim,
        mode: Mode,
        obligation: str,
        tracked: str,
        *,
        whole: bool = False,
    ) -> None:
        model, claim = graph.model, claim_of(tracked)
        on = {} if whole else graph.objects(shim)
        objects = None if whole else frozenset(name for names in on.values() for name in names)
        claims = map(claim_of, model.holders)
        followed = Followed(mode, claim, [obligation], claims, model.requests, objects)
        self.shim, self.obligation = shim, obligation
        alone = claim in on and stands_alone(followed)
        self._parts = Parts(Alone(followed, on[claim][0]) if alone else Stepper(followed))
        self._known: Values[Config] = Values()
        self._after: dict[tuple[int, tuple[Emitted, ...]], tuple[int, int]] = {}
        self._events: dict[tuple[Emitted, ...], list[int]] = {}
        self._names: dict[tuple[int, Names], int] = {}
        self.verdicts: list[Verdict] = []
        self._number(self._parts.first)

    def __len__(self) -> int:
        return len(self._known)

    def after(self, configuration: int, emits: tuple[Emitted, ...]) -> tuple[int, int]:
        """The configuration after what an action emitted, and how many events that was.

        What breaks the obligation breaks it for good: events after that one are not taken in.
        """
        known = self._after.get((configuration, emits))
        return known or self._take(configuration, emits)

    def renamed(self, configuration: int, names: Names) -> int:
        """The configuration where blocks, claims and requests have these names instead."""
        number = self._names.get((configuration, names))
        if number is None:
            config = self._known[configuration]
            if names.labels:
                config = self._parts.relabelled(config, dict(names.labels))
            if names.blocks:
                config = self._parts.renamed(config, names.blocks)
            number = self._names[configuration, names] = self._number(config)
        return number

    def _take(self, configuration: int, emits: tuple[Emitted, ...]) -> tuple[int, int]:
        parts, config, taken = self._parts, self._known[configuration], 0
        events = self._events.get(emits)
        if events is None:
            events = self._events[emits] = list(map(parts.number, events_of(self.shim, emits)))
        if self.verdicts[configuration] is not Verdict.VIOLATED:
            for event in events:
                config = parts.after(config, event)
                taken += 1
                if parts.verdict(config) is Verdict.VIOLATED:
                    break
        number = self._number(config)
        self._after[configuration, emits] = number, taken
        return number, taken

    def _number(self, config: Config) -> int:
        number = self._known.number(config)
        if number == len(self.verdicts):
            self.verdicts.append(self._parts.verdict(config))
        return number
