"""Searches a model for a run that breaks an obligation, and has the monitor judge that run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from models.framework.model import Action, Emitted, Model
from models.framework.shims import PLAIN, Shim, claim_of
from monitor import check_files
from proofs.product.search import Answer, search
from spec.claims.states import Mode
from spec.contract.obligations import OBLIGATIONS
from spec.events.canonical import EVENT_ENCODER, Event
from tests.proofs.judging import judged

__all__ = ["Found", "found", "kinds", "transitions"]

_VERDICTS = {
    Answer.BROKEN: "violated",
    Answer.KEPT: "satisfied",
    Answer.OWED: "pending",
}


class Found(NamedTuple):
    """What was found of an obligation: the answer, the run's actions and its events.

    `rule` and `line` are by which rule the run comes to that, and where.
    """

    answer: Answer
    actions: list[str]
    events: list[Event]
    rule: str | None = None
    line: object = None


def found(
    model: Model[Any],
    mode: Mode,
    obligation: str,
    tracked: str,
    folder: Path,
    shim: Shim = PLAIN,
) -> Found:
    """What a search finds; `monitor check` and the reference say the same of the run, if any."""
    outcome = search(model, shim, mode, obligation, tracked)
    if outcome.run is None:
        return Found(outcome.answer, [], [])
    events = outcome.run.events(shim)
    path = folder / "run.jsonl"
    path.write_bytes(b"".join(EVENT_ENCODER.encode(event) + b"\n" for event in events))
    claims = {claim.claim_id: claim for claim in check_files(str(path), mode).claims}
    told = claims[claim_of(tracked)].obligations[obligation]
    finding = judged(events, mode).claims[claim_of(tracked)].findings()[obligation]
    assert told.verdict == finding.verdict == _VERDICTS[outcome.answer]
    assert told.at is None or told.at.line == finding.at
    actions = list(map(str, outcome.run.actions))
    rule = None if finding.rule is None else OBLIGATIONS[obligation].rules[finding.rule].name
    return Found(outcome.answer, actions, events, rule, finding.at)


def kinds(events: list[Event]) -> list[str]:
    """The kinds of events, in order."""
    return [str(event.kind) for event in events]


def transitions(model: Model[Any]) -> Iterator[tuple[Any, Action, Any, tuple[Emitted, ...]]]:
    """Each transition between reachable states: the state, the action, what it makes and emits."""
    todo = list(dict.fromkeys(model.initial()))
    seen = set(todo)
    for state in todo:
        for action in model.actions(state):
            after, emits = model.apply(state, action)
            yield state, action, after, emits
            if after not in seen:
                seen.add(after)
                todo.append(after)
