"""Judges all obligations of a claim in one walk: what `search` does for one of them at a time."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any

from models.framework.model import Emitted, Model
from models.framework.shims import PLAIN, claim_of
from proofs.product.runs import events_of
from spec.claims.claim import Mode
from spec.contract.modes import MODES, Bundle
from spec.language.verdicts import Verdict
from spec.projection.stepper import Followed, Frozen, Stepper


def verdicts(model: Model[Any], mode: Mode, tracked: str) -> dict[str, set[Verdict]]:
    """The verdicts that each obligation of a mode comes to in some state.

    A verdict that is pending counts where the model can do nothing more.
    """
    names = MODES[mode].names(Bundle.CONTRACT)
    claims = map(claim_of, model.holders)
    stepper = Stepper(Followed(mode, claim_of(tracked), names, claims, model.requests))
    known: list[Frozen] = [stepper.frozen()]
    numbers = {known[0]: 0}
    found = [dict(stepper.verdicts())]
    after: dict[tuple[int, tuple[Emitted, ...]], int] = {}
    todo = deque((state, 0) for state in model.initial())
    seen, came = set(todo), defaultdict[str, set[Verdict]](set)
    while todo:
        state, number = todo.popleft()
        actions = list(model.actions(state))
        for name, verdict in found[number].items():
            if verdict is not Verdict.PENDING or not actions:
                came[name].add(verdict)
        for action in actions:
            reached, emits = model.apply(state, action)
            if (number, emits) not in after:
                stepper.thaw(known[number])
                for event in events_of(PLAIN, emits):
                    stepper.take(event)
                frozen = stepper.frozen()
                if frozen not in numbers:
                    numbers[frozen] = len(known)
                    known.append(frozen)
                    found.append(dict(stepper.verdicts()))
                after[number, emits] = numbers[frozen]
            node = reached, after[number, emits]
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
