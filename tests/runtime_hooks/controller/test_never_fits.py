"""Tests of requests that need more blocks than the pool has: they are refused, by no claim."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_hooks.claims.arrivals import Arrival
from runtime_hooks.engines.shared.refusals import OVERSIZED_REASON, as_metadata, for_caller, message
from runtime_hooks.settings.config import Drill
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import CapacityProof
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.tiny import TinyEngine, claim, keys_of

KEPT = ModeVerdict.KEPT


class TestArrival:
    def test_no_claim(self) -> None:
        """Without any claim it is refused at once, with the sum; one block less is served."""
        engine = TinyEngine(80)
        assert engine.serve("fits", 80, certain=80)
        assert not engine.serve("too large", 81, certain=81)
        (refusal,) = engine.refusals
        assert ((), CapacityProof(0, 81, 81, 80, 1)) == (
            refusal.blocking_claim_ids,
            refusal.proof,
        )
        (refused,) = engine.kinds("request_refused")
        assert ("it needs 81 of 80 blocks", ()) == (refused.reason, refused.blocking_claim_ids)
        assert ["fits", "too large"] == [e.request_id for e in engine.kinds("request_finished")]

    def test_beside_a_claim(self) -> None:
        """Beside a claim it names no claim, does not wait, and the claim's verdict stays kept."""
        engine = TinyEngine(80, defer_s=60.0)
        engine.serve("resident", 20, claim(blocks=20))
        assert not engine.serve("too large", 90, certain=81)
        (refusal,) = engine.refusals
        assert ((), CapacityProof(20, 81, 101, 80, 21)) == (
            refusal.blocking_claim_ids,
            refusal.proof,
        )
        assert not engine.serve("beside", 61, certain=61)
        assert [] == [e for e in engine.kinds("request_deferred") if e.request_id == "too large"]
        engine.finish("beside")
        assert KEPT is engine.judge(Mode.HARD_PROTECTED).verdict

    def test_misattributed(self) -> None:
        """A refusal that names a claim for it is a violation: no claim is the reason."""
        engine = TinyEngine(80, drill=Drill(misattribute={Kind.REQUEST_REFUSED: "claim:a"}))
        engine.serve("resident", 20, claim(blocks=20))
        assert not engine.serve("too large", 90, certain=81)
        judged = engine.judge(Mode.HARD_PROTECTED)
        assert ModeVerdict.VIOLATED is judged.verdict
        assert "blocking_claim_ids" in judged.why

    def test_shared(self) -> None:
        """What it shares with a claim is in the pool, too, so that it does not make it fit."""
        engine = TinyEngine(80)
        engine.serve("resident", 60, claim())
        assert not engine.serve("longer", 90, prompt="resident", certain=90)
        (refusal,) = engine.refusals
        assert CapacityProof(60, 90, 150, 80, 70) == refusal.proof
        assert KEPT is engine.judge(Mode.HARD_PROTECTED).verdict

    def test_demotable(self) -> None:
        """No claim is demoted for it: that would not help."""
        engine = TinyEngine(80)
        engine.serve("resident", 20, claim(blocks=20, mode="demotable"))
        assert not engine.serve("too large", 90, certain=90)
        assert [] == engine.kinds("claim_demoted")

    def test_output(self) -> None:
        """One that fits by its prompt may stop before its limit, and is served."""
        engine = TinyEngine(80)
        assert engine.arrive(Arrival("long", keys_of("long", 70), 120, 69, certain=70))[0]
        assert [] == engine.kinds("request_refused")

    def test_wait(self) -> None:
        """By the setting it is not refused: the engine is given the request."""
        engine = TinyEngine(80, never_fits="wait")
        assert engine.arrive(Arrival("too large", keys_of("a", 81), 81, 80, certain=81))[0]
        assert [] == engine.kinds("request_refused")

    def test_restated(self) -> None:
        """A restatement while it is in hand reports no conflict, and the claim stays kept."""
        engine = TinyEngine(80, restate_seconds=1)
        engine.serve("resident", 20, claim(blocks=20))
        engine.arrive(Arrival("too large", keys_of("a", 81), 81, 80, certain=81))
        engine.now += 10_000_000_000
        engine.begin_step()
        engine.finish("too large")
        assert 1 == len(engine.kinds("request_refused"))
        assert KEPT is engine.judge(Mode.HARD_PROTECTED).verdict


class TestStuck:
    def test_grown(self) -> None:
        """One that has grown beyond the pool is refused when it gets no blocks; the claim's verdict
        is not violated."""
        engine = TinyEngine(80)
        engine.serve("resident", 20, claim(blocks=20))
        keys = keys_of("long", 60)
        assert engine.arrive(Arrival("long", keys, 90, 59, certain=60))[0]
        assert engine.controller.stuck(Arrival("long", keys, 90, 59, certain=80)) is None
        refusal = engine.controller.stuck(Arrival("long", keys, 90, 59, certain=81))
        assert refusal is not None
        assert CapacityProof(20, 81, 101, 80, 21) == refusal.proof
        engine.finish("long")
        assert ModeVerdict.VIOLATED is not engine.judge(Mode.HARD_PROTECTED).verdict


def test_answer() -> None:
    """The answer has a reason of its own, the sum, and no claim, for every caller."""
    engine = TinyEngine(80)
    engine.serve("resident", 20, claim(blocks=20))
    engine.serve("too large", 81, certain=81)
    (refusal,) = engine.refusals
    for said in (as_metadata(refusal), for_caller(as_metadata(refusal, private=True), "b")):
        assert (OVERSIZED_REASON, []) == (said["reason"], said["blocking_claim_ids"])
        assert f"{OVERSIZED_REASON}: 81 blocks are needed, and the pool has 80" == message(said)


MODES = ("hard_protected", "demotable", "expiring", "soft_priority", "best_effort")
ACTS = st.one_of(
    st.tuples(st.just("claim"), st.integers(1, 30), st.sampled_from(MODES)),
    st.tuples(st.just("request"), st.integers(1, 90), st.integers(0, 30)),
    st.tuples(st.just("release"), st.integers(0, 5)),
)


@settings(max_examples=60)
@given(st.lists(ACTS, max_size=20), st.sampled_from([0.0, 5.0]))
def test_valid(acts: list[tuple[Any, ...]], defer_s: float) -> None:
    """Among claims of every mode a request is refused for the pool exactly if its tokens exceed it,
    and no trace has a violation."""
    engine = TinyEngine(60, defer_s=defer_s)
    live = engine.controller._registry.live
    for number, (act, *more) in enumerate(acts):
        name = f"r{number}"
        if act == "claim":
            own: dict[str, Any] = {"duration": "60 s"} if more[1] == "expiring" else {}
            own |= {"priority": 1} if more[1] == "soft_priority" else {}
            engine.serve(name, more[0], claim(f"c{number}", more[0], more[1], **own))
        elif act == "request":
            tokens, output = more
            arrival = Arrival(name, keys_of(name, tokens), tokens + output, tokens, certain=tokens)
            runs, _ = engine.arrive(arrival)
            refusals = engine.begin_step()[1]
            assert (tokens > 60) == any(each.never_fits for each in refusals)
            assert not (runs and tokens > 60)
            engine.finish(name)
        elif live:
            engine.release(sorted(live)[more[0] % len(live)], "tenant")
    for mode in MODES:
        assert ModeVerdict.VIOLATED is not engine.judge(Mode(mode)).verdict


@pytest.mark.parametrize("certain", [0, 79, 80])
def test_unknown(certain: int) -> None:
    """Where the engine does not say what a request needs for certain, it is not refused for it."""
    engine = TinyEngine(80)
    assert engine.arrive(Arrival("r", keys_of("r", 70), 200, 70, certain=certain))[0]
