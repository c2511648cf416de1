"""A judge that is reduced to what matters to a claim comes to the same for that claim."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.framework.explore import walk
from models.framework.reduction import read, reduce
from models.framework.shims import Shim, claim_of, events_of
from models.runtimes.vllm_pool import Prompt, VllmPool
from spec.claims.states import Mode
from spec.contract.ledgers import CLAIM_FACTS
from spec.contract.modes import Bundle
from spec.stream.breaks import Line
from spec.stream.generate import AT
from spec.stream.judge import Judge
from spec.stream.value import freeze, thaw

POOL = VllmPool(
    5,
    (Prompt("r1", "a", 2, 1), Prompt("r2", "b", 2, 1), Prompt("r3", "a", 1, 2)),
    {"a": 2, "b": 2},
)
ONE = claim_of("a")


def found(judge: Judge) -> Any:
    """What the claim came to."""
    claim = judge.claims.get(ONE)
    if claim is None:
        return None
    return claim.state, claim.final, {n: each.verdict for n, each in claim.findings().items()}


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32), mode=st.sampled_from(Mode))
def test_a_claim_comes_to_the_same(seed: int, mode: Mode) -> None:
    """Reduced after every event, frozen and thawed, or not: the verdicts are the same."""
    shim, whole, other = Shim(mode, frozenset({"keep"})), Judge(mode), Judge(mode)
    for step in walk(POOL, seed, 25):
        for event in events_of(shim, step.emits):
            whole.take(Line(1, (event,)))
            other.take(Line(1, (event,)))
            reduce(other, {ONE})
            assert found(whole) == found(other)
            thaw(other, freeze(other))


@pytest.mark.parametrize("mode", Mode)
def test_counts_that_no_rule_reads(mode: Mode) -> None:
    """Counts of losses and of failed loads decide nothing, so no search keeps them."""
    assert {"losses", "failures"} <= {register.name for register in CLAIM_FACTS.registers}
    assert {"losses", "failures"}.isdisjoint(read(mode, Bundle.CONTRACT))


def test_what_is_forgotten() -> None:
    """Of the claim its counts are forgotten, of another one where its observers stand."""
    mode = Mode.HARD_PROTECTED
    shim, judge = Shim(mode, frozenset({"keep"})), Judge(mode)
    for step in walk(POOL, 1, 25):
        for event in events_of(shim, step.emits):
            judge.take(Line(1, (event,)))
    assert {ONE, claim_of("b")} <= set(judge.claims)
    judge.claims[ONE].facts[AT["failures"]] = 7
    reduce(judge, {ONE})
    assert judge.claims[ONE].facts[AT["failures"]] == 0
    assert {*judge.claims[claim_of("b")].own.stands} == {None}
    assert None not in judge.claims[ONE].own.stands
