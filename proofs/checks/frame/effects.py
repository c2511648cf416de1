"""Reads a function that moves a claim in place: what it changes, and under which condition.

It reads the functions of `monitor.evaluate.inlined`, with the expressions of
`proofs.checks.frame.reader`. A function of this subset binds local names, replaces registers and
observers, and calls a few methods of the claim. Anything else is refused, so nothing is ignored.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import z3

from monitor.evaluate.inlined import TRAIL_KEPT
from proofs.checks.frame.reader import Record, boolean, merged, refuse, value_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from proofs.checks.frame.reader import Function, Value
    from proofs.logic.encode import Expr

__all__ = ["OBSERVERS", "Effects", "Move", "Standing", "effects"]

OBSERVERS: Final = object()
"""What `run.base` and `request.watches` are: the observers, by their places."""

_AT: Final = object()
_SHORT: Final = "KIND"
_LONG: Final = f"(*w.trail[{1 - TRAIL_KEPT}:], (KIND, at))"
_FOLLOW: Final = "NEXT.get(run.state, run.state)"


@dataclass(frozen=True)
class Standing:
    """An observer at a place, before the event: its state and its registers."""

    place: int
    state: Expr
    own: tuple[Expr, ...]


@dataclass(frozen=True)
class Move:
    """An observer's next state and registers, and the rule that was taken, where `when` holds.

    `longer` says that its trail goes on, and does not begin again.
    """

    when: Expr
    state: Expr
    own: tuple[Expr, ...]
    rule: Expr
    longer: Expr


@dataclass
class Effects:
    """All that a function does.

    Attributes:
        facts: the registers that it leaves, if it replaces them.
        follows: whether it moves the claim along its lifecycle, always.
        moves: of the observers at each place.
        kept: when the finding at a place of the bundle is kept, with the place of its observer.
        calls: when each method is called, by the text of the call.
        names: the local names at the end.
    """

    facts: tuple[Expr, ...] | None = None
    follows: bool = False
    moves: dict[int, list[Move]] = field(default_factory=dict)
    kept: dict[tuple[int, int], Expr] = field(default_factory=dict)
    calls: dict[str, Expr] = field(default_factory=dict)
    names: dict[str, Value] = field(default_factory=dict)


def effects(
    function: Function,
    values: Mapping[str, Value],
    observers: Sequence[Standing],
    conditions: Mapping[str, Expr],
    calls: frozenset[str],
) -> Effects:
    """What a function does.

    Args:
        values: what arguments and attributes are, by their text.
        observers: what `base` or `watches` holds.
        conditions: tests that have no meaning here but whether they hold, by their text.
        calls: the methods that it may call, by the text of the call.

    Raises:
        Refused: it is outside the subset.
    """
    reader = _Reader(dict(values), observers, conditions, calls)
    reader.run(function.body, z3.BoolVal(True))
    reader.found.names = reader.names
    return reader.found


class _Reader:
    def __init__(
        self,
        values: dict[str, Value],
        observers: Sequence[Standing],
        conditions: Mapping[str, Expr],
        calls: frozenset[str],
    ) -> None:
        self._values, self._observers, self._calls = values, observers, calls
        self._conditions = conditions
        self.names: dict[str, Value] = {n: v for n, v in values.items() if n.isidentifier()}
        self.found = Effects()

    def run(self, body: Sequence[ast.stmt], path: Expr) -> Expr:
        """Run statements under a condition; the condition under which the next one runs."""
        for node in body:
            path = self._statement(node, path)
        return path

    def _statement(self, node: ast.stmt, path: Expr) -> Expr:
        match node:
            case ast.Return(value=None):
                return z3.BoolVal(False)
            case ast.If(test=test, body=then, orelse=otherwise):
                return self._branch(test, then, otherwise, path)
            case ast.Assign(targets=[ast.Subscript() as target], value=ast.Call() as call):
                self._move(target, call, path)
            case ast.Assign(targets=[ast.Attribute() as target], value=value):
                self._replace(target, value, path)
            case ast.Assign(targets=targets, value=value):
                for each in targets:
                    if not isinstance(each, ast.Name):
                        raise refuse(each, f"{ast.unparse(each)} is not a local name")
                    self.names[each.id] = self._bound(value)
            case ast.Expr(value=ast.Call() as call):
                self._call(call, path)
            case _:
                raise refuse(node, f"{type(node).__name__} is not a statement of the subset")
        return path

    def _branch(
        self,
        test: ast.expr,
        then: Sequence[ast.stmt],
        otherwise: Sequence[ast.stmt],
        path: Expr,
    ) -> Expr:
        text = ast.unparse(test)
        known = self._conditions.get(text)
        condition = boolean(test, self.names) if known is None else known
        before, holds = dict(self.names), z3.And(path, condition)
        fails = z3.And(path, z3.Not(condition))
        first = self.run(then, holds)
        after, self.names = self.names, dict(before)
        second = self.run(otherwise, fails)
        # A name that one branch alone binds may not be read afterwards.
        self.names = {
            name: self.names[name]
            if after[name] is self.names[name]
            else merged(test, condition, after[name], self.names[name])
            for name in before
        }
        return path if first is holds and second is fails else z3.Or(first, second)

    def _bound(self, value: ast.expr) -> Value:
        text = ast.unparse(value)
        if text == "e.at":
            return _AT
        if text in self._values:
            return self._values[text]
        observer = self._observer(value)
        if observer is None:
            return value_of(value, self.names)
        if observer.place in self.found.moves:
            raise refuse(value, f"{text} is read again after it moved")
        return Record({"state": observer.state, "own": observer.own, "place": observer.place})

    def _observer(self, node: ast.expr) -> Standing | None:
        match node:
            case ast.Subscript(
                value=ast.Name(id="base" | "watches" as name),
                slice=ast.Constant(value=int() as place),
            ):
                there = self.names.get(name) is OBSERVERS and place in range(len(self._observers))
                if not there:
                    raise refuse(node, f"there is no {ast.unparse(node)}")
                return self._observers[place]
        return None

    def _move(self, target: ast.Subscript, call: ast.Call, path: Expr) -> None:
        observer, watch = self._observer(target), self.names.get("w")
        match call:
            case ast.Call(
                func=ast.Name(id="ObserverState"), args=[to, own, at, rule, trail], keywords=[]
            ) if observer is not None:
                if not isinstance(watch, Record) or watch.fields["place"] != observer.place:
                    raise refuse(target, f"{ast.unparse(target)} is not what was read")
                if not isinstance(at, ast.Name) or self.names.get(at.id) is not _AT:
                    raise refuse(at, "an observer moves at another event")
                leaves = value_of(own, self.names)
                if not isinstance(leaves, tuple) or len(leaves) != len(observer.own):
                    raise refuse(own, f"{ast.unparse(own)} are other registers")
                state, number = value_of(to, self.names), value_of(rule, self.names)
                move = Move(path, state, leaves, number, self._longer(trail))
                self.found.moves.setdefault(observer.place, []).append(move)
            case _:
                raise refuse(call, f"{ast.unparse(call)} is not a state of an observer")

    def _longer(self, trail: ast.expr) -> Expr:
        if isinstance(trail, ast.IfExp):
            test = boolean(trail.test, self.names)
            return z3.If(test, self._longer(trail.body), self._longer(trail.orelse))
        text = ast.unparse(trail)
        if text not in {_SHORT, _LONG}:
            raise refuse(trail, f"{text} is not a trail")
        return z3.BoolVal(text == _LONG)

    def _replace(self, target: ast.Attribute, value: ast.expr, path: Expr) -> None:
        text = ast.unparse(target)
        if not z3.is_true(z3.simplify(path)):
            raise refuse(target, f"{text} is not always replaced")
        if text == "run.facts":
            self.found.facts = value_of(value, self.names)
        elif text == "run.state" and ast.unparse(value) == _FOLLOW:
            self.found.follows = True
        else:
            raise refuse(target, f"{text} may not be replaced")

    def _call(self, call: ast.Call, path: Expr) -> None:
        text = ast.unparse(call)
        match call:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="run"), attr="keep_left"),
                args=[ast.Constant(value=int() as index), ast.Name(id="w")],
                keywords=[],
            ):
                watch = self.names.get("w")
                if not isinstance(watch, Record):
                    raise refuse(call, "no observer was read")
                where = index, watch.fields["place"]
                kept = self.found.kept.get(where, z3.BoolVal(False))
                self.found.kept[where] = z3.Or(kept, path)
            case _ if text in self._calls:
                self.found.calls[text] = z3.Or(self.found.calls.get(text, z3.BoolVal(False)), path)
            case _:
                raise refuse(call, f"{text} may not be called")
