"""Compiles a finite Z3 term to a straight-line program that evaluates many points at once.

A point assigns a value to each constant of the term. A set of points is a bit mask, so one pass
evaluates a whole universe. The program is generated from the term.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, TypeAlias

import z3

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from proofs.lowering.logic import Expr

__all__ = ["Point", "Program"]

Point: TypeAlias = "dict[str, bool | str]"
"""Each constant with its value, a member of an enumeration by the name of its Z3 constructor.

A boolean that is not listed is false; an enumeration that is not listed has no value at all.
"""


class Program:
    """The operations that compute some terms, each after its arguments."""

    def __init__(self, terms: Iterable[Expr]) -> None:
        self._steps: list[tuple[int, tuple[int, ...], str, str]] = []
        self._known: dict[int, int] = {}
        self._kept: list[Expr] = []  # z3 gives the id of a term that is gone to another
        self._roots = [self._add(term) for term in terms]

    def run(self, points: Sequence[Point]) -> list[int]:
        """For each term the set of the points at which it is true."""
        everywhere = (1 << len(points)) - 1
        true: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for number, point in enumerate(points):
            for name, value in point.items():
                if value is not False:
                    true[name, "" if value is True else str(value)].append(number)
        sets = {key: _as_set(numbers, len(points)) for key, numbers in true.items()}
        values: list[int] = []
        for kind, arguments, name, member in self._steps:
            given = [values[a] for a in arguments]
            values.append(_apply(kind, given, sets.get((name, member), 0), everywhere))
        return [values[root] for root in self._roots]

    def _add(self, term: Expr) -> int:
        stack: list[tuple[Expr, list[Expr] | None]] = [(term, None)]
        while stack:
            last, children = stack.pop()
            if last.get_id() in self._known:
                continue
            step: tuple[int, tuple[int, ...], str, str]
            if children is None and (leaf := _leaf(last)) is not None:
                step = (z3.Z3_OP_UNINTERPRETED, (), *leaf)
            elif children is None:  # it comes again once its children have their steps
                children = last.children()
                stack.append((last, children))
                stack += [(child, None) for child in children]
                continue
            else:
                arguments = tuple(self._known[c.get_id()] for c in children)
                step = (last.decl().kind(), arguments, "", "")
            self._known[last.get_id()] = len(self._steps)
            self._steps.append(step)
            self._kept.append(last)
        return self._known[term.get_id()]


def _leaf(term: Expr) -> tuple[str, str] | None:
    """The constant and the value that a term asks for, where it asks for no more."""
    if z3.is_const(term) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED:
        return term.decl().name(), ""
    if z3.is_eq(term) and not z3.is_bool(term.arg(0)):
        return term.arg(0).decl().name(), term.arg(1).decl().name()
    return None


def _apply(kind: int, given: list[int], leaf: int, everywhere: int) -> int:
    match kind:
        case z3.Z3_OP_UNINTERPRETED:
            return leaf
        case z3.Z3_OP_TRUE:
            return everywhere
        case z3.Z3_OP_FALSE:
            return 0
        case z3.Z3_OP_NOT:
            return everywhere ^ given[0]
        case z3.Z3_OP_AND:
            result = everywhere
            for each in given:
                result &= each
            return result
        case z3.Z3_OP_OR:
            result = 0
            for each in given:
                result |= each
            return result
        case z3.Z3_OP_IMPLIES:
            return (everywhere ^ given[0]) | given[1]
        case z3.Z3_OP_EQ:
            return everywhere ^ given[0] ^ given[1]
    raise TypeError(f"no operation for kind {kind}")


def _as_set(numbers: list[int], size: int) -> int:
    bits = bytearray(size // 8 + 1)
    for number in numbers:
        bits[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(bits, "little")
