"""Checks that the most general runtime is general: only the stated orders bind its numbers.

The assumptions on a faithful event (`proofs.model.environment.faithful`) are read by no second
source. One that says too much, as that a request needs no more than there is, would make the
theorem silent about the runs that it excludes.
"""

from __future__ import annotations

from graphlib import TopologicalSorter
from itertools import combinations, pairwise, permutations
from typing import TYPE_CHECKING, Final

import z3

from proofs.engines.bounded.unrolling import reach

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from proofs.checks.statement.reading import Questions, Reading
    from proofs.logic.encode import Expr

__all__ = ["ORDERS", "UndecidedError", "free"]

RLIMIT: Final = 40_000_000
"""Work for one question."""

ORDERS: Final = (
    ("e.rest_since_arrival", "was.rest"),
    ("e.blamed_rest", "was.rest"),
    ("e.shared", "was.rest"),
    ("e.shared", "was.footprint"),
    ("e.shared_unblamed", "e.shared"),
)
"""Numbers of which the first is at most the second, on every event."""

SIZES: Final = (0, 1, 1_000)


class UndecidedError(Exception):
    """The solver did not decide within its work limit whether an event is possible."""


def free(reading: Reading) -> Questions:
    """On some event each number has each of `SIZES`; each kind is possible with all numbers in two
    orders, opposite but for `ORDERS`; and each two that these put in one order only are in the
    other on some event, but for `ORDERS`.
    """
    numbers = _numbers(reading)
    solver = z3.SolverFor("QF_LIA")
    solver.set("rlimit", RLIMIT)
    solver.add(reading.step.possible, *(value >= 0 for value in numbers.values()))
    orders, chains = _orders(), [*_opposite(numbers)]
    shown = {pair for chain in chains for pair in combinations(chain, 2)}
    goals = {f"{n} is {size}": numbers[n] == size for n in numbers for size in SIZES}
    goals |= {
        f"{one} is less than {other}": numbers[one] < numbers[other]
        for one, other in permutations(numbers, 2)
        if (other, one) not in orders and (one, other) not in shown
    }
    found, answer = reach(solver, goals)
    _decided(answer)
    yield z3.BoolVal(found != {*goals})
    for one, other in orders:
        yield z3.And(reading.step.possible, numbers[other] < numbers[one])
    for is_kind in reading.kinds.values():
        for chain in chains:
            less = [numbers[one] < numbers[other] for one, other in pairwise(chain)]
            answer = solver.check(is_kind, *less)
            _decided(answer)
            yield z3.BoolVal(bool(answer == z3.unsat))


def _decided(answer: Expr) -> None:
    if answer == z3.unknown:
        raise UndecidedError


def _numbers(reading: Reading) -> dict[str, Expr]:
    """The numbers of an event, and the registers of facts, declarations and beliefs before it."""
    own = {f"e.{name}": value for name, value in reading.event.items() if name != "kind"}
    own |= {n: v for n, v in reading.state.items() if not n.startswith(("state.", "own."))}
    return {name: value for name, value in own.items() if not z3.is_bool(value)}


def _orders() -> set[tuple[str, str]]:
    """`ORDERS`, and what follows from them."""
    found = set(ORDERS)
    while more := {(a, d) for a, b in found for c, d in found if b == c} - found:
        found |= more
    return found


def _opposite(names: Iterable[str]) -> Iterator[list[str]]:
    """Two orders of all numbers: those that `ORDERS` does not name come before the others, and
    then behind them the other way round.
    """
    sorter = TopologicalSorter[str]()
    for one, other in ORDERS:
        sorter.add(other, one)
    bound = [*sorter.static_order()]
    others = sorted(name for name in names if name not in bound)
    yield [*others, *bound]
    yield [*bound, *reversed(others)]
