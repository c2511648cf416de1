"""Searches a model together with the judge of a claim, in the order of events.

The judge never constrains a model, so each obligation is searched for itself; what the judge knows
after some events is found once for all of them. A run with fewer events is found before one with
more, and of the shortest runs that break the obligation the one with the fewest claims, requests
and blocks is taken. What is broken stays broken: nothing is searched behind it.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any, Final, TypeAlias

from models.framework.explore import check_facts
from models.framework.model import Action, Emitted, Model, renamed
from models.framework.shims import Shim
from models.framework.stepper import FIRST, Names, Stepper
from models.framework.symmetry import relabelled, relabelled_emission
from proofs.product.graph import Edge, Graph, Run, plainness
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from spec.language.errors import SpecError
from spec.language.verdicts import Verdict

__all__ = ["LIMIT", "Answer", "Outcome", "Progress", "search", "search_each"]

LIMIT: Final = 400_000
"""States of the product that are visited, unless more are asked for."""

_TIES: Final = 64
"""Shortest runs that are compared."""

_REPORT: Final = 2_048
"""States between two calls of a progress function."""

Progress: TypeAlias = Callable[[int, int, int], None]
"""Receives the number of states and transitions so far, and the length of runs in events."""

_Node: TypeAlias = tuple[int, int]
"""A state of the model and a configuration, by their numbers."""


class Answer(StrEnum):
    """What was found of an obligation."""

    KEPT = "kept"
    BROKEN = "broken"
    UNTESTED = "never put to the test"
    OWED = "owed at the end of a run"
    UNCLEAR = "inconclusive"
    BOUNDED = "not broken within the bound"
    STOPPED = "not broken until the search was stopped"


@dataclass(frozen=True)
class Outcome:
    """What a search found of one obligation, and how much it visited.

    `run` is a shortest one: it breaks the obligation, leaves it owed or unclear, or, where it is
    kept, puts it to the test. `longest` is the number of events up to which every run was visited.
    """

    obligation: str
    answer: Answer
    states: int
    transitions: int
    longest: int
    run: Run | None = None


def search(
    model: Model[Any],
    shim: Shim,
    mode: Mode,
    obligation: str,
    tracked: str,
    *,
    limit: int = LIMIT,
    progress: Progress | None = None,
    symmetric: bool = True,
    explored: tuple[Graph, Stepper] | None = None,
) -> Outcome:
    """Whether every run of a model keeps an obligation to the claim of a holder.

    An interrupt (Ctrl-C) ends the search with what was visited until then.

    Args:
        symmetric: states that differ in names alone, of blocks and of what is interchangeable
            without the claim, are one.
        explored: the model and what the judge knows of it, as other searches left them.

    Raises:
        SpecError: the model emits facts that contradict each other; the action is named.
    """
    if explored is None:
        graph = Graph(model, symmetric=symmetric, fixed=(tracked,))
        explored = graph, Stepper(model, shim, mode, tracked)
    collects = gc.isenabled()
    gc.disable()  # the collector would look at every state again and again
    try:
        return _Search(*explored, obligation, limit).run(progress)
    except KeyboardInterrupt:
        return Outcome(obligation, Answer.STOPPED, 0, 0, 0)
    finally:
        if collects:
            gc.enable()


def search_each(
    model: Model[Any],
    shim: Shim,
    mode: Mode,
    tracked: str,
    *,
    limit: int = LIMIT,
    progress: Callable[[str, int, int, int], None] | None = None,
) -> dict[str, Outcome]:
    """What `search` finds of each obligation of a mode's contract, up to one that is interrupted.

    Args:
        progress: receives the obligation, and then what `Progress` receives.

    Raises:
        SpecError: an action emits what is no event, or facts that contradict each other.
    """
    explored = Graph(model, fixed=(tracked,)), Stepper(model, shim, mode, tracked)
    found: dict[str, Outcome] = {}
    names = MODES[mode].names(Bundle.CONTRACT)
    try:
        check_facts(model, shim, mode)
    except KeyboardInterrupt:
        return {names[0]: Outcome(names[0], Answer.STOPPED, 0, 0, 0)}
    for name in names:
        report = None if progress is None else partial(progress, name)
        found[name] = search(
            model, shim, mode, name, tracked, limit=limit, progress=report, explored=explored
        )
        if found[name].answer is Answer.STOPPED:
            break
    return found


class _Search:
    """A search of the product of a model with a judge, for one obligation."""

    def __init__(self, graph: Graph, judge: Stepper, obligation: str, limit: int) -> None:
        self.graph, self.judge, self.limit = graph, judge, limit
        self.obligation, self.place = obligation, judge.obligations.index(obligation)
        first = [(number, FIRST) for number in graph.first]
        self.parents: dict[_Node, tuple[_Node, Edge] | None] = dict.fromkeys(first)
        self.costs: dict[_Node, int] = dict.fromkeys(first, 0)
        self.todo: defaultdict[int, list[_Node]] = defaultdict(list, {0: first})
        self.shown: dict[Verdict, _Node] = {}
        self.broken: list[_Node] = []
        self.owed: _Node | None = None
        self.transitions = self.longest = 0

    def run(self, progress: Progress | None) -> Outcome:
        stopped = False
        try:
            while self.todo and not self.broken and len(self.costs) <= self.limit:
                self.longest = min(self.todo)
                self._visit(self.longest, progress)
        except KeyboardInterrupt:
            stopped = True
        if self.broken and not stopped:
            return self._outcome(Answer.BROKEN, *self.broken)
        if stopped or self.todo:
            return self._outcome(Answer.STOPPED if stopped else Answer.BOUNDED)
        if Verdict.INCONCLUSIVE in self.shown:
            return self._outcome(Answer.UNCLEAR, self.shown[Verdict.INCONCLUSIVE])
        if self.owed is not None:
            return self._outcome(Answer.OWED, self.owed)
        if Verdict.SATISFIED in self.shown:
            return self._outcome(Answer.KEPT, self.shown[Verdict.SATISFIED])
        return self._outcome(Answer.UNTESTED)

    def _visit(self, cost: int, progress: Progress | None) -> None:
        """Visit what is reached by so many events; what it costs no event to reach is among it."""
        after, leaves, place = self.judge.after, self.graph.leaving, self.place
        costs, parents, todo = self.costs, self.parents, self.todo
        for node in todo[cost]:
            if costs[node] < cost:
                continue
            state, configuration = node
            verdict = self.judge.verdict(configuration, place)
            if verdict is Verdict.VIOLATED:
                self.broken.append(node)
                continue
            self.shown.setdefault(verdict, node)
            leaving = leaves(state)
            for edge in leaving:
                reached, emits, _, names = edge
                try:
                    following, events = after(configuration, emits, place)
                except SpecError as error:
                    raise self.graph.fault(state, edge[2], error) from None
                if names is not None:
                    following = self.judge.renamed(following, names)
                new, price = (reached, following), cost + events
                if price < costs.get(new, price + 1):
                    costs[new], parents[new] = price, (node, edge)
                    todo[price].append(new)
            self.transitions += len(leaving)
            if not leaving and verdict is Verdict.PENDING:
                self.owed = self.owed or node
            if progress is not None and len(parents) % _REPORT == 0:
                progress(len(costs), self.transitions, cost)
        del todo[cost]

    def _outcome(self, answer: Answer, *nodes: _Node) -> Outcome:
        runs = [self._run_to(node) for node in nodes[:_TIES]]
        return Outcome(
            self.obligation,
            answer,
            len(self.costs),
            self.transitions,
            self.longest,
            min(runs, key=lambda run: plainness(run, self.judge.shim)) if runs else None,
        )

    def _run_to(self, node: _Node) -> Run:
        edges = []
        while (parent := self.parents[node]) is not None:
            node, edge = parent
            edges.append(edge)
        steps, first = [], _Names()
        for _, emits, action, names in reversed(edges):
            steps.append((first.action(action), tuple(first.emitted(each) for each in emits)))
            first = first if names is None else first.before(names)
        return Run(self.graph.states[node[0]], tuple(steps))


class _Names(dict[int, int]):
    """Of each block, as a state names it, the name that it had in the first state of a run.

    Args:
        labels: the same of claims, requests and objects.
    """

    def __init__(self, blocks: Mapping[int, int] = {}, labels: Mapping[str, str] = {}) -> None:
        super().__init__(blocks)
        self.labels = dict(labels)

    def __missing__(self, block: int) -> int:
        return block

    def action(self, action: Action) -> Action:
        """An action by those names."""
        found: Action = relabelled(action, self.labels)
        return found

    def emitted(self, emitted: Emitted) -> Emitted:
        """What is emitted, by those names."""
        return relabelled_emission(renamed(emitted, self), self.labels)

    def before(self, names: Names) -> _Names:
        """The same after names were changed."""
        blocks = {new: self[old] for old, new in enumerate(names.blocks)} if names.blocks else self
        old = {new: self.labels.get(old, old) for old, new in names.labels}
        return _Names(blocks, {**self.labels, **old})
