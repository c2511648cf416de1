"""The files of a certificate: data, and verification conditions in SMT-LIB 2.

A page of questions is self-contained: every `check-sat` command in it must answer unsat. Pages are
generated from the current specification and the data, byte for byte reproducibly.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import z3

from proofs.logic.encode import Expr
from proofs.logic.smtlib import SmtlibError, Tree, Writer, show, sort_of
from spec.digest import spec_digest
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spec.claims.states import Mode
    from spec.contract.modes import Bundle

__all__ = [
    "DataError",
    "Page",
    "Part",
    "asked",
    "comment",
    "declared",
    "defined",
    "one_by_one",
    "page",
    "title",
    "variable_name",
]


class DataError(SpecError):
    """A data file of a certificate is invalid."""

    def __init__(self, file: str, cause: str) -> None:
        super().__init__(cause, "write the certificate again")
        self.file = file


@dataclass(frozen=True)
class Page:
    """A file; `questions` names what its `check-sat` commands ask, and is empty for data."""

    content: bytes
    questions: tuple[str, ...] = ()


class Part(Protocol):
    """A part of every mode's certificate."""

    @property
    def folder(self) -> str:
        """A folder below that of the certificate, ending in a slash; empty for the same one."""
        ...

    def names(self, mode: Mode) -> tuple[str, ...]:
        """The files, without the name of the mode, in order."""
        ...

    def data(self, mode: Mode) -> tuple[str, ...]:
        """The names of the data files, from which the other files are generated."""
        ...

    def pages(self, mode: Mode, bundle: Bundle, given: Mapping[str, bytes]) -> dict[str, Page]:
        """Every file, generated from this specification and the data.

        Args:
            given: the contents of the data files.

        Raises:
            DataError: the data are invalid.
        """
        ...


def page(*trees: Tree, questions: Iterable[str]) -> Page:
    """A page of questions."""
    return Page(("\n".join(show(tree) for tree in trees) + "\n").encode(), tuple(questions))


def title(mode: Mode, bundle: Bundle, what: str) -> list[Tree]:
    """The first lines of a page."""
    return comment(f"{mode}, {bundle} bundle: {what}. Specification {spec_digest()}.")


def comment(text: str) -> list[Tree]:
    """Comment lines of at most 98 columns."""
    return [f"; {line}" for line in textwrap.wrap(text, 96, break_on_hyphens=False)]


def declared(variables: Iterable[Expr]) -> list[Tree]:
    """Declarations of constants."""
    return [("declare-const", variable_name(v), sort_of(v)) for v in variables]


def defined(writer: Writer, says: str, exprs: Mapping[str, Expr]) -> list[Tree]:
    """Definitions of `exprs`, preceded by the shared parts that they use first."""
    first, made = len(writer.definitions), list[Tree]()
    for name, expr in exprs.items():
        made.append(("define-fun", name, (), sort_of(expr), writer.tree(expr)))
    return [*comment(says), *writer.definitions[first:], *made]


def asked(says: str, *assumed: Tree) -> list[Tree]:
    """One of several questions: whether the conjunction is satisfiable."""
    return [
        *comment(says),
        ("push", "1"),
        *[("assert", each) for each in assumed],
        ("check-sat",),
        ("pop", "1"),
    ]


def one_by_one(head: list[Tree], questions: Mapping[str, list[Expr]]) -> Page:
    """A page that asks for each list of formulas whether its conjunction is satisfiable.

    Args:
        head: comments to begin with.
        questions: by name; names are unique.
    """
    formulas = [formula for each in questions.values() for formula in each]
    writer = Writer(formulas)
    bodies = {name: [writer.tree(f) for f in each] for name, each in questions.items()}
    lines: list[Tree] = [*head, *comment("Each must be unsatisfiable."), *_HEAD]
    lines += [*declared(_variables(formulas)), *writer.definitions]
    for name, body in bodies.items():
        lines += asked(f"{name}.", *body)
    return page(*lines, questions=questions)


_HEAD: list[Tree] = [("set-info", ":smt-lib-version", "2.6"), ("set-logic", "QF_LIA")]


def variable_name(variable: Expr) -> str:
    """The name of a variable in a page."""
    name = str(variable.decl().name())
    if not name:
        raise SmtlibError("a variable without a name")
    return name


def _variables(formulas: Iterable[Expr]) -> list[Expr]:
    """The variables that occur, in the order of their names."""
    todo, seen, found = list(formulas), set[int](), dict[str, Expr]()
    while todo:
        formula = todo.pop()
        if formula.get_id() in seen:
            continue
        seen.add(formula.get_id())
        todo += formula.children()
        if z3.is_const(formula) and formula.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            found[variable_name(formula)] = formula
    return [found[name] for name in sorted(found)]
