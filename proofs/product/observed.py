"""Runs a judge as an automaton that is built as a search needs it."""

from __future__ import annotations

from models.framework.model import Emitted
from models.framework.shims import Shim, claim_of
from models.framework.stepper import FIRST, Stepper
from proofs.product.graph import Graph, Names
from proofs.product.runs import events_of
from spec.claims.states import Mode
from spec.language.verdicts import Verdict

__all__ = ["FIRST", "Observed"]


class Observed:
    """The observers of one claim, in one of the modes, over what a model emits.

    All claims of the model are followed, for the sake of the blocks and the capacity that they have
    in common with this one.

    Args:
        tracked: the holder whose claim is judged.
    """

    def __init__(self, graph: Graph, shim: Shim, mode: Mode, tracked: str) -> None:
        self.graph, self.shim, self.mode, self.tracked = graph, shim, mode, tracked
        claims, requests = map(claim_of, graph.model.holders), graph.model.requests
        self._stepper = Stepper(mode, frozenset(claims), requests, claim_of(tracked))
        self.obligations = self._stepper.obligations
        self._paths: dict[tuple[int, tuple[Emitted, ...]], tuple[int, ...]] = {}
        self._events: dict[tuple[Emitted, ...], list[int]] = {}
        self._names: dict[tuple[int, Names], int] = {}

    def __len__(self) -> int:
        return len(self._stepper)

    def verdict(self, configuration: int, obligation: int) -> Verdict:
        """What an obligation, by its place among `obligations`, comes to in a configuration."""
        return self._stepper.verdicts[configuration][obligation]

    def after(
        self, configuration: int, emits: tuple[Emitted, ...], obligation: int
    ) -> tuple[int, int]:
        """The configuration after what an action emitted, and how many events that was.

        What breaks the obligation breaks it for good: events after that one are left out.

        Raises:
            SpecError: an event contradicts those before it, or names what the model does not have.
        """
        path, verdicts = self.path(configuration, emits), self._stepper.verdicts
        if verdicts[path[-1]][obligation] is not Verdict.VIOLATED:
            return path[-1], len(path) - 1
        broken = [each for each in path if verdicts[each][obligation] is Verdict.VIOLATED]
        return broken[0], len(path) - len(broken)

    def path(self, configuration: int, emits: tuple[Emitted, ...]) -> tuple[int, ...]:
        """The configuration, and the one after each event of what an action emitted."""
        found = self._paths.get((configuration, emits))
        if found is None:
            found = self._paths[configuration, emits] = self._take(configuration, emits)
        return found

    def _take(self, configuration: int, emits: tuple[Emitted, ...]) -> tuple[int, ...]:
        stepper, events = self._stepper, self._events.get(emits)
        if events is None:
            stated = events_of(self.shim, emits)
            events = self._events[emits] = list(map(stepper.number, stated))
        path = [configuration]
        for event in events:
            path.append(stepper.after(path[-1], event))
        return tuple(path)

    def renamed(self, configuration: int, names: Names) -> int:
        """The configuration where blocks, claims and requests have these names instead."""
        found = self._names.get((configuration, names))
        if found is None:
            found = configuration
            if names.labels:
                found = self._stepper.relabelled(found, dict(names.labels))
            if names.blocks:
                found = self._stepper.renamed(found, names.blocks)
            self._names[configuration, names] = found
        return found
