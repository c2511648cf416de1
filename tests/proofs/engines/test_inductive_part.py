"""Tests of Houdini: the inductive part is the largest subset that no event breaks."""

from itertools import product

import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.engines.inductive_part import inductive_part

BITS = 3
STATES = list(product([False, True], repeat=BITS))

state = st.sampled_from(STATES)
moves = st.lists(st.tuples(state, state), max_size=12)
candidates = st.lists(st.sets(state), max_size=6)


def largest(moves: list[tuple[object, object]], given: list[set[tuple[bool, ...]]]) -> list[int]:
    """By its definition, one candidate at a time."""
    left = list(range(len(given)))
    while True:
        before = [one for one in moves if all(one[0] in given[n] for n in left)]
        stay = [n for n in left if all(then in given[n] for _, then in before)]
        if stay == left:
            return left
        left = stay


@settings(max_examples=150)
@given(moves, candidates)
def test_largest(
    moves: list[tuple[tuple[bool, ...], tuple[bool, ...]]], candidates: list[set[tuple[bool, ...]]]
) -> None:
    """It is that of the definition, for any moves between eight states and any candidates."""
    was, then = ([z3.Bool(f"{name}{n}") for n in range(BITS)] for name in ("was", "then"))

    def at(names: list[z3.BoolRef], state: tuple[bool, ...]) -> z3.BoolRef:
        return z3.And([name == bit for name, bit in zip(names, state, strict=True)])

    solver = z3.Solver()
    solver.add(z3.Or([z3.And(at(was, one), at(then, other)) for one, other in moves]))
    now, after = ([z3.Or([at(n, s) for s in c]) for c in candidates] for n in (was, then))
    assert largest(list(moves), candidates) == inductive_part(solver, now, after)


def test_undecided() -> None:
    """Where the solver does not decide, there is no part."""
    x, y, z, after = z3.Ints("x y z after")
    solver = z3.Solver()
    solver.set("rlimit", 1)
    solver.add(x > 2, y > 2, z > 2, after == x * x * x + y * y * y)
    assert inductive_part(solver, [x > 0], [after != z * z * z]) is None
