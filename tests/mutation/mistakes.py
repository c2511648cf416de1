"""The mistakes that a module could have: its source with one thing changed.

There is one list of operators, for terms of the specification and for the code around them.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from spec.events.alphabet import Kind

__all__ = ["Mistake", "mistakes", "path_of"]

_ROOT: Final = Path(__file__).parents[2]
_COMPARED: Final = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_JOINED: Final = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}
_NAMES: Final = {
    one: other
    for pair in (
        ("all", "any"),
        ("all_of", "any_of"),
        ("conj", "disj"),
        ("And", "Or"),
        ("eq", "ne"),
        ("now", "was"),
        ("req", "req_was"),
        ("believes", "believed"),
        ("PENDING", "SATISFIED"),
        ("state", "following"),
    )
    for one, other in (pair, pair[::-1])
} | {"VIOLATED": "PENDING"}
_PARTS: Final = frozenset({"conj", "disj", "kind", "And", "Or", "all_of", "any_of"})
"""Functions of many parts, of which one can be left out."""
_KINDS: Final = {
    one.name: other.name for one, other in zip(Kind, [*Kind][1:] + [*Kind][:1], strict=True)
}
"""Each kind of event, and the next."""
_MANY: Final = 2
_RULES: Final = ("owed", "discharged", "noted", "moot")
_BREACHES: Final = ("false_report", "due", "forbidden")
_WHEN, _TO = 1, 2  # the places of the guard and of the state among the arguments of a rule
_NO_CODE: Final = {"annotation", "returns", "decorator_list", "bases"}


class Mistake(NamedTuple):
    """One mistake: where, what was done, and the source with it."""

    line: int
    says: str
    source: str


def path_of(module: str) -> Path:
    """The file of a module."""
    return _ROOT / f"{module.replace('.', '/')}.py"


def mistakes(module: str) -> list[Mistake]:
    """Every mistake that the generator makes in a module, in the order of its lines."""
    source = path_of(module).read_text(encoding="utf-8")
    tree = ast.parse(source)
    found = []
    for number, node in enumerate(_code(tree)):
        for variant in range(sum(1 for _ in _changed(copy.deepcopy(node)))):
            again = ast.parse(source)
            target = [*_code(again)][number]
            says = next(says for at, says in enumerate(_changed(target)) if at == variant)
            found.append(Mistake(getattr(node, "lineno", 0), says, ast.unparse(again)))
    return sorted(found, key=lambda each: (each.line, each.says))


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """What is evaluated below a node, without types and what a module exports."""
    yield node
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
        return
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    for name, value in ast.iter_fields(node):
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST) and name not in _NO_CODE:
                yield from _code(each)


def _changed(node: Any) -> Iterator[str]:
    """Make each mistake in a node in its turn; the node keeps the one at which this is left."""
    match node:
        case ast.Compare(ops=[op, *_]) if type(op) in _COMPARED:
            node.ops[0] = _COMPARED[type(op)]()
            yield f"{type(op).__name__} is {type(node.ops[0]).__name__}"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _JOINED:
            node.op = _JOINED[type(op)]()
            yield f"{type(op).__name__} is {type(node.op).__name__}"
            if isinstance(op, (ast.BitAnd, ast.BitOr)):
                for kept, gone in ((left, right), (right, left)):
                    node.left, node.op, node.right = kept, ast.BitAnd(), copy.deepcopy(kept)
                    yield f"{_short(gone)} is left out"
        case ast.UnaryOp(op=ast.Invert(), operand=operand):
            node.op, node.operand = ast.Invert(), ast.UnaryOp(ast.Invert(), operand)
            yield f"{_short(operand)} is not negated"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            node.operand = ast.UnaryOp(ast.Not(), operand)
            yield f"{_short(operand)} is not negated"
        case ast.Constant(value=bool() as value):
            node.value = not value
            yield f"{value} is {not value}"
        case ast.Constant(value=int() as value):
            node.value = value + 1
            yield f"{value} is {value + 1}"
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            for at in range(len(parts) if len(parts) >= _MANY else 0):
                node.elts = [each for place, each in enumerate(parts) if place != at]
                yield f"part {at} is left out"
        case ast.Dict(keys=keys, values=values):
            for at in range(len(keys)):
                node.keys = [each for place, each in enumerate(keys) if place != at]
                node.values = [each for place, each in enumerate(values) if place != at]
                yield f"entry {at} is left out"
        case ast.Call():
            yield from _called(node)
        case ast.Name(id=name) if name in _NAMES:
            node.id = _NAMES[name]
            yield f"{name} is {_NAMES[name]}"
        case ast.Attribute(value=ast.Name(id="Kind"), attr=name):
            node.attr = _KINDS[name]
            yield f"{name} is {_KINDS[name]}"
        case ast.Attribute(attr=name) if name in _NAMES:
            node.attr = _NAMES[name]
            yield f"{name} is {_NAMES[name]}"
        case ast.IfExp(body=body, orelse=orelse):
            node.body, node.orelse = orelse, body
            yield "a choice is made the other way"


def _called(node: ast.Call) -> Iterator[str]:
    """The mistakes in a call: a part, a choice, or what a rule says."""
    name, parts = getattr(node.func, "id", getattr(node.func, "attr", "")), node.args
    if name in _PARTS and len(parts) >= _MANY:
        for at in range(len(parts)):
            node.args = [each for place, each in enumerate(parts) if place != at]
            yield f"argument {at} is left out"
        node.args = parts
    if name == "ite":
        node.args = parts[::-1]
        yield "a choice is made the other way"
        node.args = parts
    if name in (*_RULES, *_BREACHES) and len(parts) > _WHEN:
        guard, given = parts[_WHEN], node.keywords
        node.args[_WHEN] = ast.UnaryOp(ast.Invert(), guard)
        yield "the guard is negated"
        node.args[_WHEN] = guard
        if name in _BREACHES:
            node.keywords = [*given, ast.keyword("to", ast.Constant("idle"))]
            yield "VIOLATED is idle"
            node.keywords = given
        else:
            to = parts[_TO]
            for state in ("violated", "idle"):
                if ast.unparse(to).strip("'") != state:
                    node.args[_TO] = ast.Constant(state)
                    yield f"{_short(to)} is {state}"
            node.args[_TO] = to
        for keyword in [each for each in given if each.arg in {"sets", "source"}]:
            node.keywords = [each for each in given if each is not keyword]
            yield f"{keyword.arg} is left out"
        node.keywords = given


def _short(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 40 else f"{text[:37]}..."
