"""Proves for all sizes what a pool does at the boundary of capacity.

The transition relations are those that `models.runtimes.pool_counts` runs. For each an inductive
invariant is stated here and checked by Z3: it holds at first, each action keeps it, and where no
action is left it implies the theorem. Each action also makes a rank smaller, so every run ends.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

import msgspec
import z3

from models.runtimes import pool_counts as counts
from models.runtimes.pool_counts import (
    ACTIVE,
    CACHED,
    EXCLUSION,
    LOST,
    NATIVE,
    PLAIN,
    REFUSED,
    RESIDENT,
    SIZES,
    TAKEN,
    USABLE,
)
from proofs.logic.encode import Integers, encode
from spec.cli.common import Code
from spec.language.terms import Const, Term, conj, disj

if TYPE_CHECKING:
    from collections.abc import Mapping

    from models.runtimes.pool_counts import Relation
    from proofs.logic.encode import Expr

__all__ = ["SCHEMA", "THEOREMS", "Proved", "Theorem", "exit_code", "prove"]

SCHEMA: Final = "resident-claims/capacity/1"
RLIMIT: Final = 10_000_000

_SMALL: Final = 5
"""Blocks of the largest pool that is tried where a theorem is not proved."""

_YES: Final = "yes"
_STATE: Final = ("plain", "cached", "taken", "lost", "refused")
_ZERO: Final = Const(0)
_OVER: Final = RESIDENT + ACTIVE - USABLE
_SUM: Final = (PLAIN + CACHED + TAKEN).eq(USABLE)
_COUNTS: Final = conj(_ZERO <= PLAIN, _ZERO <= CACHED, _ZERO <= TAKEN, TAKEN <= ACTIVE)


class Theorem(msgspec.Struct, frozen=True):
    """What is proved of a relation: at the end of every run, for all sizes."""

    name: str
    says: str
    relation: Relation
    invariant: Term
    holds: Term


class Proved(msgspec.Struct, frozen=True):
    """A theorem with its result, and the answer to each question: yes, no or unknown.

    It is proved if every answer is yes. Otherwise small sizes are tried one by one: it is refuted
    if a run of one of them ends otherwise, `at` these sizes, and unknown if none does.
    """

    name: str
    says: str
    result: str
    questions: dict[str, str]
    at: dict[str, int] = {}


def _least(one: Term, other: Term) -> Term:
    return (one <= other).ite(one, other)


def _most(one: Term, other: Term) -> Term:
    return (one <= other).ite(other, one)


THEOREMS: Final = (
    Theorem(
        "native",
        "the request is served, and the prefix loses min(resident, max(0, resident + active - "
        "usable)) blocks",
        NATIVE,
        conj(
            _COUNTS,
            _SUM,
            REFUSED.eq(0),
            LOST.eq(RESIDENT - CACHED),
            _ZERO <= LOST,
            disj(LOST.eq(0), PLAIN.eq(0)),
        ),
        conj(TAKEN.eq(ACTIVE), LOST.eq(_least(RESIDENT, _most(_ZERO, _OVER)))),
    ),
    Theorem(
        "exclusion",
        "the request is refused, before it takes a block, exactly if resident + active > usable, "
        "and served otherwise; the prefix loses nothing",
        EXCLUSION,
        conj(
            _COUNTS,
            _SUM,
            CACHED.eq(RESIDENT),
            LOST.eq(0),
            disj(REFUSED.eq(0), conj(REFUSED.eq(1), TAKEN.eq(0), USABLE < ACTIVE + RESIDENT)),
            disj(TAKEN.eq(0), ACTIVE + RESIDENT <= USABLE),
        ),
        conj(
            LOST.eq(0),
            disj(
                conj(REFUSED.eq(1), TAKEN.eq(0), USABLE < ACTIVE + RESIDENT),
                conj(REFUSED.eq(0), TAKEN.eq(ACTIVE), ACTIVE + RESIDENT <= USABLE),
            ),
        ),
    ),
)
"""Both need that prefix and request fit into the pool by themselves."""

_RANK: Final = ACTIVE - TAKEN + 1 - REFUSED


def prove(theorem: Theorem) -> Proved:
    """Check a theorem from scratch, in bounded work."""
    values = {name: z3.Int(name) for name in ("resident", "active", "usable", *_STATE)}
    start = counts.initial(values["resident"], values["usable"])
    first = {**values, **{n: _expr(v) for n, v in start._asdict().items()}}
    relation = theorem.relation.actions

    def at(term: Term, where: Mapping[str, Expr]) -> Expr:
        return encode(term, lambda _, name: where[name], {}, Integers())

    def after(sets: Mapping[str, Term]) -> dict[str, Expr]:
        return {**values, **{name: at(term, values) for name, term in sets.items()}}

    sizes, invariant = at(SIZES, values), at(theorem.invariant, values)
    stuck = z3.And([z3.Not(at(guard, values)) for guard, _ in relation.values()])
    questions = {"at first": z3.Not(at(theorem.invariant, first))}
    for name, (guard, sets) in relation.items():
        then = after(sets)
        step = z3.And(invariant, at(guard, values))
        questions[f"after {name}"] = z3.And(step, z3.Not(at(theorem.invariant, then)))
        ends = z3.And(at(_RANK, then) < at(_RANK, values), at(_RANK, values) > 0)
        questions[f"{name} ends"] = z3.And(step, z3.Not(ends))
    questions["at the end"] = z3.And(invariant, stuck, z3.Not(at(theorem.holds, values)))
    answers = {name: _ask(sizes, question) for name, question in questions.items()}
    at_sizes = {} if set(answers.values()) == {_YES} else _try_small(theorem)
    result = "refuted" if at_sizes else "proved" if set(answers.values()) == {_YES} else "unknown"
    return Proved(theorem.name, theorem.says, result, answers, at_sizes)


def _try_small(theorem: Theorem) -> dict[str, int]:
    """The smallest sizes, up to _SMALL, at which a run ends otherwise; empty if there are none."""
    for usable, resident, active in product(range(1, _SMALL + 1), repeat=3):
        if max(resident, active) > usable:
            continue
        model = counts.PoolCounts(resident, active, usable, theorem.relation)
        todo = list(model.initial())
        for state in todo:
            actions = list(model.actions(state))
            todo += [model.apply(state, action).state for action in actions]
            if not (actions or model.value(state, theorem.holds)):
                return model.sizes
    return {}


def _expr(value: Expr | int) -> Expr:
    return z3.IntVal(value) if isinstance(value, int) else value


def _ask(sizes: Expr, question: Expr) -> str:
    """Whether a question has no answer at any size."""
    solver = z3.Solver()
    solver.set("rlimit", RLIMIT)
    solver.add(sizes, question)
    answer = solver.check()
    return _YES if answer == z3.unsat else "no" if answer == z3.sat else "unknown"


def exit_code(found: list[Proved]) -> Code:
    """0 where all is proved, 1 where something is refuted, 3 where something is unknown."""
    results = {each.result for each in found}
    if "refuted" in results:
        return Code.VIOLATED
    return Code.OK if results == {"proved"} else Code.INCONCLUSIVE
