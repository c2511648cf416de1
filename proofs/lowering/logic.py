"""Connectives of Z3 without its type checks, which would take most of the time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import z3

if TYPE_CHECKING:
    pass

__all__ = ["Expr", "conj", "disj", "equal", "implies", "no"]

Expr = Any  # z3 has no types


def conj(*parts: Expr) -> Expr:
    """All of these hold; true if there are none."""
    return _joined(z3.Z3_mk_and, parts) if parts else z3.BoolVal(True)


def disj(*parts: Expr) -> Expr:
    """One of these holds; false if there are none."""
    return _joined(z3.Z3_mk_or, parts) if parts else z3.BoolVal(False)


def no(part: Expr) -> Expr:
    """It does not hold."""
    return z3.BoolRef(z3.Z3_mk_not(part.ctx_ref(), part.as_ast()), part.ctx)


def implies(one: Expr, other: Expr) -> Expr:
    """If one holds, so does the other."""
    return z3.BoolRef(z3.Z3_mk_implies(one.ctx_ref(), one.as_ast(), other.as_ast()), one.ctx)


def equal(one: Expr, other: Expr) -> Expr:
    """They are the same, being of one sort."""
    return z3.BoolRef(z3.Z3_mk_eq(one.ctx_ref(), one.as_ast(), other.as_ast()), one.ctx)


def _joined(make: Any, parts: tuple[Expr, ...]) -> Expr:
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    arguments = (z3.Ast * len(parts))(*(part.as_ast() for part in parts))
    return z3.BoolRef(make(first.ctx_ref(), len(parts), arguments), first.ctx)
