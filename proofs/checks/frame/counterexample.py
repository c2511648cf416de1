"""Reads a Z3 model as a counterexample: state, event, and expected against actual values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, Protocol

import z3

from proofs.checks.frame.results import Change, Counterexample

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from proofs.logic.encode import Expr

__all__ = ["Setting", "Unknown", "counterexample"]

_SMALL: Final = (0, 1, 2, 3, -1)


@dataclass(frozen=True)
class Unknown:
    """A variable of a question, with its value before any event, or the default of an event field.

    `names` are the names of its values, if they are states or kinds; these are always shown, others
    only if they differ from the default.
    """

    name: str
    value: Expr
    plain: Expr
    of_event: bool = False
    names: Sequence[str] = ()


class Setting(Protocol):
    """The context of questions: what is given, and the unknown variables."""

    @property
    def given(self) -> Sequence[Expr]:
        """Formulas that hold of every state and event."""

    @property
    def kind(self) -> Expr:
        """The kind of the event, as a number."""
        ...

    def unknowns(self) -> Sequence[Unknown]:
        """The variables that a counterexample shows."""


def counterexample(
    setting: Setting, solver: Expr, changes: Mapping[str, tuple[Expr, Expr]]
) -> Counterexample:
    """Find a simplest model of the assertions of the solver, which must be satisfiable.

    Args:
        changes: for each value that may differ, the expected and the actual one.
    """
    unknowns = setting.unknowns()
    solver.push()
    solver.check()
    model = solver.model()
    for unknown in sorted(unknowns, key=lambda each: not each.of_event):
        small = () if z3.is_bool(unknown.value) or unknown.names else _small()
        for simple in (unknown.plain, *small):
            wanted = unknown.value == simple
            if not z3.is_true(model.eval(wanted, True)):  # else the model shows that it may be
                solver.push()
                solver.add(wanted)
                possible = solver.check() == z3.sat
                model = solver.model() if possible else model
                solver.pop()
                if not possible:
                    continue
            solver.add(wanted)
            break
    solver.pop()
    names = {unknown.name: unknown.names for unknown in unknowns}

    def shown(name: str, value: Expr) -> str:
        found, words = model.eval(value, True), names.get(name)
        if words and 0 <= found.as_long() < len(words):
            return str(words[found.as_long()])
        if z3.is_bool(found):
            return "true" if z3.is_true(found) else "false"
        return str(found.as_long())

    state, event = dict[str, str](), dict[str, str]()
    for unknown in unknowns:
        if unknown.names or shown("", unknown.value) != shown("", unknown.plain):
            where = event if unknown.of_event else state
            where[unknown.name] = shown(unknown.name, unknown.value)
    differ = [
        Change(what, shown(what, expected), shown(what, found))
        for what, (expected, found) in changes.items()
        if shown("", expected) != shown("", found)
    ]
    return Counterexample(state=state, event=event, changes=differ)


@cache
def _small() -> list[Expr]:
    return [z3.IntVal(number) for number in _SMALL]
