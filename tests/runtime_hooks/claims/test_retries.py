"""Tests of retries: the same claim again, and an id whose claim was rejected."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_hooks.claims.qualified import rejected_name
from spec.claims.claim import MAX_ID
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.tiny import TinyEngine, claim

KEPT = ModeVerdict.KEPT


class TestSame:
    """The same owner, id, terms and prompt."""

    def test_again(self) -> None:
        """The answer is repeated, also where a second claim would not fit; one release ends it."""
        engine = TinyEngine()
        for name in ("first", "second", "third"):
            assert engine.serve(name, 60, claim(), "p")
            assert {"claim": ""} == engine.answers[-1]
        assert 60 == engine.controller._registry.owners.blocks("tenant")
        assert "" == engine.release("claim:a", "tenant")
        assert 0 == engine.controller.claims
        assert ["claim:a"] == [event.claim_id for event in engine.kinds("claim_accepted")]
        assert KEPT is engine.judge(Mode.HARD_PROTECTED).verdict

    def test_longer_prompt(self) -> None:
        """The next turn of the same conversation may state it, too."""
        engine = TinyEngine()
        assert engine.serve("first", 60, claim(), "p")
        assert engine.serve("next", 70, claim(), "p")
        assert {"claim": ""} == engine.answers[-1]

    @pytest.mark.parametrize(
        ("changed", "prompt", "why"),
        [
            ({"protection_mode": "demotable"}, "p", "another protection_mode"),
            ({"duration": "60 s"}, "p", "another duration"),
            (
                {"materialization_predicate": "leading_prefix_at_least(50)"},
                "p",
                "another object_id",
            ),
            ({}, "other", "another prompt"),
        ],
    )
    def test_other_terms(self, changed: dict[str, Any], prompt: str, why: str) -> None:
        """Other terms are another promise, which needs another id; the owner is told why."""
        engine = TinyEngine(200)
        assert engine.serve("first", 60, claim(), "p")
        assert engine.serve("second", 60, claim(**changed), prompt)
        assert (
            f"claim id claim:a is live with {why}; a new promise needs a new id"
            == (engine.answers[-1]["claim"])
        )
        assert KEPT is engine.judge(Mode.HARD_PROTECTED).verdict

    def test_other_owner(self) -> None:
        """Another owner learns nothing of the claim but that the id is taken."""
        engine = TinyEngine(200)
        assert engine.serve("first", 60, claim(), "p")
        assert engine.serve("second", 60, claim(owner_scope="other"), "p")
        assert (
            "claim id claim:a was used before; a new promise needs a new id"
            == (engine.answers[-1]["claim"])
        )

    def test_ended(self) -> None:
        """A claim that has ended is not promised again."""
        engine = TinyEngine()
        assert engine.serve("first", 60, claim(), "p")
        assert "" == engine.release("claim:a", "tenant")
        assert engine.serve("second", 60, claim(), "p")
        assert "was used before" in engine.answers[-1]["claim"]

    def test_fault(self) -> None:
        """A request that fails after it stated the claim again does not end it."""
        engine = TinyEngine()
        assert engine.serve("first", 60, claim(), "p")

        def fails() -> None:
            engine.serve("again", 60, claim(), "p")
            raise RuntimeError

        with pytest.raises(RuntimeError):
            engine.controller.undo_on_failure(fails)
        assert 1 == engine.controller.claims


class TestRejected:
    def test_free(self) -> None:
        """The id of a rejected claim is free: once there is room, the claim is accepted by it."""
        engine = TinyEngine()
        assert engine.serve("first", 60, claim("claim:a"))
        for _ in range(3):
            engine.serve("second", 30, claim("claim:b", 30))
            assert "it needs 30 blocks" in engine.answers[-1]["claim"]
        assert "" == engine.release("claim:a", "tenant")
        assert engine.serve("second", 30, claim("claim:b", 30))
        assert "" == engine.answers[-1]["claim"]
        rejected = [event.claim_id for event in engine.kinds("claim_rejected")]
        assert [f"claim:b (rejected {n})" for n in (1, 2, 3)] == rejected
        assert ["claim:a", "claim:b"] == [e.claim_id for e in engine.kinds("claim_accepted")]
        assert KEPT is engine.judge(Mode.HARD_PROTECTED).verdict

    def test_name(self) -> None:
        """A name is no longer than an id may be, and nobody can claim by it."""
        long = "x" * MAX_ID
        assert MAX_ID == len(rejected_name(long, 10**9)) == len(rejected_name(long, 1))
        engine = TinyEngine()
        engine.serve("first", 10, claim("claim:a (rejected 1)", 10))
        assert "as names of the trace alone may" in engine.answers[-1]["claim"]
        engine.serve("second", 10, claim("claim:a (rejected)", 10))
        assert "" == engine.answers[-1]["claim"]


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("ab"),
            st.sampled_from(["x", "y", "x (rejected 1)"]),
            st.sampled_from([10, 30, 50]),
            st.sampled_from(["p", "q"]),
            st.sampled_from(["hard_protected", "demotable"]),
            st.booleans(),
        ),
        max_size=14,
    )
)
def test_one_life(asked: list[tuple[str, str, int, str, str, bool]]) -> None:
    """However claims are stated, repeated, rejected and released, no name is accepted twice, and
    the trace violates nothing."""
    engine = TinyEngine()
    for number, (owner, name, blocks, prompt, mode, releases) in enumerate(asked):
        engine.serve(f"r{number}", blocks, claim(name, blocks, mode, owner_scope=owner), prompt)
        if releases:
            engine.release(name, owner)
    accepted = [event.claim_id for event in engine.kinds("claim_accepted")]
    registered = [event.claim_id for event in engine.kinds("claim_registered")]
    assert len(set(accepted)) == len(accepted)
    assert len(set(registered)) == len(registered)
    for mode in (Mode.HARD_PROTECTED, Mode.DEMOTABLE):
        verdicts = {c.claim_id: c.verdict for c in engine.judge(mode).claims}
        for event in engine.kinds("claim_registered"):
            if event.mode == mode and event.claim_id in accepted:
                assert ModeVerdict.VIOLATED is not verdicts[event.claim_id or ""]
