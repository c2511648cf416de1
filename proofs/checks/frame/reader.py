"""Reads compiled observers back: gives a small subset of Python a meaning in Z3.

It shares no code with the translation that it checks. A function of the subset assigns names in
sequence, may return early under a condition, and ends with a return; expressions compare, add and
combine its arguments. Anything else is refused, so nothing is ignored.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import z3

from proofs.checks.frame.space import EVENTS, constant
from proofs.logic.connectives import all_of, any_of, choice, equal, negation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proofs.logic.encode import Expr

__all__ = [
    "Function",
    "Record",
    "Refused",
    "Value",
    "boolean",
    "expression",
    "functions",
    "meaning",
    "merged",
    "refuse",
    "value_of",
]


class Refused(Exception):
    """A construct in a source is outside the subset, or has no meaning there."""


@dataclass(frozen=True)
class Record:
    """A value with attributes: an event, or the constants of a claim."""

    fields: Mapping[str, Expr]


Value: TypeAlias = Any
"""A Z3 expression, a tuple of values, a `Record`, or `_KIND`."""


@dataclass(frozen=True)
class Function:
    """A function of a source: the names of its arguments, and its statements."""

    name: str
    arguments: tuple[str, ...]
    body: tuple[ast.stmt, ...]


_KIND: Final = object()
_NUMBERS: Final[Mapping[type[ast.operator], Callable[..., Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
}
_ORDER: Final[Mapping[type[ast.cmpop], Callable[..., Any]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
}
_KINDS: Final = {str(kind): place for place, kind in enumerate(EVENTS)}


def functions(source: str) -> dict[str, Function]:
    """The functions of a source by their names, in their order.

    Raises:
        Refused: it contains anything but plain functions, or two of one name.
    """
    try:
        module = ast.parse(source)
    except SyntaxError as error:
        raise Refused(f"line {error.lineno}: {error.msg}") from None
    found: dict[str, Function] = {}
    for node in module.body:
        if not isinstance(node, ast.FunctionDef):
            raise refuse(node, "not a function")
        given, names = node.args, [a.arg for a in node.args.args]
        plain = ast.arguments([], given.args, None, [], [], None, [])
        odd = ast.dump(given) != ast.dump(plain) or node.decorator_list or node.returns
        if odd or len(set(names)) < len(names) or node.name in found:
            raise refuse(node, f"{node.name} is not a plain function")
        found[node.name] = Function(node.name, tuple(names), tuple(node.body))
    return found


def meaning(function: Function, arguments: Sequence[Value]) -> Value:
    """The value that a function returns for these arguments.

    Raises:
        Refused: it is outside the subset.
    """
    if len(arguments) != len(function.arguments):
        raise Refused(f"{function.name} takes {len(function.arguments)} arguments")
    return _run(function.body, dict(zip(function.arguments, arguments, strict=True)))


def expression(text: str, names: Mapping[str, Value]) -> Value:
    """The value of an expression under these names.

    Raises:
        Refused: it is outside the subset.
    """
    try:
        return value_of(ast.parse(text, mode="eval").body, names)
    except SyntaxError as error:
        raise Refused(f"line {error.lineno}: {error.msg}") from None


def _run(body: Sequence[ast.stmt], names: Mapping[str, Value]) -> Value:
    if not body:
        raise Refused("a function may end without a value")
    match body[0]:
        case ast.Return(value=ast.expr() as value):
            return value_of(value, names)
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return _run(body[1:], {**names, name: value_of(value, names)})
        case ast.If(test=test, body=then, orelse=[]):
            condition = boolean(test, names)
            return merged(body[0], condition, _run(then, names), _run(body[1:], names))
    raise refuse(body[0], f"{type(body[0]).__name__} is not a statement of the subset")


def merged(at: ast.AST, condition: Expr, then: Value, otherwise: Value) -> Value:
    """One value where a condition holds, else another of the same form."""
    if isinstance(then, tuple) and isinstance(otherwise, tuple) and len(then) == len(otherwise):
        pairs = zip(then, otherwise, strict=True)
        return tuple(merged(at, condition, a, b) for a, b in pairs)
    if _sort(then) is None or _sort(then) != _sort(otherwise):
        raise refuse(at, "what is returned differs in its form")
    return choice(condition, then, otherwise)


def value_of(node: ast.expr, names: Mapping[str, Value]) -> Value:
    """The value of an expression under these names; raises Refused."""
    match node:
        case ast.Constant(value=bool() | int() as value):
            return constant(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
            return constant(-value)
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.Attribute(value=of, attr=attr):
            return _field(node, _part(of, names), attr)
        case ast.Subscript(value=of, slice=ast.Constant(value=int() as place)):
            return _place(node, _part(of, names), place)
        case ast.Tuple(elts=parts):
            return tuple(value_of(part, names) for part in parts)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return negation(boolean(operand, names))
        case ast.BoolOp(op=op, values=parts):
            join = all_of if isinstance(op, ast.And) else any_of
            return join([boolean(part, names) for part in parts])
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _NUMBERS:
            return _NUMBERS[type(op)](_integer(left, names), _integer(right, names))
        case ast.IfExp(test=test, body=then, orelse=otherwise):
            chosen = value_of(then, names), value_of(otherwise, names)
            return merged(node, boolean(test, names), *chosen)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compare(node, op, left, right, names)
    raise refuse(node, f"{ast.unparse(node)} is not of the subset")


def _compare(
    node: ast.expr, op: ast.cmpop, left: ast.expr, right: ast.expr, names: Mapping[str, Value]
) -> Expr:
    if type(op) in _ORDER:
        return _ORDER[type(op)](_integer(left, names), _integer(right, names))
    one, members = value_of(left, names), _members(op, right)
    if isinstance(op, ast.NotEq):
        return z3.Not(_same(node, one, value_of(right, names)))
    if members is None:
        raise refuse(node, f"{ast.unparse(node)} is not a comparison of the subset")
    if isinstance(one, tuple) and one[:1] == (_KIND,):
        return any_of([equal(one[1], constant(_kind(member))) for member in members])
    others = [value_of(member, names) for member in members]
    if _sort(one) is None or any(_sort(other) != _sort(one) for other in others):
        raise refuse(node, f"{ast.unparse(node)} compares what is not alike")
    return any_of([equal(one, other) for other in others])


def _same(node: ast.expr, one: Value, other: Value) -> Expr:
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        return z3.And([_same(node, a, b) for a, b in zip(one, other, strict=True)])
    if _sort(one) is None or _sort(one) != _sort(other):
        raise refuse(node, f"{ast.unparse(node)} compares what is not alike")
    return one == other


def _members(op: ast.cmpop, right: ast.expr) -> list[ast.expr] | None:
    """The members that one side is compared with, or None for another comparison."""
    match op, right:
        case ast.Eq(), _:
            return [right]
        case ast.In(), ast.Set(elts=members):
            return members
        case ast.In(), ast.Dict(keys=[], values=[]):  # how Python writes an empty set of kinds
            return []
    return None


def _kind(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and node.value in _KINDS:
        return _KINDS[node.value]
    raise refuse(node, f"{ast.unparse(node)} is not a kind of event")


def _part(node: ast.expr, names: Mapping[str, Value]) -> Value:
    """What a part is taken of."""
    return names.get(node.id) if isinstance(node, ast.Name) else value_of(node, names)


def _field(node: ast.expr, record: Value, name: str) -> Value:
    if not isinstance(record, Record) or name not in record.fields:
        raise refuse(node, f"there is no {ast.unparse(node)}")
    found = record.fields[name]
    return (_KIND, found) if name == "kind" else found


def _place(node: ast.expr, values: Value, place: int) -> Value:
    if not isinstance(values, tuple) or not 0 <= place < len(values) or isinstance(place, bool):
        raise refuse(node, f"there is no {ast.unparse(node)}")
    return values[place]


def boolean(node: ast.expr, names: Mapping[str, Value]) -> Expr:
    """The same of one that must be true or false."""
    return _of_sort("bool", node, names)


def _integer(node: ast.expr, names: Mapping[str, Value]) -> Expr:
    return _of_sort("int", node, names)


def _of_sort(sort: str, node: ast.expr, names: Mapping[str, Value]) -> Expr:
    value = value_of(node, names)
    if _sort(value) != sort:
        raise refuse(node, f"{ast.unparse(node)} is no {sort}")
    return value


def _sort(value: Value) -> str | None:
    if not isinstance(value, z3.ExprRef):
        return None
    return "bool" if z3.is_bool(value) else "int"


def refuse(node: ast.AST, what: str) -> Refused:
    """An error at a node."""
    return Refused(f"line {getattr(node, 'lineno', '?')}: {what}")
