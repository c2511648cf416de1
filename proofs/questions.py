"""What a proof by an invariant must show, as SMT-LIB 2 that stands by itself.

The text is made from the specification as it is now: the same invariant under the same
specification gives the same text, so a certificate can be compared with what it must be.
"""

from __future__ import annotations

import textwrap
from enum import StrEnum
from typing import TYPE_CHECKING

from proofs.encode import Expr, Integers
from proofs.engines.spacer import Invariant
from proofs.model import model_of
from proofs.smtlib import INVARIANT, Tree, Writer, invariant_body, show, sort_of
from spec.digest import spec_digest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spec.claims import Mode
    from spec.modes import Bundle

__all__ = ["Question", "Questions"]


class Question(StrEnum):
    """Each must be unsatisfiable."""

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


class Questions:
    """The texts of one mode's certificate, from the specification as it is now."""

    def __init__(self, mode: Mode, bundle: Bundle) -> None:
        self.mode, self.bundle = mode, bundle
        self._model = model_of(mode, bundle, Integers())
        self._state, self._event = self._model.state(""), self._model.event("")
        self._step = self._model.step(self._state, self._event)
        self.sorts = {_name(v): sort_of(v) for v in self._state.values()}

    @property
    def clauses(self) -> dict[str, str]:
        """The clauses of the theorem, and what each says."""
        return {clause.name: clause.says for clause in self._model.clauses}

    @property
    def obligations(self) -> list[str]:
        """The obligations that every run keeps."""
        return [observer.name for observer in self._model.observers]

    def body_of(self, invariant: Invariant) -> Tree:
        """An invariant as a predicate over the state variables; raises SmtlibError."""
        expr = invariant.at(self._state)
        return self.read(_page(self._define(Writer([expr], share=False).tree(expr))))

    def read(self, text: str) -> Tree:
        """The body of an invariant that was written; raises SmtlibError for anything else."""
        return invariant_body(text, self.sorts)

    def invariant(self, body: Tree) -> bytes:
        """The invariant in a file of its own."""
        title = self._title("the invariant")
        says = "A predicate over the state that holds in every state that can be reached. The "
        says += "three questions beside this file show it, and that the theorem follows from it."
        return _page(*title, *_comment(says), self._define(body)).encode()

    def question(self, question: Question, body: Tree) -> bytes:
        """One question about the invariant; the answer must be unsat."""
        lines = [
            *self._title(question),
            *_comment(_SAYS[question]),
            *_comment("It must be unsatisfiable."),
            ("set-info", ":smt-lib-version", "2.6"),
            ("set-logic", "QF_LIA"),
            *_comment("The invariant."),
            self._define(body),
            *_comment("The state."),
            *_declare(self._state.values()),
        ]
        if question is Question.INITIATION:
            lines += self._first()
        else:
            lines += self._run(question)
        return _page(*lines, ("check-sat",)).encode()

    def _define(self, body: Tree) -> Tree:
        return ("define-fun", INVARIANT, tuple(self.sorts.items()), "Bool", body)

    def _title(self, what: str) -> list[Tree]:
        return _comment(
            f"{self.mode}, {self.bundle} bundle: {what}. Specification {spec_digest()}."
        )

    def _first(self) -> list[Tree]:
        initial = self._model.initial(self._state)
        return [
            *_comment("Before any event."),
            ("assert", Writer([initial]).tree(initial)),
            ("assert", ("not", (INVARIANT, *self.sorts))),
        ]

    def _run(self, question: Question) -> list[Tree]:
        step = self._step
        after = {name: step.following.get(name, was) for name, was in self._state.items()}
        goal = after if question is Question.CONSECUTION else step.clauses
        writer = Writer([step.possible, *step.keeps.values(), *goal.values()])
        kinds = ", ".join(f"{n} {kind}" for n, kind in enumerate(self._model.alphabet))
        lines = [
            *_comment(f"The event. e.kind is one of {kinds}."),
            *_declare(self._event.values()),
            ("assert", (INVARIANT, *self.sorts)),
            *_named(writer, "The event can happen.", {"possible": step.possible}),
            ("assert", "possible"),
            *_named(
                writer,
                "After it, no obligation is violated.",
                {f"keeps.{name}": kept for name, kept in step.keeps.items()},
            ),
            *[("assert", f"keeps.{name}") for name in step.keeps],
        ]
        if question is Question.CONSECUTION:
            names = {f"next.{_name(self._state[n])}": expr for n, expr in after.items()}
            lines += _named(writer, "The state after it.", names)
            return [*lines, ("assert", ("not", (INVARIANT, *names)))]
        names = {f"clause.{name.replace(' ', '_')}": expr for name, expr in step.clauses.items()}
        says = " ".join(f"{name}: {text}." for name, text in self.clauses.items())
        lines += _named(writer, f"The theorem: an auditor who reads only reports. {says}", names)
        return [*lines, ("assert", ("or", *(("not", n) for n in names), "false"))]


def _name(variable: Expr) -> str:
    return str(variable.decl().name())


def _comment(text: str) -> list[Tree]:
    return [f"; {line}" for line in textwrap.wrap(text, 96, break_on_hyphens=False)]


def _declare(variables: Iterable[Expr]) -> list[Tree]:
    return [("declare-const", _name(v), sort_of(v)) for v in variables]


def _named(writer: Writer, says: str, exprs: dict[str, Expr]) -> list[Tree]:
    """Definitions of `exprs`, after those of the parts that they are the first to use."""
    first, made = len(writer.definitions), list[Tree]()
    for name, expr in exprs.items():
        made.append(("define-fun", name, (), sort_of(expr), writer.tree(expr)))
    return [*_comment(says), *writer.definitions[first:], *made]


def _page(*trees: Tree) -> str:
    return "\n".join(show(tree) for tree in trees) + "\n"
