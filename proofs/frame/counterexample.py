"""A model of Z3 as people read it: the state, the event, and what comes out otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import z3

from proofs.frame.results import Change, Counterexample
from proofs.frame.space import CLAIM_FIRST, EVENTS, REQUEST_FIRST, SCOPES, constant

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from proofs.encode import Expr
    from proofs.frame.space import Space

__all__ = ["counterexample"]


def counterexample(
    space: Space, solver: Expr, changes: Mapping[str, tuple[Expr, Expr]]
) -> Counterexample:
    """The plainest way to satisfy what the solver holds, which must be possible.

    Args:
        changes: for each value that may differ, what is expected and what comes out.
    """
    solver.push()
    for value, plain in _values(space):
        solver.push()
        solver.add(value == plain)
        stays = solver.check() == z3.sat
        solver.pop()
        if stays:
            solver.add(value == plain)
    solver.check()
    model = solver.model()
    solver.pop()

    def known(value: Expr) -> Expr:
        return model.eval(value, True)

    def shown(name: str, value: Expr) -> str:
        found = known(value)
        if name in _STATES and space.observer is not None:
            return space.observer.states[found.as_long()].name
        return str(found).lower() if z3.is_bool(found) else str(found)

    kind = EVENTS[known(space.event["kind"]).as_long()]
    event = {name: shown(name, value) for name, value in _odd(known, _plain_event(space))}
    state = {name: shown(name, value) for name, value in _odd(known, _plain_state(space))}
    standing = _standing(space)
    state |= {name: shown(name, v) for name, v in standing.items() if name in _STATES}
    differ = [
        Change(what, shown(what, expected), shown(what, found))
        for what, (expected, found) in changes.items()
        if str(known(expected)) != str(known(found))
    ]
    return Counterexample(state=state, event={"kind": str(kind), **event}, changes=differ)


_STATES = tuple(f"{scope}.state" for scope in SCOPES)


def _standing(space: Space) -> dict[str, Expr]:
    return {
        f"{scope}.{name}": value
        for scope, standing in zip(SCOPES, (space.claim, space.request), strict=True)
        for name, value in standing.items()
    }


def _plain_event(space: Space) -> Iterator[tuple[str, Expr, Expr]]:
    for name, value in space.event.items():
        if name != "kind":
            yield name, value, constant(False if z3.is_bool(value) else 0)


def _plain_state(space: Space) -> Iterator[tuple[str, Expr, Expr]]:
    for name, value in space.constants.items():
        yield f"c.{name}", value, constant(False if z3.is_bool(value) else 1)
    for name, first in CLAIM_FIRST.items():
        yield f"was.{name}", space.was[name], constant(first)
    for name, first in REQUEST_FIRST.items():
        yield f"req_was.{name}", space.req_was[name], constant(first)
    for name, value in _standing(space).items():
        plain = space.first[name.partition(".")[2]]
        yield name, value, plain


def _values(space: Space) -> list[tuple[Expr, Expr]]:
    """Every variable with its plain value: first those that are best left plain."""
    state, event = list(_plain_state(space)), list(_plain_event(space))
    return [(value, plain) for _, value, plain in (*event, *state)]


def _odd(known: object, values: Iterator[tuple[str, Expr, Expr]]) -> Iterator[tuple[str, Expr]]:
    for name, value, plain in values:
        if name not in _STATES and str(known(value)) != str(plain):  # type: ignore[operator]
            yield name, value
