"""The product follows an observer exactly as the reference projection does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.framework.explore import simulate
from models.framework.shims import Shim, claim_of
from models.runtimes.vllm_pool import Policy, Prompt, VllmPool
from proofs.product.graph import Graph
from proofs.product.observed import FIRST, Observed
from proofs.product.runs import Run
from spec.claims.claim import Mode
from spec.contract.modes import MODES, Bundle
from spec.language.errors import SpecError
from spec.projection.lines import line_of
from spec.projection.outcome import judge

PROMPTS = (Prompt("r1", "a", 2, 1), Prompt("r2", "b", 2, 1), Prompt("r3", "a", 1, 2))
OBLIGATIONS = [(mode, name) for mode in Mode for name in MODES[mode].names(Bundle.CONTRACT)]


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    blocks=st.integers(3, 6),
    policy=st.sampled_from(Policy),
    which=st.sampled_from(OBLIGATIONS),
)
def test_verdicts_are_those_of_the_reference(
    seed: int, blocks: int, policy: Policy, which: tuple[Mode, str]
) -> None:
    """After every step of a random run, frozen and thawed, both say the same."""
    mode, obligation = which
    model = VllmPool(blocks, PROMPTS, {"a": 2, "b": 2}, policy)
    shim = Shim(mode, frozenset({"keep"}))
    observed = Observed(Graph(model), shim, mode, obligation, "a")
    configuration, steps = FIRST, []
    for step in simulate(model, seed, 40):
        configuration, _ = observed.after(configuration, step.emits)
        steps.append((step.action, step.emits))
        lines = [line_of(e, n) for n, e in enumerate(Run(None, tuple(steps)).events(shim), 1)]
        claims = judge(lines, mode).claims
        if claim_of("a") in claims:
            expected = claims[claim_of("a")].findings[obligation].verdict
            assert expected == observed.verdicts[configuration], [str(a) for a, _ in steps]


def test_what_no_observer_reads_makes_no_difference() -> None:
    """A search for one obligation meets fewer configurations than one that reads the pool."""
    model = VllmPool(6, PROMPTS, {"a": 2, "b": 2})
    sizes = {}
    for name in ("ordered_lifecycle_events", "blocking_claim_ids"):
        observed = Observed(
            Graph(model),
            Shim(Mode.HARD_PROTECTED, frozenset({"keep"})),
            Mode.HARD_PROTECTED,
            name,
            "a",
        )
        for seed in range(60):
            configuration = FIRST
            for step in simulate(model, seed, 40):
                configuration, _ = observed.after(configuration, step.emits)
        sizes[name] = len(observed)
    assert sizes["ordered_lifecycle_events"] < sizes["blocking_claim_ids"] / 2


def test_a_claim_that_is_not_followed_is_refused() -> None:
    """An event that names a claim of no holder of the model is an error that names it."""
    mode, shim = Mode.DEMOTABLE, Shim(Mode.DEMOTABLE, frozenset({"keep"}))
    observed = Observed(Graph(VllmPool()), shim, mode, "claim_identity", "a", whole=True)
    strange = VllmPool(objects={"z": 1})
    (state,) = strange.initial()
    keep = next(action for action in strange.actions(state) if action.name == "keep")
    with pytest.raises(SpecError, match="claim:z"):
        observed.after(FIRST, strange.apply(state, keep).emits)
