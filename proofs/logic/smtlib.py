"""Writes formulas as SMT-LIB 2, and reads one invariant definition safely.

Input is not passed to a solver's parser: it must be exactly one well-sorted `define-fun` over the
expected variables, with a few operators of linear integer arithmetic.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import z3

from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from proofs.logic.encode import Expr

__all__ = ["INVARIANT", "SmtlibError", "Tree", "Writer", "invariant_body", "read_one", "show"]

Tree: TypeAlias = "str | tuple[Tree, ...]"
"""An S-expression: a symbol or numeral, or a list."""

INVARIANT = "Inv"
DEPTH = 64
_WIDTH = 100
_TOKEN = re.compile(r"\s+|;[^\n]*|[()]|[A-Za-z0-9_.!/<>=+*-]+")
_NUMERAL = re.compile(r"0|[1-9][0-9]{0,39}")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.!/]*")
_BOOLEAN = frozenset({"and", "or", "not", "=>", "xor"})
_ORDER = frozenset({"<", "<=", ">", ">="})
_SAME = frozenset({"=", "distinct"})
_SUM = frozenset({"+", "-"})
_COMMUTATIVE = frozenset({"and", "or", "xor", "=", "distinct", "+", "*"})
_OPERATORS = {"if": "ite", **{op: op for op in _BOOLEAN | _ORDER | _SAME | _SUM | {"*"}}}


class SmtlibError(SpecError):
    """The text is not the expected definition."""


def show(tree: Tree, indent: int = 0) -> str:
    """`tree` as text; lines that are too wide are broken after the operator."""
    flat = _flat(tree)
    if isinstance(tree, str) or indent + len(flat) <= _WIDTH:
        return flat
    first = 2 if tree[0] == "define-fun" else 1
    inner = "\n".join(" " * (indent + 2) + show(part, indent + 2) for part in tree[first:])
    return f"({' '.join(_flat(part) for part in tree[:first])}\n{inner})"


def _flat(tree: Tree) -> str:
    return tree if isinstance(tree, str) else f"({' '.join(_flat(part) for part in tree)})"


@dataclass(frozen=True)
class _Node:
    head: str
    parts: tuple[str, ...]  # by their keys
    sort: str


class Writer:
    """Converts Z3 expressions to trees; shared subexpressions are defined once, in `definitions`.

    The order of operands of commutative operators in Z3 depends on the history of the process. They
    are sorted by text, so the text of a formula is deterministic.

    Args:
        roots: every expression that will be written.
        share: whether to name shared subexpressions.
    """

    def __init__(self, roots: Iterable[Expr], *, share: bool = True) -> None:
        self.definitions: list[Tree] = []
        self._roots = list(
            roots
        )  # keeps expressions alive: their identities may be reused otherwise
        self._keys: dict[int, str] = {}
        self._nodes: dict[str, _Node] = {}
        self._uses: Counter[str] = Counter()
        self._made: dict[str, Tree] = {}
        self._share = share
        for root in self._roots:
            self._count(self._key(root))

    def tree(self, expr: Expr) -> Tree:
        """One of the roots, with the names of shared subexpressions."""
        return self._tree(self._key(expr))

    def _key(self, expr: Expr) -> str:
        """The text of an expression, or a digest of it where that is long."""
        number = expr.get_id()
        if number not in self._keys:
            self._keys[number] = self._intern(expr)
        return self._keys[number]

    def _intern(self, expr: Expr) -> str:
        sort = sort_of(expr)
        if not expr.num_args():
            return self._leaf(expr, sort)
        name = expr.decl().name()
        if name not in _OPERATORS:
            raise SmtlibError(f"{name!r} is no operator of these formulas")
        parts = [self._key(child) for child in expr.children()]
        if name in ("and", "or") and len(parts) == 1:
            return parts[0]
        if name in _COMMUTATIVE:
            parts.sort(key=lambda part: (not _PLAIN.fullmatch(part), part))
        return self._add(_Node(_OPERATORS[name], tuple(parts), sort))

    def _leaf(self, expr: Expr, sort: str) -> str:
        if z3.is_int_value(expr):
            value = expr.as_long()
            size = self._add(_Node(str(abs(value)), (), sort))
            return size if value >= 0 else self._add(_Node("-", (size,), sort))
        name = expr.decl().name()
        name = {"and": "true", "or": "false"}.get(name, name)  # of nothing
        if not _PLAIN.fullmatch(name):
            raise SmtlibError(f"a variable is called {name!r}")
        return self._add(_Node(name, (), sort))

    def _add(self, node: _Node) -> str:
        key = _flat((node.head, *node.parts)) if node.parts else node.head
        if len(key) > _WIDTH:
            key = f"~{hashlib.sha256(key.encode()).hexdigest()}"
        self._nodes[key] = node
        return key

    def _count(self, key: str) -> None:
        self._uses[key] += 1
        if self._uses[key] == 1:
            for part in self._nodes[key].parts:
                self._count(part)

    def _tree(self, key: str) -> Tree:
        if key not in self._made:
            node = self._nodes[key]
            made: Tree = (node.head, *map(self._tree, node.parts)) if node.parts else node.head
            deep = any(self._nodes[part].parts for part in node.parts)
            if self._share and deep and self._uses[key] > 1:
                name = f"t{len(self.definitions) + 1}"
                self.definitions.append(("define-fun", name, (), node.sort, made))
                made = name
            self._made[key] = made
        return self._made[key]


def sort_of(expr: Expr) -> str:
    """The name of an expression's sort."""
    return str(expr.sort().sexpr())


def read_one(text: str) -> Tree:
    """The one S-expression in `text`, beside comments; raises SmtlibError."""
    open_lists: list[list[Tree]] = []
    found: list[Tree] = []
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise SmtlibError(f"character {at} is {text[at]!r}")
        at, word = token.end(), token.group()
        if word == "(":
            open_lists.append([])
            if len(open_lists) > DEPTH:
                raise SmtlibError(f"nested deeper than {DEPTH}")
        elif word == ")":
            if not open_lists:
                raise SmtlibError("a list is closed that was not opened")
            done = tuple(open_lists.pop())
            (open_lists[-1] if open_lists else found).append(done)
        elif not word[0].isspace() and word[0] != ";":
            (open_lists[-1] if open_lists else found).append(word)
    if open_lists or len(found) != 1:
        raise SmtlibError("not one complete expression")
    return found[0]


def invariant_body(text: str, state: Mapping[str, str]) -> Tree:
    """The body of the one definition in `text`.

    Args:
        state: the state variables with their sorts, in order.

    Raises:
        SmtlibError: `text` has anything but a well sorted definition of `Inv` over `state`.
    """
    tree = read_one(text)
    head: Tree = ("define-fun", INVARIANT, tuple(state.items()), "Bool")
    if isinstance(tree, str) or len(tree) != len(head) + 1 or tree[:-1] != head:
        raise SmtlibError(f"not one definition of {INVARIANT} over the state of the mode")
    if _sort(tree[-1], state) != "Bool":
        raise SmtlibError("the invariant is no predicate")
    return tree[-1]


def _sort(tree: Tree, state: Mapping[str, str]) -> str:
    if isinstance(tree, str):
        return _atom(tree, state)
    if len(tree) < 2 or not isinstance(tree[0], str):
        raise SmtlibError("a list that is no application of an operator")
    op, sorts = tree[0], [_sort(part, state) for part in tree[1:]]
    bools, ints = set(sorts) == {"Bool"}, set(sorts) == {"Int"}
    if op == "not" and len(sorts) == 1 and bools:
        return "Bool"
    if op == "-" and len(sorts) == 1 and ints:
        return "Int"
    if op == "ite" and len(sorts) == 3 and sorts[0] == "Bool" and sorts[1] == sorts[2]:
        return sorts[1]
    if op == "*" and len(sorts) == 2 and ints and any(_is_number(part) for part in tree[1:]):
        return "Int"
    if len(sorts) >= 2 and op != "not":
        if op in _SUM and ints:
            return "Int"
        if (op in _BOOLEAN and bools) or (op in _ORDER and ints):
            return "Bool"
        if op in _SAME and (bools or ints):
            return "Bool"
    raise SmtlibError(f"{op[:40]!r} of {len(sorts)} parts is not understood here")


def _atom(word: str, state: Mapping[str, str]) -> str:
    if word in ("true", "false"):
        return "Bool"
    if _NUMERAL.fullmatch(word):
        return "Int"
    if word in state:
        return state[word]
    raise SmtlibError(f"{word[:40]!r} is no variable of the state")


def _is_number(tree: Tree) -> bool:
    if isinstance(tree, str):
        return _NUMERAL.fullmatch(tree) is not None
    return len(tree) == 2 and tree[0] == "-" and _is_number(tree[1])
