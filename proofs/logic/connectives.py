"""Builds formulas of formulas: conjunctions, disjunctions, negations, equations, choices,
substitutions.

They are those of `z3.And`, `z3.Or`, `z3.Not`, `==`, `z3.If` and `z3.substitute`, made in a fifth of
the time: those look at the sort of each part, which is known here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import z3

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["all_of", "any_of", "choice", "equal", "negation", "substituted"]


def all_of(parts: Sequence[Any]) -> Any:
    """The conjunction of formulas; true if there is none."""
    return _joined(z3.Z3_mk_and, parts)


def any_of(parts: Sequence[Any]) -> Any:
    """The disjunction of formulas; false if there is none."""
    return _joined(z3.Z3_mk_or, parts)


def negation(part: Any) -> Any:
    """The negation of a formula."""
    return z3.BoolRef(z3.Z3_mk_not(part.ctx_ref(), part.as_ast()), part.ctx)


def equal(one: Any, other: Any) -> Any:
    """The equation of two expressions of one sort, a numeral first, as Python has `==` ask it."""
    if type(one) is not type(other) and isinstance(other, type(one)):
        one, other = other, one
    return z3.BoolRef(z3.Z3_mk_eq(one.ctx_ref(), one.as_ast(), other.as_ast()), one.ctx)


def choice(condition: Any, then: Any, otherwise: Any) -> Any:
    """One of two expressions of one sort: Bool, Int or bit-vectors."""
    made = z3.Z3_mk_ite(then.ctx_ref(), condition.as_ast(), then.as_ast(), otherwise.as_ast())
    for kind in (z3.BoolRef, z3.BitVecRef):
        if isinstance(then, kind):
            return kind(made, then.ctx)
    return z3.ArithRef(made, then.ctx)


def substituted(formula: Any, pairs: Iterable[tuple[Any, Any]]) -> Any:
    """A formula with the first of each pair replaced by the second, which has the same sort."""
    old, new = zip(*pairs, strict=True)
    given = formula.ctx.ref(), formula.as_ast(), len(old), _pointers(old), _pointers(new)
    return z3.BoolRef(z3.Z3_substitute(*given), formula.ctx)


def _joined(make: Any, parts: Sequence[Any]) -> Any:
    context = parts[0].ctx if parts else z3.main_ctx()
    return z3.BoolRef(make(context.ref(), len(parts), _pointers(parts)), context)


def _pointers(parts: Sequence[Any]) -> Any:
    return (z3.Ast * len(parts))(*(part.as_ast() for part in parts))
