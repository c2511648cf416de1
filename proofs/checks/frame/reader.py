"""Reads generated functions back: makes terms of a small subset of Python.

It shares no code with the generator that it checks. A generated function evaluates an expression,
assigns registers in sequence, or takes the first rule that applies. Anything else is refused, so no
part of a function is ignored.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.contract.vocabulary import CONSTANTS, EVENT_FIELDS
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
    variables,
)

if TYPE_CHECKING:
    from spec.language.machine import Observer, Register

__all__ = ["CLAIM", "MOST", "REQUEST", "Assigned", "Reader", "Refused", "Taken", "in_sequence"]

_ARGUMENTS: Final = ["e", "here", "t", "w", "n", "r", "q", "o"]
CLAIM: Final = (*CLAIM_FACTS.registers, *DECLARED.registers)
REQUEST: Final = REQUEST_FACTS.registers
"""The registers by their places."""
_LEDGERS: Final[Mapping[str, tuple[Scope, tuple[Register, ...]]]] = {
    "w": (Scope.WAS, CLAIM),
    "n": (Scope.NOW, CLAIM),
    "r": (Scope.REQ_WAS, REQUEST),
    "q": (Scope.REQ, REQUEST),
}
_OPERATORS: Final[Mapping[type[ast.operator | ast.cmpop], str]] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Eq: "==",
    ast.Add: "+",
    ast.Sub: "-",
}
MOST: Final = 10
"""The most parts of a conjunction or disjunction in three values: so many are compared."""
_CALLED: Final = {"_lt": "<", "_le": "<=", "_eq": "==", "_add": "+", "_sub": "-"}

Assigned = Sequence[tuple[str, Term]]
"""The registers that a ledger's function assigns, in their order."""


class Refused(Exception):
    """A construct in a source is outside the subset, or has no meaning there."""


class Taken(NamedTuple):
    """A rule as it was read: its number, and what it asks and does.

    `sets` has a term for each register of the observer; None leaves them as they are.
    """

    number: int
    sources: frozenset[int]
    to: int
    when: Term
    sets: tuple[Term, ...] | None


@dataclass(frozen=True)
class Reader:
    """Reads functions in two values or in three.

    Args:
        three: expressions are calls of Kleene's connectives; otherwise they are plain Python.
        observer: the observer whose registers are read, if it is one.
    """

    three: bool = False
    observer: Observer | None = None

    def term(self, text: str) -> Term:
        """What a function returns."""
        match _body(text):
            case [ast.Return(value=ast.expr() as value)]:
                return self._term(value)
        raise Refused("the function is more than an expression")

    def truth(self, text: str) -> Term:
        """The same of a function that returns a truth value."""
        found = self.term(text)
        if found.sort is not Sort.BOOL:
            raise Refused("the function returns no truth value")
        return found

    def terms(self, text: str) -> tuple[Term, ...]:
        """What a function returns that returns a tuple."""
        match _body(text):
            case [ast.Return(value=ast.Tuple(elts=values))]:
                return tuple(map(self._term, values))
        raise Refused("the function is more than a tuple")

    def ledger(self, text: str, before: str, after: str) -> Assigned:
        """The registers that a function assigns: it copies `before`, and returns `after`."""
        found = []
        for statement in _between(f"{after} = {before}.copy()", text, f"return {after}"):
            match statement:
                case ast.Assign(
                    targets=[ast.Subscript(value=ast.Name(id=name)) as target], value=value
                ) if name == after:
                    found.append((self._variable(target).name, self._term(value)))
                case _:
                    raise _refuse(statement, "does not assign a register")
        return in_sequence(found, _LEDGERS[after][0])

    def rules(self, text: str) -> tuple[Taken, ...]:
        """The rules of a function that takes a step: the first that applies is taken."""
        return tuple(map(self._rule, _between("s, o = o", text, "return None")))

    def _rule(self, statement: ast.stmt) -> Taken:
        match statement:
            case ast.If(
                test=ast.BoolOp(
                    op=ast.And(),
                    values=[
                        ast.Compare(
                            left=ast.Name(id="s"),
                            ops=[ast.In()],
                            comparators=[ast.Set(elts=states)],
                        ),
                        when,
                    ],
                ),
                body=[ast.Return(value=ast.Tuple(elts=[number, to, after]))],
                orelse=[],
            ):
                match after:
                    case ast.Name(id="o"):
                        sets = None
                    case ast.Tuple(elts=values):
                        sets = tuple(map(self._term, values))
                    case _:
                        raise _refuse(after, "is not the registers of an observer")
                sources = frozenset(map(_whole, states))
                return Taken(_whole(number), sources, _whole(to), self._truth(when), sets)
        raise _refuse(statement, "is not a rule")

    def _term(self, node: ast.expr) -> Term:
        match node:
            case ast.Constant(value=bool() | int() as value):
                return Const(value)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int()) as operand):
                return Const(-_whole(operand))
            case ast.Name() | ast.Subscript():
                return self._variable(node)
        found = self._called(node) if self.three else self._plain(node)
        if found is None:
            raise _refuse(
                node, f"is not an expression in {'three' if self.three else 'two'} values"
            )
        return found

    def _plain(self, node: ast.expr) -> Term | None:
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Not(self._truth(operand))
            case ast.BoolOp(op=op, values=parts):
                return (And if isinstance(op, ast.And) else Or)(tuple(map(self._truth, parts)))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return self._applied(node, _OPERATORS[type(op)], left, right)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATORS:
                return self._applied(node, _OPERATORS[type(op)], left, right)
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                return self._chosen(node, test, then, otherwise)
        return None

    def _called(self, node: ast.expr) -> Term | None:
        match node:
            case ast.Call(func=ast.Name(id="_not"), args=[operand], keywords=[]):
                return Not(self._truth(operand))
            case ast.Call(func=ast.Name(id="_and"), args=[_, *_] as parts, keywords=[]) if (
                len(parts) <= MOST
            ):
                return And(tuple(map(self._truth, parts)))
            case ast.Call(func=ast.Name(id="_or"), args=[_, *_] as parts, keywords=[]) if (
                len(parts) <= MOST
            ):
                return Or(tuple(map(self._truth, parts)))
            case ast.Call(
                func=ast.Name(id="_apply"), args=[ast.Name(id=name), left, right], keywords=[]
            ) if name in _CALLED:
                return self._applied(node, _CALLED[name], left, right)
            case ast.Call(func=ast.Name(id="_choose"), args=[test, then, otherwise], keywords=[]):
                return self._chosen(node, test, then, otherwise)
        return None

    def _applied(self, node: ast.expr, op: str, left: ast.expr, right: ast.expr) -> Term:
        make = Arith if op in "+-" else Compare
        try:
            return make(op, self._term(left), self._term(right))
        except TypeError as error:
            raise _refuse(node, f"has other sorts: {error}") from None

    def _chosen(self, node: ast.expr, test: ast.expr, then: ast.expr, otherwise: ast.expr) -> Term:
        try:
            return Ite(self._truth(test), self._term(then), self._term(otherwise))
        except TypeError as error:
            raise _refuse(node, f"has other sorts: {error}") from None

    def _truth(self, node: ast.expr) -> Term:
        found = self._term(node)
        if found.sort is not Sort.BOOL:
            raise _refuse(node, "is no truth value")
        return found

    def _variable(self, node: ast.expr) -> Var:
        match node:
            case ast.Name(id="here"):
                return Var(Scope.EVENT, "here", Sort.BOOL)
            case ast.Name(id="t"):
                return Var(Scope.CLAIM, "threshold", CONSTANTS["threshold"][0])
            case ast.Subscript(value=ast.Name(id="e"), slice=ast.Constant(value=str(name))):
                if name in EVENT_FIELDS and name != "here":
                    return Var(Scope.EVENT, name, EVENT_FIELDS[name][0])
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant() as at):
                scope, registers = _LEDGERS.get(name, (Scope.OWN, ()))
                if name == "o" and self.observer is not None:
                    registers = self.observer.registers
                place = _whole(at)
                if place < len(registers):
                    return Var(scope, registers[place].name, registers[place].sort)
        raise _refuse(node, "is no input")


def in_sequence(assigned: Assigned, after: Scope) -> Assigned:
    """Registers that are assigned once, and read after that only.

    Raises:
        Refused: they are not. Then a register that is read may have another value in the end.
    """
    todo = [name for name, _ in assigned]
    if len(set(todo)) < len(todo):
        raise Refused("a register is assigned twice")
    for name, term in assigned:
        early = [v.name for v in variables(term) if v.scope is after and v.name in todo]
        if early:
            raise Refused(f"{name} reads {early[0]} before it is assigned")
        todo.remove(name)
    return assigned


@cache
def _body(text: str) -> Sequence[ast.stmt]:
    """The statements of the function that a text defines."""
    try:
        module = ast.parse(text)
    except SyntaxError as error:
        raise Refused(f"line {error.lineno}: {error.msg}") from None
    plain = ast.arguments([], [ast.arg(name) for name in _ARGUMENTS], None, [], [], None, [])
    match module.body:
        case [ast.FunctionDef(name="f", args=args, body=body, decorator_list=[], returns=None)] if (
            ast.dump(args) == ast.dump(plain)
        ):
            return body
    raise Refused(f"this is not one function of {', '.join(_ARGUMENTS)}")


def _between(first: str, text: str, last: str) -> Sequence[ast.stmt]:
    """The statements of a function that begins and ends so."""
    lines = [ast.unparse(statement) for statement in _body(text)]
    if len(lines) < 2 or [lines[0], lines[-1]] != [first, last]:
        raise Refused(f"the function does not begin with {first!r} and end with {last!r}")
    return _body(text)[1:-1]


def _whole(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int and node.value >= 0:
        return node.value
    raise _refuse(node, "is no number")


def _refuse(node: ast.AST, what: str) -> Refused:
    return Refused(f"line {getattr(node, 'lineno', '?')}: {ast.unparse(node)} {what}")
