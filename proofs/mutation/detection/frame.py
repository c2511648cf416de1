"""The check that detects mutants of the delivery terms: the frame theorem, asked of each.

If it is still proved, verdicts equal those of a projection that delivers every event to every
claim, so the mutant is equivalent.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import z3

from proofs.checks.frame.houdini import inductive
from proofs.checks.frame.lemmas import Frame
from proofs.checks.frame.space import Space, solver_of
from proofs.checks.frame.verification_conditions import RLIMIT
from proofs.mutation.mutants.delivery import DeliveryChange
from spec.claims.states import Mode
from spec.contract.modes import MODES
from spec.contract.obligations import OBLIGATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proofs.checks.frame.candidates import Candidate
    from proofs.checks.frame.verification_conditions import Question

__all__ = ["refuted"]


def refuted(change: DeliveryChange) -> str | None:
    """The first lemma of the frame theorem that is not proved for the changed terms, if any."""
    frame = Frame(_space(None), change.after)
    problem = _asked(frame, frame.ledgers()) or _asked(frame, frame.reasons())
    for observer in OBLIGATIONS.values():
        if problem is not None:
            break
        frame = Frame(_space(observer.name), change.after, _invariants(observer.name))
        problem = _asked(frame, frame.observers(observer))
    return problem


def _asked(frame: Frame, questions: Iterator[Question]) -> str | None:
    solver = solver_of(RLIMIT, *frame.space.given, frame.inside)
    for question in questions:
        solver.push()
        solver.add(*question.given)
        empty = not question.may_be_empty and solver.check() != z3.sat
        answer = z3.unknown if empty else solver.check(z3.Not(question.goal))
        solver.pop()
        if answer != z3.unsat:
            result = "is refuted" if answer == z3.sat else "is not proved"
            return f"{question.lemma}, {question.of} {question.part}".strip() + f": {result}"
    return None


@cache
def _space(name: str | None) -> Space:
    """The space of `proofs.checks.frame.check`, for all modes."""
    if name is None:
        return Space(tuple(Mode))
    having = [m for m in Mode if name in MODES[m].names()]
    return Space(having or tuple(Mode), OBLIGATIONS[name])


@cache
def _invariants(name: str) -> tuple[Candidate, ...]:
    return tuple(inductive(_space(name), OBLIGATIONS[name], RLIMIT))
