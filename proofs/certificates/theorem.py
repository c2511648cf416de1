"""Writes the verification conditions of an invariant as self-contained SMT-LIB 2.

The text depends only on the current specification and the invariant, so a certificate can be
compared byte for byte.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from proofs.certificates.page import (
    DataError,
    Page,
    comment,
    declared,
    defined,
    page,
    title,
    variable_name,
)
from proofs.logic.encode import Integers
from proofs.logic.smtlib import INVARIANT, SmtlibError, Tree, Writer, invariant_body, sort_of
from proofs.model.of_mode import model_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proofs.engines.invariants.recheck import Invariant
    from proofs.logic.encode import Expr
    from proofs.model.of_mode import Model
    from spec.claims.states import Mode
    from spec.contract.modes import Bundle

__all__ = ["WRITTEN", "Question", "Questions", "Theorem"]

WRITTEN = "invariant.smt2"
"""The file of an invariant."""


class Question(StrEnum):
    """The verification conditions of an invariant; each must be unsatisfiable."""

    INITIATION = "initiation"
    CONSECUTION = "consecution"
    IMPLICATION = "implication"


_SAYS = {
    Question.INITIATION: "The invariant holds before any event. Below: a first state where it does "
    "not.",
    Question.CONSECUTION: "Where the invariant holds, it holds after every event that can happen "
    "and after which no obligation is violated. Below: such an event after which it does not hold.",
    Question.IMPLICATION: "Where the invariant holds, every event that can happen and after which "
    "no obligation is violated keeps every clause of the theorem. Below: such an event that "
    "breaks a clause.",
}


class Theorem:
    """The part of a certificate with the invariant that proves the theorem."""

    folder = ""

    def names(self, mode: Mode) -> tuple[str, ...]:
        """The names of the files, in order."""
        return (WRITTEN, *(f"{question}.smt2" for question in Question))

    def data(self, mode: Mode) -> tuple[str, ...]:
        """The names of the files that hold data."""
        return (WRITTEN,)

    def pages(self, mode: Mode, bundle: Bundle, given: Mapping[str, bytes]) -> dict[str, Page]:
        """Every file, made from this specification and the given data."""
        questions = Questions(mode, bundle, model_of(mode, bundle, Integers()))
        return questions.pages(given[WRITTEN])

    def written(self, mode: Mode, bundle: Bundle, invariant: Invariant) -> dict[str, bytes]:
        """The data to write for a proof."""
        questions = Questions(mode, bundle, model_of(mode, bundle, Integers()))
        return {WRITTEN: questions.invariant(questions.body_of(invariant))}


class Questions:
    """The texts about one invariant of a model, from the specification as it is now.

    Args:
        about: what is proved, if not the mode's theorem.
    """

    def __init__(self, mode: Mode, bundle: Bundle, model: Model, about: str = "") -> None:
        self.mode, self.bundle, self._about, self._model = mode, bundle, about, model
        self._state, self._event = self._model.state(""), self._model.event("")
        self._step = self._model.step(self._state, self._event)
        self.sorts = {variable_name(v): sort_of(v) for v in self._state.values()}

    def pages(self, written: bytes, prefix: str = "") -> dict[str, Page]:
        """The invariant and the questions about it.

        Args:
            written: the text of the invariant.

        Raises:
            DataError: it is not an invariant.
        """
        try:
            body = invariant_body(written.decode("ascii"), self.sorts)
        except (SmtlibError, UnicodeDecodeError) as problem:
            raise DataError(f"{prefix}{WRITTEN}", f"is not an invariant: {problem}") from None
        made = {f"{prefix}{WRITTEN}": Page(self.invariant(body))}
        for question in Question:
            made[f"{prefix}{question}.smt2"] = self.question(question, body)
        return made

    def body_of(self, invariant: Invariant) -> Tree:
        """An invariant as a predicate over the state variables; raises SmtlibError."""
        expr = invariant.at(self._state)
        text = page(self._define(Writer([expr], share=False).tree(expr)), questions=()).content
        return invariant_body(text.decode(), self.sorts)

    def invariant(self, body: Tree) -> bytes:
        """The invariant in a file of its own."""
        says = "A predicate over the state that holds in every state that can be reached. The "
        says += "three questions in this folder prove it, and that it implies the theorem."
        head = [*self._title("the invariant"), *comment(says)]
        return page(*head, self._define(body), questions=()).content

    def question(self, question: Question, body: Tree) -> Page:
        """One question about the invariant; the answer must be unsat."""
        lines = [
            *self._title(question),
            *comment(_SAYS[question]),
            *comment("It must be unsatisfiable."),
            ("set-info", ":smt-lib-version", "2.6"),
            ("set-logic", "QF_LIA"),
            *comment("The invariant."),
            self._define(body),
            *comment("The state."),
            *declared(self._state.values()),
        ]
        if question is Question.INITIATION:
            lines += self._first()
        else:
            lines += self._run(question)
        return page(*lines, ("check-sat",), questions=[question])

    def _define(self, body: Tree) -> Tree:
        return ("define-fun", INVARIANT, tuple(self.sorts.items()), "Bool", body)

    def _title(self, what: str) -> list[Tree]:
        return title(self.mode, self.bundle, f"{self._about}, {what}" if self._about else what)

    def _first(self) -> list[Tree]:
        initial = self._model.initial(self._state)
        return [
            *comment("Before any event."),
            ("assert", Writer([initial]).tree(initial)),
            ("assert", ("not", (INVARIANT, *self.sorts))),
        ]

    def _run(self, question: Question) -> list[Tree]:
        step = self._step
        after: dict[str, Expr] = {n: step.following.get(n, was) for n, was in self._state.items()}
        goal = after if question is Question.CONSECUTION else step.clauses
        writer = Writer([step.possible, *step.keeps.values(), *goal.values()])
        kinds = ", ".join(f"{n} {kind}" for n, kind in enumerate(self._model.alphabet))
        lines = [
            *comment(f"The event. e.kind is one of {kinds}."),
            *declared(self._event.values()),
            ("assert", (INVARIANT, *self.sorts)),
            *defined(writer, "The event can happen.", {"possible": step.possible}),
            ("assert", "possible"),
            *defined(
                writer,
                "After it, no obligation is violated.",
                {f"keeps.{name}": kept for name, kept in step.keeps.items()},
            ),
            *[("assert", f"keeps.{name}") for name in step.keeps],
        ]
        if question is Question.CONSECUTION:
            names = {f"next.{variable_name(self._state[n])}": expr for n, expr in after.items()}
            lines += defined(writer, "The state after it.", names)
            return [*lines, ("assert", ("not", (INVARIANT, *names)))]
        names = {f"clause.{name.replace(' ', '_')}": expr for name, expr in step.clauses.items()}
        lines += defined(writer, self._claim(), names)
        return [*lines, ("assert", ("or", *(("not", n) for n in names), "false"))]

    def _claim(self) -> str:
        if self._about:
            return f"What is proved of every run: {self._about}."
        says = " ".join(f"{clause.name}: {clause.says}." for clause in self._model.clauses)
        return f"The theorem: an auditor who reads only reports. {says}"
