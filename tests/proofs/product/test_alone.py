"""A claim is followed by itself only where nothing else can matter to it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.framework.explore import simulate
from models.framework.model import CACHE
from models.framework.shims import PLAIN, Shim, claim_of
from models.registry import runtime
from proofs.product.graph import Graph
from proofs.product.observed import FIRST, Observed
from proofs.product.runs import Run
from spec.claims.claim import Mode
from spec.contract.modes import MODES, Bundle
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.language.verdicts import Verdict
from spec.projection.alone import Alone, Shared
from spec.projection.lines import line_of
from spec.projection.outcome import judge
from spec.projection.stepper import Followed, Stepper

RF = "restoration_failure_outcome"
TWO = Followed(Mode.OFFLOADABLE, "claim:a", [RF], ["claim:a", "claim:b"], ["r"])


def _accepted(name: str) -> list[Event]:
    about: dict[str, Any] = {
        "object_id": name,
        "cache_identity": CACHE,
        "predicate": "leading_prefix_at_least(1)",
    }
    given: dict[str, Any] = {"claim_id": claim_of(name), "footprint": 1, "mode": "offloadable"}
    kinds = (Kind.CLAIM_REGISTERED, Kind.CLAIM_COMMITTED, Kind.CLAIM_ACCEPTED)
    copy = Event(kind=Kind.HOST_COPY_FOUND, object_id=name, cache_identity=CACHE)
    return [*(Event(kind=kind, **about, **given) for kind in kinds), copy]


def _refused_for_both() -> list[Event]:
    """Two loads fail for one request, and its refusal names both claims."""
    failed = [
        Event(kind=Kind.LOAD_FAILED, request_id="r", object_id=name, cache_identity=CACHE)
        for name in "ab"
    ]
    refused: dict[str, Any] = {"blocking_claim_ids": ("claim:a", "claim:b"), "restore": True}
    return [
        *_accepted("a"),
        *_accepted("b"),
        Event(kind=Kind.REQUEST_ARRIVED, request_id="r", needed=0, usable=9),
        *failed,
        Event(kind=Kind.REQUEST_REFUSED, request_id="r", **refused),
    ]


def test_a_refusal_for_two_claims() -> None:
    """Whoever does not follow the other claim cannot say that it was accused falsely."""
    whole, alone = Stepper(TWO), Alone(TWO, "a")
    *before, refused = _refused_for_both()
    for event in before:
        whole.take(event)
        alone.take(event)
    whole.take(refused)
    assert whole.verdicts()[RF] is Verdict.SATISFIED
    with pytest.raises(Shared):
        alone.take(refused)


MODELS = [
    ("vllm_offload", "fail", Mode.OFFLOADABLE),
    ("vllm_offload", "two_blocks", Mode.OFFLOADABLE),
    ("vllm_offload_patched", "lag", Mode.OFFLOADABLE),
    ("vllm_offload_patched", "another", Mode.OFFLOADABLE),
    ("lmcache", "pins", Mode.HARD_PROTECTED),
    ("lmcache", "two_objects", Mode.DEMOTABLE),
    ("lmcache", "retrieve", Mode.OFFLOADABLE),
    ("kv_lease", "heartbeats", Mode.OFFLOADABLE),
]


def _shim(name: str, mode: Mode) -> Shim:
    shims = [each.shim for each in runtime(name).inferences if each.mode is mode]
    return shims[-1] if shims else PLAIN


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), which=st.sampled_from(MODELS), data=st.data())
def test_verdicts_are_those_of_the_reference(
    seed: int, which: tuple[str, str, Mode], data: st.DataObject
) -> None:
    """After every step of a random run the product says what the reference says, or that it cannot
    follow the claim by itself.
    """
    name, variant, mode = which
    model, shim = runtime(name).variants[variant](), _shim(name, mode)
    obligation = data.draw(st.sampled_from(MODES[mode].names(Bundle.CONTRACT)))
    tracked = model.holders[0]
    observed = Observed(Graph(model), shim, mode, obligation, tracked)
    configuration, steps = FIRST, []
    for step in simulate(model, seed, 30):
        try:
            configuration, _ = observed.after(configuration, step.emits)
        except Shared:
            return
        steps.append((step.action, step.emits))
        lines = [line_of(e, n) for n, e in enumerate(Run(None, tuple(steps)).events(shim), 1)]
        claims = judge(lines, mode).claims
        if claim_of(tracked) in claims:
            expected = claims[claim_of(tracked)].findings[obligation].verdict
            assert expected == observed.verdicts[configuration], [str(a) for a, _ in steps]
