"""Asks Z3 the verification conditions of each lemma, and collects the answers."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import z3

from proofs.checks.frame.counterexample import counterexample
from proofs.checks.frame.results import Answer, Failure
from proofs.checks.frame.space import EVENTS, constant, solver_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from proofs.checks.frame.counterexample import Setting
    from proofs.checks.frame.statements import Lemma
    from proofs.logic.encode import Expr

__all__ = ["RLIMIT", "Prover", "Question"]

RLIMIT: Final = 10_000_000
"""Work that Z3 may spend on one question, in its own units."""

MOST: Final = 20
"""Failures of one lemma that are kept with a counterexample."""


@dataclass(frozen=True)
class Question:
    """A verification condition: all of `given` imply `goal`.

    Args:
        lemma: the lemma that it is part of.
        of: its subject: an observer, a ledger, a source.
        part: the part of the subject.
        changes: for the counterexample, each value in the goal: expected, and actual.
        by_kind: ask separately for each kind of event.
        may_be_empty: `given` may be unsatisfiable.
    """

    lemma: Lemma
    of: str
    part: str
    given: tuple[Expr, ...]
    goal: Expr
    changes: Mapping[str, tuple[Expr, Expr]] = field(default_factory=dict)
    by_kind: bool = False
    may_be_empty: bool = False


class Prover:
    """Asks Z3 the questions of each lemma, and records those that are not proved.

    Args:
        rlimit: resource limit of each question.
    """

    def __init__(self, rlimit: int = RLIMIT) -> None:
        self.rlimit = rlimit
        self._asked: dict[Lemma, Counter[str]] = {}
        self._failures: dict[Lemma, list[Failure]] = {}
        self._failed = 0
        self._seconds: Counter[Lemma] = Counter()

    def ask(self, setting: Setting, questions: Iterator[Question], *given: Expr) -> bool:
        """Ask questions in a setting, for states in which `given` holds; whether all are proved."""
        solver, before = solver_of(self.rlimit, *setting.given, *given), self._failed
        for question in questions:
            with self.timed(question.lemma):
                self._ask(setting, solver, question)
        return self._failed == before

    @contextmanager
    def timed(self, lemma: Lemma) -> Iterator[None]:
        """Add the time of a block to a lemma."""
        started = time.perf_counter()
        yield
        self._seconds[lemma] += time.perf_counter() - started  # type: ignore[assignment]

    def _ask(self, setting: Setting, solver: Expr, question: Question) -> None:
        solver.push()
        solver.add(*question.given)
        if not question.may_be_empty and solver.check() != z3.sat:
            says = "nothing is known to fulfil what it takes for granted"
            self.fail(question.lemma, Failure(question.of, question.part, "unknown", says))
        solver.add(z3.Not(question.goal))
        kinds = EVENTS if question.by_kind else (None,)
        for place, kind in enumerate(kinds):
            solver.push()
            if kind is not None:
                solver.add(setting.kind == constant(place))
            answer = solver.check()
            self.count(question.lemma, question.of)
            if answer != z3.unsat:
                part = question.part if kind is None else f"{question.part} at {kind}".strip()
                refuted = answer == z3.sat
                few = len(self._failures.get(question.lemma, ())) < MOST
                shown = (
                    counterexample(setting, solver, question.changes) if refuted and few else None
                )
                self.fail(
                    question.lemma,
                    Failure(question.of, part, "refuted" if refuted else "unknown", "", shown),
                )
            solver.pop()
        solver.pop()

    def count(self, lemma: Lemma, of: str, number: int = 1) -> None:
        """Record that questions were asked."""
        self._asked.setdefault(lemma, Counter())[of] += number

    def fail(self, lemma: Lemma, failure: Failure) -> None:
        """Record that a question was not proved."""
        self._failures.setdefault(lemma, []).append(failure)
        self._failed += 1

    def answer(self, lemma: Lemma) -> Answer:
        """The result of a lemma; unknown if no question was asked."""
        failures = self._failures.get(lemma, [])
        asked = self._asked.get(lemma, Counter())
        results = {failure.result for failure in failures}
        return Answer(
            name=lemma.value,
            part=lemma.part,
            says=lemma.says,
            result="refuted"
            if "refuted" in results
            else "unknown"
            if results or not asked
            else "proved",
            questions=dict(asked),
            failures=failures,
            seconds=round(self._seconds[lemma], 3),
        )
