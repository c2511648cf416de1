"""Small edits of compiled functions, by the bug that they plant; whether one changes a result."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from proofs.checks.frame.space import CLAIM_FIRST, REQUEST_FIRST
from spec.contract.vocabulary import CONSTANTS, EVENT_FIELDS
from spec.events.alphabet import Kind
from spec.language.machine import Observer
from spec.language.terms import Sort

Edit = Callable[[Any], None]

_TIMES = {"was": "now", "now": "was", "req_was": "req", "req": "req_was"}
_RUNS = 400


def _operators(node: ast.AST) -> Iterator[Edit]:
    match node:
        case ast.Compare(ops=[ast.Lt()]):
            yield lambda n: n.ops.__setitem__(0, ast.LtE())
        case ast.Compare(ops=[ast.LtE()]):
            yield lambda n: n.ops.__setitem__(0, ast.Lt())
        case ast.BoolOp(op=ast.And()):
            yield lambda n: setattr(n, "op", ast.Or())
        case ast.BoolOp(op=ast.Or()):
            yield lambda n: setattr(n, "op", ast.And())
        case ast.BinOp(op=ast.Add()):
            yield lambda n: setattr(n, "op", ast.Sub())


def _constants(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield lambda n: setattr(n, "value", n.value + 1)


def _kinds(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        every = [str(kind) for kind in Kind]
        other = every[(every.index(node.value) + 1) % len(every)]
        yield lambda n: setattr(n, "value", other)


def _times(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.Name) and node.id in _TIMES:
        yield lambda n: setattr(n, "id", _TIMES[n.id])


def _operands(node: ast.AST) -> Iterator[Edit]:
    match node:
        case ast.Compare(ops=[ast.Lt() | ast.LtE()]):
            yield lambda n: n.__dict__.update(left=n.comparators[0], comparators=[n.left])
        case ast.IfExp():
            yield lambda n: n.__dict__.update(body=n.orelse, orelse=n.body)


def _order(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.FunctionDef):
        rules = [i for i, each in enumerate(node.body) if isinstance(each, ast.If)]
        for one in rules:
            for other in rules:
                if one < other:

                    def swap(n: Any, one: int = one, other: int = other) -> None:
                        n.body[one], n.body[other] = n.body[other], n.body[one]

                    yield swap


def _rules(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.FunctionDef):
        for place, each in enumerate(node.body):
            if isinstance(each, ast.If):
                yield lambda n, place=place: n.body.pop(place)


def _parts(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.BoolOp):
        for place in range(len(node.values)):
            yield lambda n, place=place: n.values.pop(place)


def _negations(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.If | ast.IfExp):
        yield lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))


def _twice(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield lambda n: setattr(n, "left", ast.BinOp(n.left, ast.Add(), n.right))


def _places(node: ast.AST) -> Iterator[Edit]:
    match node:
        case ast.Return(value=ast.Tuple(elts=parts)) if len(parts) > 3:  # a ledger's registers
            for place in range(len(parts) - 1):

                def swap(n: Any, place: int = place) -> None:
                    elts = n.value.elts
                    elts[place], elts[place + 1] = elts[place + 1], elts[place]

                yield swap


BUGS: dict[str, Callable[[ast.AST], Iterator[Edit]]] = {
    "wrong operator": _operators,
    "wrong constant": _constants,
    "wrong kind": _kinds,
    "now for was": _times,
    "swapped operands": _operands,
    "rules in another order": _order,
    "a dropped rule": _rules,
    "a dropped part": _parts,
    "a negation": _negations,
    "an update counted twice": _twice,
    "registers in another order": _places,
}


@dataclass(frozen=True)
class Text:
    """Functions as text, by their names; `observer` is whose function it is, if it is one's."""

    text: str
    functions: tuple[str, ...]
    observer: Observer | None = None

    def places(self, bug: str) -> list[tuple[int, Edit]]:
        """Where a bug can be planted, and by what edit."""
        nodes = enumerate(ast.walk(ast.parse(self.text)))
        return [(place, edit) for place, node in nodes for edit in BUGS[bug](node)]

    def planted(self, place: int, edit: Edit) -> str:
        """The text with one edit."""
        tree = ast.parse(self.text)
        edit(list(ast.walk(tree))[place])
        return ast.unparse(ast.fix_missing_locations(tree))

    def differs(self, other: str, rng: random.Random) -> bool:
        """Whether some random input gives another result."""
        kinds = sorted(kind for kind in Kind if f"'{kind}'" in self.text) or list(Kind)
        for name in self.functions:
            one, two = _function(self.text, name), _function(other, name)
            for _ in range(_RUNS):
                given = self._arguments(name, kinds, rng)
                try:
                    if one(*given) != two(*given):
                        return True
                except (IndexError, AttributeError, NameError):
                    return True
        return False

    def _arguments(self, name: str, kinds: list[Kind], rng: random.Random) -> list[Any]:
        event = SimpleNamespace(kind=rng.choice(kinds), **_values(_sorts(EVENT_FIELDS), rng))
        constants = SimpleNamespace(**_values(_sorts(CONSTANTS), rng))
        was, now = (_registers(CLAIM_FIRST, rng) for _ in range(2))
        req_was, req = (_registers(REQUEST_FIRST, rng) for _ in range(2))
        if self.observer is None:
            return [event, constants, was, *([now, req_was] if name == "request" else [])]
        own = tuple(rng.randrange(10) for _ in self.observer.registers)
        state = rng.randrange(len(self.observer.states))
        return [state, own, event, constants, was, now, req_was, req]


def _function(text: str, name: str) -> Any:
    names: dict[str, Any] = {}
    exec(compile(text, "<text>", "exec"), names)
    return names[name]


def _sorts(fields: dict[str, tuple[Sort, str]]) -> dict[str, Sort]:
    return {name: sort for name, (sort, _) in fields.items()}


def _values(sorts: dict[str, Sort], rng: random.Random) -> dict[str, bool | int]:
    chance = rng.choice((0.2, 0.5, 0.8))
    return {
        name: rng.random() < chance if sort is Sort.BOOL else rng.randrange(-1, 4)
        for name, sort in sorts.items()
    }


def _registers(first: dict[str, bool | int], rng: random.Random) -> tuple[bool | int, ...]:
    sorts = {n: Sort.BOOL if isinstance(v, bool) else Sort.INT for n, v in first.items()}
    return tuple(_values(sorts, rng).values())
