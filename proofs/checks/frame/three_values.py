"""Translates terms to Z3 in three values: whether a value is known, and the value where it is.

The translation is Kleene's: a connective of unknown values is known where every value of the
unknown ones gives the same. The functions by which generated code does it are compared with the
translation for all values of small domains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any, Final, TypeAlias

import z3

from proofs.checks.frame.reader import MOST
from proofs.checks.frame.space import NUMBERS, constant
from proofs.logic.connectives import all_of, any_of, choice, equal, negation
from proofs.logic.encode import Expr, variable
from spec.language.terms import (
    And,
    Arith,
    Compare,
    Const,
    Ite,
    Not,
    Or,
    Scope,
    Sort,
    Term,
    Var,
)

__all__ = ["Pair", "connectives", "in_three_values"]

Pair: TypeAlias = tuple[Expr, Expr]
"""Whether a value is known, and the value; an unknown value is arbitrary."""


def in_three_values(term: Term, resolve: Callable[[Var], Pair]) -> Pair:
    """A term for one kind of event in three values."""

    def go(each: Term) -> Pair:
        match each:
            case Const(value):
                return z3.BoolVal(True), constant(value)
            case Var():
                return resolve(each)
            case Not(arg):
                known, value = go(arg)
                return known, negation(value)
            case And(args) | Or(args):
                return _joined([go(arg) for arg in args], decides=isinstance(each, Or))
            case Compare(op, left, right) | Arith(op, left, right):
                (known, one), (also, other) = go(left), go(right)
                return all_of([known, also]), _APPLIED[op](one, other)
            case Ite(cond, then, otherwise):
                (known, holds), (first, one), (second, other) = go(cond), go(then), go(otherwise)
                either = all_of([first, second, equal(one, other)])
                chosen = choice(all_of([known, negation(holds)]), other, one)
                return choice(known, choice(holds, first, second), either), chosen
        raise TypeError(f"not a term of one kind of event: {each!r}")

    return go(term)


_APPLIED: Final[Mapping[str, Callable[[Expr, Expr], Expr]]] = {
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    "==": equal,
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
}


def _joined(pairs: list[Pair], *, decides: bool) -> Pair:
    """A conjunction, which one false part decides, or a disjunction, which one true part does."""
    deciding = any_of(
        [all_of([known, value if decides else negation(value)]) for known, value in pairs]
    )
    known = any_of([deciding, all_of([known for known, _ in pairs])])
    return known, deciding if decides else negation(deciding)


_TRUTH: Final = (False, True, None)
_NUMBERS: Final = (-1, 0, 1, 2, None)
_FEW: Final = 3
"""The parts of a conjunction or disjunction that Z3 compares; more are the same of two."""


def connectives(functions: Mapping[str, Callable[..., Any]]) -> Iterator[tuple[str, str]]:
    """Each function of generated code by its name, for each number of parts, and where it differs
    from its connective, if it does.
    """
    names = {"_lt": "<", "_le": "<=", "_eq": "==", "_add": "+", "_sub": "-"}
    for count in range(1, _FEW + 1):
        yield _compared(functions, "_and", (_TRUTH,) * count, lambda *parts: And(parts))
        yield _compared(functions, "_or", (_TRUTH,) * count, lambda *parts: Or(parts))
    for name in ("_and", "_or"):
        for count in range(_FEW + 1, MOST + 1):
            yield _folded(functions[name], name, count)
    yield _compared(functions, "_not", (_TRUTH,), Not)
    for domain in (_TRUTH, _NUMBERS):
        yield _compared(functions, "_choose", (_TRUTH, domain, domain), Ite)
        for name, op in names.items():
            if domain is _NUMBERS or op == "==":
                make: Callable[..., Term] = Arith if op in "+-" else Compare
                yield _compared(
                    functions, name, (domain, domain), lambda a, b, m=make, o=op: m(o, a, b)
                )


def _folded(function: Callable[..., Any], name: str, count: int) -> tuple[str, str]:
    """Whether a function of many parts is the same as of two: all but the last, and the last."""
    for parts in product(_TRUTH, repeat=count):
        if function(*parts) is not function(function(*parts[:-1]), parts[-1]):
            return name, f"{name}({', '.join(map(str, parts))}) is not Kleene's"
    return name, ""


def _compared(
    functions: Mapping[str, Callable[..., Any]],
    name: str,
    domains: tuple[tuple[bool | int | None, ...], ...],
    make: Callable[..., Term],
) -> tuple[str, str]:
    """A function and the translation of its term, for all values; an operator by `_apply`."""
    sorts = [Sort.INT if domain is _NUMBERS else Sort.BOOL for domain in domains]
    inputs = [Var(Scope.OWN, f"x{place}", sort) for place, sort in enumerate(sorts)]
    flags = {var: z3.Bool(f"known.{var.name}") for var in inputs}
    values = {var: variable(var.name, var.sort, NUMBERS) for var in inputs}
    known, value = in_three_values(make(*inputs), lambda var: (flags[var], values[var]))
    applies = name in ("_lt", "_le", "_eq", "_add", "_sub")
    for given in product(*domains):
        found = functions["_apply"](functions[name], *given) if applies else functions[name](*given)
        for stale in (0, 1):  # an unknown value is arbitrary
            pairs = []
            for var, each in zip(inputs, given, strict=True):
                plain = stale if var.sort is Sort.INT else bool(stale)
                pairs.append((flags[var], z3.BoolVal(each is not None)))
                pairs.append((values[var], constant(plain if each is None else each)))
            is_known, is_value = (z3.simplify(z3.substitute(x, *pairs)) for x in (known, value))
            expected = constant(found) if found is not None else None
            right = z3.is_true(is_known) == (found is not None) and (
                expected is None or (is_value.eq(expected))
            )
            if not right:
                shown = ", ".join(map(str, given))
                return name, f"{name}({shown}) is {found}, which is not Kleene's"
    return name, ""
