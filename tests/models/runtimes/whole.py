"""Judges all obligations of a claim in one walk: what `search` does for one of them at a time."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any

from models.framework.model import Model
from models.framework.shims import PLAIN
from models.framework.stepper import FIRST, Stepper
from proofs.product.graph import Graph
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from spec.language.verdicts import Verdict


def verdicts(model: Model[Any], mode: Mode, tracked: str) -> dict[str, set[Verdict]]:
    """The verdicts that each obligation of a mode comes to in some state.

    A verdict that is pending counts where the model can do nothing more.
    """
    graph = Graph(model, symmetric=False)
    judge = Stepper(model, PLAIN, mode, tracked)
    todo = deque((state, FIRST) for state in graph.first)
    seen, came = set(todo), defaultdict[str, set[Verdict]](set)
    while todo:
        state, configuration = todo.popleft()
        leaving = graph.leaving(state)
        for place, name in enumerate(judge.obligations):
            verdict = judge.verdict(configuration, place)
            if verdict is not Verdict.PENDING or not leaving:
                came[name].add(verdict)
        for reached, emits, _, _ in leaving:
            node = reached, judge.path(configuration, emits)[-1]
            if node not in seen:
                seen.add(node)
                todo.append(node)
    return came


def unkept(model: Model[Any], mode: Mode) -> dict[str, str]:
    """The obligations of a mode that are not kept, or that no holder's claim puts to the test."""
    by_holder = [verdicts(model, mode, holder) for holder in model.holders]
    wrong: dict[str, str] = {}
    for name in MODES[mode].names(Bundle.CONTRACT):
        came = set().union(*(each[name] for each in by_holder))
        bad = came & {Verdict.VIOLATED, Verdict.INCONCLUSIVE, Verdict.PENDING}
        if bad or Verdict.SATISFIED not in came:
            wrong[name] = ", ".join(sorted(bad)) or "never put to the test"
    return wrong
