"""Reads a Z3 model as a counterexample: the state, the event, and expected against actual values."""

from __future__ import annotations

from dataclasses import dataclass
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
    """A variable of a question: its value before any event, or the plain one of an event's field.

    `names` are the words for its values where it tells states or kinds apart; such are shown
    always, others where they are not plain.
    """

    name: str
    value: Expr
    plain: Expr
    of_event: bool = False
    names: Sequence[str] = ()


class Setting(Protocol):
    """What questions are about: what holds anyway, and everything that may be any way."""

    @property
    def given(self) -> Sequence[Expr]: ...

    @property
    def kind(self) -> Expr:
        """The kind of the event, as a number."""
        ...

    def unknowns(self) -> Sequence[Unknown]: ...


def counterexample(
    setting: Setting, solver: Expr, changes: Mapping[str, tuple[Expr, Expr]]
) -> Counterexample:
    """The plainest way to satisfy what the solver holds, which must be possible.

    Args:
        changes: for each value that may differ, what is expected and what comes out.
    """
    unknowns = setting.unknowns()
    solver.push()
    for unknown in sorted(unknowns, key=lambda each: not each.of_event):
        small = () if z3.is_bool(unknown.value) or unknown.names else map(z3.IntVal, _SMALL)
        for simple in (unknown.plain, *small):
            solver.push()
            solver.add(unknown.value == simple)
            possible = solver.check() == z3.sat
            solver.pop()
            if possible:
                solver.add(unknown.value == simple)
                break
    solver.check()
    model = solver.model()
    solver.pop()
    names = {unknown.name: unknown.names for unknown in unknowns}

    def shown(name: str, value: Expr) -> str:
        found, words = model.eval(value, True), names.get(name)
        if words and 0 <= found.as_long() < len(words):
            return str(words[found.as_long()])
        return str(found).lower() if z3.is_bool(found) else str(found)

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
