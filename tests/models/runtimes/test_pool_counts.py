"""The block pools do by blocks what the model by counts does, and what Z3 proves for all sizes."""

from __future__ import annotations

from itertools import product
from typing import Any

import msgspec
import pytest

from models.framework.explore import reach
from models.framework.model import Model
from models.runtimes.pool_counts import CACHED, EXCLUSION, NATIVE, PLAIN, PoolCounts, Relation
from models.sweep import sweep
from proofs.product.capacity import THEOREMS, prove
from spec.language.terms import Const


def ends(model: Model[Any]) -> list[Any]:
    """The states in which a run of a model ends."""
    todo = list(model.initial())
    for state in todo:
        todo += [model.apply(state, action).state for action in model.actions(state)]
    return [state for state in todo if not list(model.actions(state))]


SIZES = [
    (resident, active, usable)
    for resident, active, usable in product(range(1, 7), repeat=3)
    if max(resident, active) <= usable
]


def test_blocks_and_counts_agree() -> None:
    """At every size up to 6 the block pools lose, serve and refuse as the counts say."""
    assert 91 == len(SIZES)
    for resident, active, usable in SIZES:
        (row,) = sweep(resident, active, [usable])
        (native,) = ends(PoolCounts(resident, active, usable))
        (held,) = ends(PoolCounts(resident, active, usable, EXCLUSION))
        assert ("served", native.lost) == (row.native.outcome, row.native.lost)
        assert row.native == row.no_admit
        assert ("refused" if held.refused else "served") == row.exclusion.outcome
        assert 0 == held.lost == row.exclusion.lost


def test_the_paper_s_sweep() -> None:
    """60 and 70 blocks in pools of 80 to 150: 50 blocks lost at 80, none from 130 on."""
    rows = sweep(60, 70, range(80, 151, 10))
    assert [50, 40, 30, 20, 10, 0, 0, 0] == [row.native.lost for row in rows]
    assert ["refused"] * 5 + ["served"] * 3 == [row.exclusion.outcome for row in rows]


@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda each: each.name)
def test_proved(theorem: Any) -> None:
    """Z3 answers every question of both theorems."""
    found = prove(theorem)
    assert "proved" == found.result
    assert {"yes"} == set(found.questions.values())


def changed(action: str, **sets: Any) -> Relation:
    """The native relation with another effect of an action."""
    guard, before = NATIVE.actions[action]
    return Relation({**NATIVE.actions, action: (guard, {**before, **sets})})


_TAKE, _EVICT = NATIVE.actions["take"], NATIVE.actions["evict"]
_WANTS = _EVICT[0].args[0]
CACHED_FIRST = Relation(
    {
        "evict": (_WANTS & (Const(0) < CACHED), _EVICT[1]),
        "take": (_TAKE[0] & CACHED.eq(0), _TAKE[1]),
    }
)


@pytest.mark.parametrize(
    "relation",
    [CACHED_FIRST, changed("evict", lost=Const(0)), changed("take", plain=PLAIN)],
    ids=["cached first", "a loss that is not counted", "blocks from nowhere"],
)
def test_planted_changes_are_refuted(relation: Relation) -> None:
    """Another order of eviction, and counts that are wrong, refute the theorem at small sizes."""
    found = prove(msgspec.structs.replace(THEOREMS[0], relation=relation))
    assert "refuted" == found.result
    assert found.at


def test_exclusion_that_yields_is_refuted() -> None:
    """Exclusion that admits beyond the boundary is refuted."""
    guard, sets = NATIVE.actions["take"]
    yields = Relation({**EXCLUSION.actions, "take": (guard, sets)})
    assert "refuted" == prove(msgspec.structs.replace(THEOREMS[1], relation=yields)).result


def test_sizes() -> None:
    """The default instances have so many states: one for each block that is taken."""
    assert (71, 70) == (reach(PoolCounts()).states, reach(PoolCounts()).transitions)
    held = reach(PoolCounts(relation=EXCLUSION))
    assert (2, 1, ()) == (held.states, held.transitions, held.broken)
