"""The product follows a claim exactly as the judge of a stream does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.framework.explore import walk
from models.framework.model import Model
from models.framework.shims import PLAIN, Shim, claim_of
from models.framework.stepper import FIRST, Stepper
from models.registry import runtime
from models.runtimes.vllm_pool import Policy, Prompt, VllmPool
from proofs.product.graph import Run
from spec.claims.states import Mode
from spec.language.errors import SpecError
from tests.proofs.judging import judged

PROMPTS = (Prompt("r1", "a", 2, 1), Prompt("r2", "b", 2, 1), Prompt("r3", "a", 1, 2))
RUNTIMES = [
    ("vllm_offload", "fail", Mode.OFFLOADABLE),
    ("vllm_offload", "two_blocks", Mode.OFFLOADABLE),
    ("vllm_offload_patched", "lag", Mode.OFFLOADABLE),
    ("vllm_offload_patched", "another", Mode.OFFLOADABLE),
    ("lmcache", "pins", Mode.HARD_PROTECTED),
    ("lmcache", "two_objects", Mode.DEMOTABLE),
    ("lmcache", "retrieve", Mode.OFFLOADABLE),
    ("kv_lease", "heartbeats", Mode.OFFLOADABLE),
]


def follow(model: Model[Any], shim: Shim, mode: Mode, seed: int, length: int) -> None:
    """After every step of a random run, frozen and thawed, the product says what the judge says of
    the whole stream.
    """
    tracked = model.holders[0]
    judge = Stepper(model, shim, mode, tracked)
    configuration, steps = FIRST, []
    for step in walk(model, seed, length):
        configuration = judge.path(configuration, step.emits)[-1]
        steps.append((step.action, step.emits))
        claim = judged(Run(None, tuple(steps)).events(shim), mode).claims.get(claim_of(tracked))
        for place, name in enumerate(judge.obligations if claim is not None else ()):
            expected = claim.findings()[name].verdict  # type: ignore[union-attr]
            found = judge.verdict(configuration, place)
            assert expected == found, (name, [str(action) for action, _ in steps])


@pytest.mark.slow
@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32),
    blocks=st.integers(3, 6),
    policy=st.sampled_from(Policy),
    mode=st.sampled_from(Mode),
)
def test_verdicts_are_those_of_the_judge(
    seed: int, blocks: int, policy: Policy, mode: Mode
) -> None:
    """In each mode, of a pool."""
    model = VllmPool(blocks, PROMPTS, {"a": 2, "b": 2}, policy)
    follow(model, Shim(mode, frozenset({"keep"})), mode, seed, 40)


@pytest.mark.slow
@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), which=st.sampled_from(RUNTIMES))
def test_of_runtimes(seed: int, which: tuple[str, str, Mode]) -> None:
    """Of models with tiers and with several claims."""
    name, variant, mode = which
    shims = [each.shim for each in runtime(name).inferences if each.mode is mode]
    follow(runtime(name).variants[variant](), shims[-1] if shims else PLAIN, mode, seed, 30)


def test_other_claims_are_followed_for_their_blocks() -> None:
    """What other claims came to makes no difference: there are fewer configurations."""
    model, mode = VllmPool(6, PROMPTS, {"a": 2, "b": 2}), Mode.HARD_PROTECTED
    shim, sizes = Shim(mode, frozenset({"keep"})), []
    for tracked in ("a", "nobody"):
        judge = Stepper(model, shim, mode, tracked)
        for seed in range(60):
            configuration = FIRST
            for step in walk(model, seed, 40):
                configuration = judge.path(configuration, step.emits)[-1]
        sizes.append(len(judge))
    assert sizes[1] < sizes[0]


def test_a_claim_that_is_not_followed_is_refused() -> None:
    """An event that names a claim of no holder of the model is an error that names it."""
    mode, shim = Mode.DEMOTABLE, Shim(Mode.DEMOTABLE, frozenset({"keep"}))
    judge = Stepper(VllmPool(), shim, mode, "a")
    strange = VllmPool(objects={"z": 1})
    (state,) = strange.initial()
    keep = next(action for action in strange.actions(state) if action.name == "keep")
    with pytest.raises(SpecError, match="claim:z"):
        judge.path(FIRST, strange.apply(state, keep).emits)
