"""Every small change of the modules of `spec/projection`, one at a time, as compiled code.

Changes are made to the syntax tree of a function, of a constant of a module, or of the default of a
dataclass field. Names of operators are those of `proofs.mutation` where they do the same.
"""

from __future__ import annotations
import __future__

import ast
import importlib
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Final, NamedTuple

from proofs.mutation.mutants.parts import neighbour
from spec.events.alphabet import Kind

__all__ = ["MODULES", "OPERATORS", "Change", "Part", "changes"]

MODULES: Final = (
    *("blocks", "case", "concerns", "contents", "contradictions", "definitions", "fields"),
    *("lines", "losses", "naive", "outcome", "pool", "ranks", "rights", "room", "routes"),
    *("sight", "unknown"),
)
"""All of `spec/projection`, but `delivery`, which the campaign changes, and `interpret`: the
monitor reads terms with it, too, so the comparison cannot tell a mistake in it."""

OPERATORS: Final = {
    "lack": "a condition, a case or an operand of a union is left out",
    "affirm": "a negation is left out",
    "negate": "a test holds where it did not, and the other way round: == for !=, in for not in",
    "compare": "another comparison: < for <=, <= for < or ==, and the other way round",
    "swap": "two operands change places",
    "sum": "a sum becomes a difference, and the other way round",
    "constant": "a number is one more or one less",
    "flip": "true for false, and the other way round",
    "tense": "before and after the event change places",
    "fewer": "a member is left out of a set: a kind of event, a name, a way to be about a claim",
    "more": "a set of kinds, or a test of one kind, has one more: the next of its role",
    "branch": "a choice is made the same way always",
    "join": "and for or, and the other way round",
    "meet": "a union or difference becomes an intersection, and the other way round",
    "quantify": "any for all, and the other way round",
    "extreme": "min for max, and the other way round",
    "drop": "a statement is left out",
}
"""Each operator with what it does."""

_COMPARE: Final[dict[type[ast.cmpop], tuple[tuple[str, type[ast.cmpop]], ...]]] = {
    ast.Lt: (("compare", ast.LtE),),
    ast.LtE: (("compare", ast.Lt), ("compare", ast.Eq)),
    ast.Gt: (("compare", ast.GtE),),
    ast.GtE: (("compare", ast.Gt), ("compare", ast.Eq)),
    ast.Eq: (("negate", ast.NotEq),),
    ast.NotEq: (("negate", ast.Eq),),
    ast.Is: (("negate", ast.IsNot),),
    ast.IsNot: (("negate", ast.Is),),
    ast.In: (("negate", ast.NotIn),),
    ast.NotIn: (("negate", ast.In),),
}
_OTHER_CALL: Final = {
    "any": ("quantify", "all"),
    "all": ("quantify", "any"),
    "min": ("extreme", "max"),
    "max": ("extreme", "min"),
}
_TENSE: Final = {"later": "pool", "pool": "later"}
_UNCHANGED: Final = frozenset({"_missing", "_alone", "_belong", "line_of", "judge"})
"""Names that only checks of the tables use; and what reads files, or drives a whole judgement."""


class Part(NamedTuple):
    """What is changed: a function, a method, a constant of the module, or a field's default."""

    module: str
    name: str
    is_code: bool


class Change(NamedTuple):
    """One change: where, by which operator, from what to what, and the changed code.

    `lines` are those of the smallest statement that holds the change, `kind` the only kind of event
    for which it can matter, where there is one.
    """

    part: Part
    name: str
    line: int
    operator: str
    says: str
    code: CodeType
    lines: frozenset[int]
    kind: Kind | None


class _Place(NamedTuple):
    """A node of a tree in its parent, the smallest statement around it, and its row's kind."""

    parent: ast.AST
    field: str
    at: int | None
    node: ast.AST
    around: ast.stmt
    kind: Kind | None

    def put(self, node: ast.AST) -> None:
        if self.at is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.at] = node


@cache
def changes(module: str) -> tuple[Change, ...]:
    """Every change of one module, in the order of its text; no two make the same text."""
    return tuple(_changes(module))


def _changes(module: str) -> Iterator[Change]:
    path = Path(inspect.getfile(importlib.import_module(f"spec.projection.{module}")))
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    for statement in tree.body:
        match statement:
            case ast.FunctionDef(name=name):
                yield from _of(Part(module, name, is_code=True), statement, path)
            case ast.ClassDef(name=name):
                data = any("dataclass" in ast.unparse(each) for each in statement.decorator_list)
                for each in statement.body:
                    if isinstance(each, ast.FunctionDef):
                        part = Part(module, f"{name}.{each.name}", is_code=True)
                    elif data and isinstance(each, ast.AnnAssign) and each.value is not None:
                        part = Part(module, f"{name}.{ast.unparse(each.target)}", is_code=False)
                    else:
                        continue
                    yield from _of(part, each, path)
            case ast.AnnAssign(value=ast.expr(), target=ast.Name(id=name)) if (
                ast.unparse(statement.annotation) != "TypeAlias"
            ):
                yield from _of(Part(module, name, is_code=False), statement, path)
            case ast.Assign(targets=[ast.Name(id=name)]) if not name.startswith("__"):
                yield from _of(Part(module, name, is_code=False), statement, path)


def _of(part: Part, changed: ast.stmt, path: Path) -> Iterator[Change]:
    """The changes of one definition."""
    if part.name in _UNCHANGED:
        return
    seen, counts = {ast.dump(changed)}, dict.fromkeys(OPERATORS, 0)
    for place in [*_places(changed, changed, None)]:
        for operator, other in [*_others(place, part)]:
            ast.copy_location(other, place.node)
            place.put(other)
            text = ast.dump(changed)
            if text not in seen:
                seen.add(text)
                counts[operator] += 1
                about = f"{part.module}.{part.name}:{operator}-{counts[operator]}"
                says = f"{_short(place.node)} -> {_short(other)}"
                kind = place.kind or _kind_of(place.node, other)
                at: int = getattr(place.node, "lineno", place.around.lineno)
                yield Change(
                    part, about, at, operator, says, _code(part, changed, path), _lines(place), kind
                )
            place.put(place.node)


def _code(part: Part, changed: ast.stmt, path: Path) -> CodeType:
    """The code of a changed function; of anything else the code that assigns its name anew."""
    made = ast.fix_missing_locations(ast.Module([changed], []))
    code = compile(
        made, str(path), "exec", flags=__future__.annotations.compiler_flag, dont_inherit=True
    )
    if not part.is_code:
        return code
    return next(each for each in code.co_consts if isinstance(each, CodeType))


def _lines(place: _Place) -> frozenset[int]:
    """The lines of the smallest statement; of one that has a body those of its head."""
    around = place.around
    body = getattr(around, "body", None)
    end = body[0].lineno - 1 if isinstance(body, list) and body else around.end_lineno
    return frozenset(range(around.lineno, max(around.lineno, end or 0) + 1))


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 90 else f"{text[:60]} ... {text[-25:]}"


# Places.


def _places(node: ast.AST, around: ast.stmt, kind: Kind | None) -> Iterator[_Place]:
    """Every node that may be changed: no annotations, defaults, errors or texts."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "args") and not isinstance(
            node, ast.Call
        ):
            continue
        for at, child in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(child, ast.Raise | ast.JoinedStr) or not isinstance(child, ast.AST):
                continue
            within = child if isinstance(child, ast.stmt) else around
            row = node.keys[at] if isinstance(node, ast.Dict) and field == "values" else None
            of = _kind(row) or kind
            yield _Place(node, field, at if isinstance(value, list) else None, child, within, of)
            yield from _places(child, within, of)


def _kind(node: ast.AST | None) -> Kind | None:
    """The kind of event that an expression names."""
    match node:
        case ast.Attribute(value=ast.Name(id="Kind"), attr=name):
            return Kind[name]
    return None


def _kind_of(node: ast.AST, other: ast.AST) -> Kind | None:
    """The one kind by which two sets of kinds differ."""
    match node, other:
        case ((ast.Set(elts=one) | ast.Tuple(elts=one)), (ast.Set(elts=two) | ast.Tuple(elts=two))):
            odd = {*map(ast.dump, one)} ^ {*map(ast.dump, two)}
            found = [_kind(each) for each in (*one, *two) if ast.dump(each) in odd]
            return found[0] if len(found) == 1 else None
    return None


# What becomes of a node.


def _others(place: _Place, part: Part) -> Iterator[tuple[str, ast.AST]]:
    """The operators that apply to a node, each with what takes its place."""
    match node := place.node:
        case ast.BoolOp(op, values):
            for at in range(len(values)):
                rest = [*values[:at], *values[at + 1 :]]
                yield "lack", rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
            yield "join", ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not(), inner):
            yield "affirm", inner
        case ast.Compare():
            yield from _comparisons(node)
        case ast.BinOp(left, op, right):
            yield from _operations(left, op, right)
        case ast.AugAssign(target, op, value):
            pairs: dict[type[ast.operator], type[ast.operator]] = {
                **{ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr},
                **{ast.Add: ast.Sub, ast.Sub: ast.Add},
            }
            if (other := pairs.get(type(op))) and not _is_table(value):
                name = "sum" if isinstance(op, ast.Add | ast.Sub) else "meet"
                yield name, ast.AugAssign(target, other(), value)
            yield "drop", ast.Pass()
        case ast.Expr(ast.Call()) | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "drop", ast.Pass()
        case ast.Constant(bool(value)):
            yield "flip", ast.Constant(not value)
        case ast.Constant(int(number)):
            yield "constant", ast.Constant(number + 1)
            yield "constant", ast.Constant(number - 1)
        case ast.Call(ast.Name(name), args, keywords) if name in _OTHER_CALL:
            operator, called = _OTHER_CALL[name]
            yield operator, ast.Call(ast.Name(called, ast.Load()), args, keywords)
        case ast.Attribute(value, attr, ctx) if attr in _TENSE and _is_moment(value, part):
            yield "tense", ast.Attribute(value, _TENSE[attr], ctx)
        case ast.Set(elts) | ast.Tuple(elts):
            yield from _members(node, elts, place)
        case ast.IfExp(_, then, otherwise):
            yield "branch", then
            yield "branch", otherwise
        case ast.If(_, body, orelse):
            yield "branch", ast.If(ast.Constant(value=True), body, orelse)
            yield "branch", ast.If(ast.Constant(value=False), body, orelse)
        case ast.While(_, body, orelse):
            yield "branch", ast.While(ast.Constant(value=False), body, orelse)
        case ast.comprehension(target, values_of, ifs):
            for at in range(len(ifs)):
                rest = [*ifs[:at], *ifs[at + 1 :]]
                yield "lack", ast.comprehension(target, values_of, rest, 0)


def _comparisons(node: ast.Compare) -> Iterator[tuple[str, ast.AST]]:
    for at, op in enumerate(node.ops):
        for operator, other in _COMPARE[type(op)]:
            ops = [*node.ops[:at], other(), *node.ops[at + 1 :]]
            yield operator, ast.Compare(node.left, ops, node.comparators)
    match node:
        case ast.Compare(left, [ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE() as op], [right]):
            yield "swap", ast.Compare(right, [op], [left])
        case ast.Compare(left, [ast.Is()], [right]) if (kind := _kind(right)) is not None:
            if (near := neighbour(frozenset({kind}))) is not None:
                both = ast.Tuple([right, _named(near)], ast.Load())
                yield "more", ast.Compare(left, [ast.In()], [both])


def _operations(left: ast.expr, op: ast.operator, right: ast.expr) -> Iterator[tuple[str, ast.AST]]:
    sets = any(map(_is_set, (left, right)))
    match op:
        case ast.BitOr() | ast.BitAnd():
            yield "lack", left
            yield "lack", right
            if not (_is_table(left) or _is_table(right)):
                other = ast.BitAnd() if isinstance(op, ast.BitOr) else ast.BitOr()
                yield "meet", ast.BinOp(left, other, right)
        case ast.Sub() if sets:
            yield "lack", left
            yield "meet", ast.BinOp(left, ast.BitAnd(), right)
        case ast.Sub():
            yield "sum", ast.BinOp(left, ast.Add(), right)
            yield "swap", ast.BinOp(right, op, left)
        case ast.Add():
            yield "sum", ast.BinOp(left, ast.Sub(), right)


def _members(node: ast.AST, elts: list[ast.expr], place: _Place) -> Iterator[tuple[str, ast.AST]]:
    """Members left out, and the next kind added; tuples are sets where all members are kinds or
    ways, or are unpacked."""
    if isinstance(node, ast.Tuple) and not all(map(_is_member, elts)):
        return
    kinds = [_kind(each) for each in elts]
    for at in range(len(elts)):
        yield "fewer", _with(node, [*elts[:at], *elts[at + 1 :]])
    known = frozenset(kind for kind in kinds if kind is not None)
    if known and None not in kinds and (near := neighbour(known)) is not None:
        yield "more", _with(node, [*elts, _named(near)])


def _is_member(node: ast.expr) -> bool:
    match node:
        case ast.Starred() | ast.Attribute(value=ast.Name(id="Kind" | "By")):
            return True
    return False


def _with(node: ast.AST, elts: list[ast.expr]) -> ast.AST:
    return ast.Set(elts) if isinstance(node, ast.Set) else ast.Tuple(elts, ast.Load())


def _named(kind: Kind) -> ast.expr:
    return ast.Attribute(ast.Name("Kind", ast.Load()), kind.name, ast.Load())


def _is_set(node: ast.expr) -> bool:
    """Whether an operand is a set, by how it is written."""
    match node:
        case ast.Set() | ast.SetComp() | ast.Call(ast.Name("set" | "frozenset")):
            return True
        case ast.Name(name):
            return name.isupper()
    return False


def _is_table(node: ast.expr) -> bool:
    """Whether an operand is a dict, by how it is written."""
    match node:
        case ast.Dict() | ast.DictComp() | ast.Call(ast.Name("view")):
            return True
        case ast.Call(ast.Attribute(ast.Name("dict"), "fromkeys")):
            return True
    return False


def _is_moment(node: ast.expr, part: Part) -> bool:
    """Whether an expression has the pool before the event and the pool after it."""
    match node:
        case ast.Name("sight" | "moment") | ast.Attribute(attr="moment"):
            return True
        case ast.Name("self"):
            return part.name.startswith(("Moment.", "Sight."))
    return False
