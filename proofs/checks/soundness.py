"""Checks soundness: whether a bundle implies the auditor's theorem."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from proofs.checks.results import Sound
from proofs.engines.answers import Answer, Question
from proofs.engines.invariants.recheck import ProofResult
from proofs.engines.names import EngineName
from proofs.engines.portfolio import engine_named
from proofs.logic.encode import Integers
from proofs.traces.narrative import tell
from proofs.traces.replay import to_events

if TYPE_CHECKING:
    from spec.claims.states import Mode
    from spec.contract.modes import Bundle

__all__ = ["sound_by"]


def sound_by(engine: EngineName, mode: Mode, bundle: Bundle, depth: int) -> tuple[Sound, Answer]:
    """What an engine says of the theorem, published and as it came.

    Args:
        depth: the maximal number of events in the bounded search.
    """
    started = time.perf_counter()
    question = Question(mode, bundle)
    answer = engine_named(engine, depth).answer(question)
    shown = answer.shown
    return (
        Sound(
            result=str(answer.result),
            engine=str(answer.engine),
            bound=answer.bound,
            blocks=answer.blocks,
            rechecked=answer.result is ProofResult.PROVED,
            seconds=round(time.perf_counter() - started, 3),
            clauses={c.name: c.says for c in question.model(Integers()).clauses},
            failed=list(shown.found.failed) if shown else [],
            trace=to_events(shown.model, shown.found) if shown and shown.readable else [],
            story=tell(shown.model, shown.found) if shown else [],
            reason=answer.reason,
        ),
        answer,
    )
