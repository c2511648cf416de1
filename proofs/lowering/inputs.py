"""Reads in the source of the relation what it can depend on.

The universe has a point for each value of the fields below, and none for the name of a descriptor
or for the number of items that say the same. The source is parsed, and every operation that is not
listed here is reported. Those that are listed read no other field. They can go through a list, ask
whether something is in it, and take the first thing of it, but cannot count.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Final

from proofs.lowering.universe import Compared
from spec.lowering import counting, relation
from spec.lowering.descriptor import Descriptor

__all__ = ["read_source", "sources"]

_FIELDS: Final = {
    "descriptor": "adapter adapters anchor anchors forbidden native observations signals",
    "an adapter": "depth evidence precondition preconditions",
    "an item or a signal": "anchor modes obligation scope signal status",
    "an anchor": "basis claim kind order",
    "an observation": "atom",
    "a forbidden mapping": "mode up_to",
    "evidence": "mode obligation order shown",
    "what supplies an obligation": "depth obligation",
    "a set, a table or a mapping": "append get items names values",
    "a type, in a message": "__name__",
}
"""The fields that the relation reads, by what has them."""

_READ: Final = frozenset(name for names in _FIELDS.values() for name in names.split())
_LISTS: Final = frozenset({"adapters", "evidence", "native"})
_CALLED: Final = frozenset(
    {
        *("all", "any", "bool", "chain", "frozenset", "max", "next", "tuple"),
        *("Row", "Supply", "only_shown", "reaches", "require"),
        *("atom_observed", "counts", "evidence_shows", "forbids", "judge", "lacks", "related"),
        *("relates", "subtype_of", "supply", "supply_at", "tempts", "unmet"),
        *("_is_shown", "_unpreserved"),
    }
)
_IMPORTED: Final = frozenset({"annotations", "dataclass", "field"})
_METHODS: Final = frozenset({"adapter", "anchor", "append", "get", "items", "names", "values"})
_WITHIN: Final = frozenset({"asked", "hold"})
"""Local names of what something is looked for in, besides tables and fields."""


def sources() -> dict[str, str]:
    """The source of the relation, by where it is."""
    return {
        "counting.py": inspect.getsource(counting),
        "relation.py": inspect.getsource(relation),
        "Descriptor.anchor": textwrap.dedent(inspect.getsource(Descriptor.anchor)),
        "Descriptor.adapter": textwrap.dedent(inspect.getsource(Descriptor.adapter)),
    }


def read_source(of: dict[str, str] | None = None) -> Compared:
    """Every operation in the source of the relation, and the first that is not listed."""
    points, strange = 0, list[str]()
    found: list[tuple[ast.AST, str | None]]
    for where, source in (of or sources()).items():
        for part in ast.parse(source).body:
            if isinstance(part, ast.FunctionDef):
                found = [(node, _strange(node)) for line in part.body for node in ast.walk(line)]
                found += [(each, "a decorator") for each in part.decorator_list]
            else:
                found = [(part, _strange_part(part))]
            points += len(found)
            for node, what in found:
                if what is not None:
                    strange.append(f"{where}: {what}: {ast.unparse(node)[:70]}")
    return Compared("operations in the source", points, len(strange), *strange[:1])


def _strange_part(part: ast.stmt) -> str | None:
    """Why a part of a module beside its functions is not one that is expected."""
    match part:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return None if name == "__all__" or name.isupper() else "a name is given another value"
        case ast.ImportFrom(names=names):
            lower = {each.asname or each.name for each in names if each.name.islower()}
            return None if lower <= _CALLED | _IMPORTED else "a name that is not read"
        case ast.ClassDef() | ast.Expr() | ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return None
        case _:
            return "a part that is not read"


def _is_table(node: ast.AST) -> bool:
    """Whether a name is of a table, an enumeration or a class: `LADDER`, `Depth`, `_STATED`."""
    return isinstance(node, ast.Name) and node.id.lstrip("_")[:1].isupper()


def _strange(node: ast.AST) -> str | None:
    """Why an operation is none of those that are listed."""
    match node:
        case ast.Attribute(value=value, attr=name):
            return None if _is_table(value) or name in _READ else "a field that no point has"
        case ast.Call(func=ast.Name(id="next"), args=[first, *_]):
            fresh = isinstance(first, ast.GeneratorExp) or _calls(first) == "chain"
            return None if fresh else "an iterator that is used again"
        case ast.Call(func=ast.Name(id=name)):
            return None if name in _CALLED else "a function that is not read"
        case ast.Call(func=ast.Attribute(value=value, attr=name)):
            known = _is_table(value) or name in _METHODS
            return None if known else "a method that is not read"
        case ast.Call(func=ast.Subscript(value=ast.Name(id="list")), args=[]):
            return None
        case ast.Call():
            return "a call of something that is not read"
        case ast.Constant(value=value):
            return "a number" if type(value) in (int, float) and value not in range(1, 7) else None
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[within]):
            return None if _is_within(within) else "looks into something else"
        case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
            return None
        case ast.Compare(ops=[ast.Eq()], left=left, comparators=[right]):
            return None if _names(left, right) else "compares something else"
        case ast.Subscript(value=value):
            table = _is_table(value) or ast.unparse(value) in ("list", "self.anchors")
            return None if table else "a place in a list"
        case ast.AugAssign(op=ast.Add(), value=ast.Attribute(attr=name)):
            return None if name in _LISTS else "adds something else"
        case ast.BinOp(op=op):
            return None if isinstance(op, ast.Add | ast.BitAnd) else "computes"
        case _:
            return None if isinstance(node, _PLAIN) else "an operation that is not read"


def _calls(node: ast.AST) -> str:
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return node.func.id if called else ""  # type: ignore[attr-defined]


def _is_within(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in ("modes", "order")
    of = node.value if isinstance(node, ast.Subscript) else node
    return _is_table(of) or (isinstance(of, ast.Name) and of.id in _WITHIN)


def _names(*nodes: ast.AST) -> bool:
    """Whether these are the names of obligations."""
    return all(ast.unparse(node).endswith("obligation") for node in nodes)


_PLAIN: Final = (
    *(ast.Assign, ast.Expr, ast.For, ast.If, ast.Return, ast.IfExp, ast.BoolOp, ast.UnaryOp),
    *(ast.DictComp, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.comprehension, ast.Starred),
    *(ast.Dict, ast.List, ast.Tuple, ast.JoinedStr, ast.FormattedValue, ast.Name, ast.keyword),
    *(ast.expr_context, ast.operator, ast.boolop, ast.unaryop, ast.cmpop, ast.Yield),
)
