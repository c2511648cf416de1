"""Stepped part by part, the projection comes to exactly what it comes to as a whole."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.framework.explore import simulate
from models.framework.model import CACHE
from models.framework.shims import PLAIN, Shim, claim_of
from models.registry import runtime
from models.runtimes.vllm_pool import Prompt, VllmPool
from proofs.product.runs import events_of
from spec.claims.claim import Mode
from spec.contract.modes import MODES, Bundle
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.language.errors import SpecError
from spec.language.verdicts import Verdict
from spec.projection.parts import Parts
from spec.projection.stepper import Followed, Stepper

PROMPTS = (Prompt("r1", "a", 2, 1), Prompt("r2", "b", 2, 1), Prompt("r3", "a", 1, 2))
KEEP = frozenset({"keep"})
OBLIGATIONS = [(mode, name) for mode in Mode for name in MODES[mode].names(Bundle.CONTRACT)]
OTHERS = [
    ("vllm_offload", "two_blocks", Mode.OFFLOADABLE),
    ("vllm_offload_patched", "lag", Mode.OFFLOADABLE),
    ("lmcache", "retrieve", Mode.OFFLOADABLE),
    ("kv_lease", "heartbeats", Mode.OFFLOADABLE),
]


def agree(model: Any, shim: Shim, mode: Mode, name: str, seed: int, parts: Parts) -> None:
    """After every event of a random run, by parts that other runs have stepped before."""
    followed, again = _followed(model, mode, name), Stepper(_followed(model, mode, name))
    whole, config = Stepper(followed), parts.first
    for step in simulate(model, seed, 40):
        for event in events_of(shim, step.emits):
            whole.take(event)
            config = parts.after(config, parts.number(event))
            again.thaw(parts.frozen(config))
            assert whole.frozen() == again.frozen(), str(step.action)
            assert whole.verdicts()[name] is parts.verdict(config)
            whole.thaw(whole.frozen())


def _followed(model: Any, mode: Mode, name: str) -> Followed:
    claims = map(claim_of, model.holders)
    return Followed(mode, claim_of(model.holders[0]), [name], claims, model.requests)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), blocks=st.integers(3, 6), which=st.sampled_from(OBLIGATIONS))
def test_as_a_whole(seed: int, blocks: int, which: tuple[Mode, str]) -> None:
    """Runs of the block pool, several over the same parts, come to what the stepper comes to."""
    mode, name = which
    model = VllmPool(blocks, PROMPTS, {"a": 2, "b": 2})
    parts = Parts(Stepper(_followed(model, mode, name)))
    for each in range(seed, seed + 4):
        agree(model, Shim(mode, KEEP), mode, name, each, parts)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32), which=st.sampled_from(OTHERS), data=st.data())
def test_other_models(seed: int, which: tuple[str, str, Mode], data: st.DataObject) -> None:
    """So do runs of models with loads, copies, leases and failures."""
    runs_of, variant, mode = which
    model = runtime(runs_of).variants[variant]()
    shims = [each.shim for each in runtime(runs_of).inferences if each.mode is mode]
    name = data.draw(st.sampled_from(MODES[mode].names(Bundle.CONTRACT)))
    parts = Parts(Stepper(_followed(model, mode, name)))
    for each in range(seed, seed + 3):
        agree(model, shims[-1] if shims else PLAIN, mode, name, each, parts)


def test_a_step_is_used_again() -> None:
    """The stepper takes in an event once for all configurations in which it reads the same."""

    class Counted(Stepper):
        taken = 0

        def take(self, event: Event) -> None:
            self.taken += 1
            super().take(event)

    model, mode = VllmPool(6, PROMPTS, {"a": 2, "b": 2}), Mode.HARD_PROTECTED
    shim = Shim(mode, KEEP)
    stepper = Counted(_followed(model, mode, "blocking_claim_ids"))
    parts, events = Parts(stepper), 0
    for seed in range(200):
        config = parts.first
        for step in simulate(model, seed, 40):
            for event in events_of(shim, step.emits):
                config = parts.after(config, parts.number(event))
                events += 1
    assert stepper.taken < events / 3


def _event(kind: Kind, **more: Any) -> Event:
    return Event(kind=kind, **more)


def _registered(claim: str) -> Event:
    return _event(
        Kind.CLAIM_REGISTERED,
        claim_id=claim,
        object_id=claim,
        cache_identity=CACHE,
        predicate="leading_prefix_at_least(1)",
        mode="offloadable",
        footprint=1,
    )


def test_after_track_is_lost() -> None:
    """Where a report names a claim by two objects, later events come to what they do as a whole."""
    name = "blocking_claim_ids"
    followed = Followed(Mode.OFFLOADABLE, "a", [name], ["a", "b"], ["r", "s"])
    arrived = {"needed": 1, "usable": 2}
    events = [
        _event(Kind.REQUEST_ARRIVED, request_id="r", **arrived),
        _registered("a"),
        _registered("b"),
        _event(Kind.CLAIM_COMMITTED, claim_id="a"),
        _event(Kind.CLAIM_MATERIALIZED, claim_id="b", object_id="c", cache_identity=CACHE),
        _event(Kind.REQUEST_ARRIVED, request_id="s", **arrived),
        _event(Kind.CLAIM_COMMITTED, claim_id="b"),
        _event(Kind.REQUEST_FINISHED, request_id="r"),
        _event(Kind.REQUEST_REFUSED, request_id="s", blocking_claim_ids=("a",)),
    ]
    whole, parts = Stepper(followed), Parts(Stepper(followed))
    config, again = parts.first, Stepper(followed)
    for event in events:
        whole.take(event)
        config = parts.after(config, parts.number(event))
        again.thaw(parts.frozen(config))
        assert whole.frozen() == again.frozen(), event.kind
        assert whole.verdicts()[name] is parts.verdict(config)
    assert whole.frozen()[-1] is not None


def test_what_cannot_be_is_refused() -> None:
    """A fact that contradicts those before it raises, as often as it is taken in."""
    parts = Parts(Stepper(Followed(Mode.OFFLOADABLE, "a", ["claim_identity"], ["a"], ["r"])))
    ends = parts.number(_event(Kind.REQUEST_FINISHED, request_id="r"))
    for _ in range(2):
        with pytest.raises(SpecError, match="not arrived"):
            parts.after(parts.first, ends)
    assert parts.verdict(parts.first) is Verdict.UNEXERCISED
