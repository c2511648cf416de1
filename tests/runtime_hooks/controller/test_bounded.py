"""Tests of requests whose output has no limit of its own: they are bounded to what fits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime_hooks.claims.arrivals import Arrival
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.tiny import TinyEngine, claim, keys_of

KEPT = ModeVerdict.KEPT
PROMPT, CONTEXT = 3, 80
"""Blocks of a prompt, and of the whole context, which fills the pool."""


def unlimited(engine: TinyEngine, name: str, prompt: int = PROMPT, **more: Any) -> int | None:
    """A request without a limit arrives; the blocks that it may use, None if it may not run."""
    arrival = Arrival(name, keys_of(name, prompt), CONTEXT, prompt, least=prompt, **more)
    decision = engine.controller.arrive(arrival)
    engine.answers.append(decision.answers)
    if decision.refusal is not None:
        engine.refusals.append(decision.refusal)
    return decision.bound or CONTEXT if decision.runs else None


def claimed(blocks: int = 1, **settings: Any) -> TinyEngine:
    """An engine of 80 blocks with one claim."""
    engine = TinyEngine(**settings)
    assert engine.serve("resident", blocks, claim(blocks=blocks))
    return engine


class TestBounded:
    def test_one_block(self) -> None:
        """One claimed block refuses nobody: the request has all others, by an action that names
        the claim, before it computes."""
        engine = claimed()
        assert 79 == unlimited(engine, "chat")
        (bounded,) = engine.kinds("request_bounded")
        assert ("chat", ("claim:a",)) == (bounded.request_id, bounded.blocking_claim_ids)
        assert (1, 80, 81, 80, 1) == tuple(
            getattr(bounded.proof, name) for name in bounded.proof.__struct_fields__
        )
        engine.finish("chat")
        assert KEPT is engine.judge(Mode.HARD_PROTECTED).verdict

    def test_two_at_once(self) -> None:
        """Each has what fits beside the claims; the engine preempts, as it does without claims."""
        engine = claimed(20)
        assert [60, 60] == [unlimited(engine, name) for name in ("one", "two")]
        assert 2 == len(engine.kinds("request_bounded"))
        for name in ("one", "two"):
            engine.finish(name)
        assert KEPT is engine.judge(Mode.HARD_PROTECTED).verdict

    def test_no_claims(self) -> None:
        """Without claims nothing is bounded."""
        engine = TinyEngine()
        assert CONTEXT == unlimited(engine, "chat")
        assert [] == engine.kinds("request_bounded")

    @pytest.mark.parametrize(("prompt", "runs"), [(20, 20), (21, None)])
    def test_prompt(self, prompt: int, runs: int | None) -> None:
        """A prompt that does not fit with one token is refused."""
        engine = claimed(60)
        assert runs == unlimited(engine, "chat", prompt)
        assert (runs is None) == len(engine.refusals) == len(engine.kinds("request_refused"))

    def test_strict(self) -> None:
        """By the setting such a request is refused, as any other."""
        engine = claimed(unlimited="refuse")
        assert unlimited(engine, "chat") is None

    def test_stated(self) -> None:
        """A request that states its limit is never bounded."""
        engine = claimed(20)
        assert not engine.serve("large", 70)
        assert [] == engine.kinds("request_bounded")

    def test_does_not_wait(self) -> None:
        """Where others wait it is bounded at once."""
        engine = claimed(20, defer_s=5)
        assert 60 == unlimited(engine, "chat")

    def test_demotes(self) -> None:
        """A claim that yields to requests yields to this one, too, before it is bounded."""
        engine = TinyEngine()
        engine.serve("resident", 20, claim(blocks=20, mode="demotable"))
        assert CONTEXT == unlimited(engine, "chat")
        assert 1 == len(engine.kinds("claim_demoted"))


class TestLater:
    """A prompt that does not fit, with one token, waits; so does its request."""

    def waiting(self, **settings: Any) -> TinyEngine:
        """An engine with claims of 60 and 10 blocks, and a request that waits for 11."""
        engine = claimed(60, defer_s=5, **settings)
        assert engine.serve("other", 10, claim("claim:b", 10))
        assert unlimited(engine, "chat", 11) is None
        assert ([], []) == engine.begin_step()
        return engine

    def test_bounded(self) -> None:
        """It is bounded once enough claims have ended, though not all, and names the rest."""
        engine = self.waiting()
        engine.release("claim:b", "tenant")
        assert (["chat"], []) == engine.begin_step()
        assert 20 == engine.controller.bound_of("chat")
        (bounded,) = engine.kinds("request_bounded")
        assert ("claim:a",) == bounded.blocking_claim_ids
        engine.serve("late", 1, claim("claim:c", 1))
        assert "an unfinished request needs 20 more blocks, and 19 are left" in str(engine.answers)
        engine.finish("chat")
        assert 0 == engine.controller.bound_of("chat")
        assert KEPT is engine.judge(Mode.HARD_PROTECTED).verdict

    def test_unbounded(self) -> None:
        """It is not bounded where no claim is left in its way."""
        engine = self.waiting()
        for name in ("claim:a", "claim:b"):
            engine.release(name, "tenant")
        assert (["chat"], []) == engine.begin_step()
        assert 0 == engine.controller.bound_of("chat")
        assert [] == engine.kinds("request_bounded")

    def test_strict(self) -> None:
        """By the strict rule it waits on, and is refused when its time is over."""
        engine = self.waiting(unlimited="refuse")
        engine.release("claim:b", "tenant")
        assert ([], []) == engine.begin_step()
        engine.now += 6 * 1_000_000_000
        _, (refused,) = engine.begin_step()
        assert ("claim:a",) == refused.blocking_claim_ids


class TestClaims:
    def test_reserved(self) -> None:
        """A later claim counts what the request was bounded to, and one that fits beside it is
        named when the request ends."""
        engine = claimed(20)
        assert 60 == unlimited(engine, "chat")
        engine.serve("resident 2", 1, claim("claim:b", 1), prompt="other")
        assert "an unfinished request needs 60 more blocks, and 59 are left" in str(engine.answers)
        engine.release("claim:a", "tenant")
        engine.serve("resident 3", 20, claim("claim:c", 20), prompt="third")
        engine.finish("chat")
        first, last = engine.kinds("request_bounded")
        assert [("claim:a",), ("claim:c",)] == [e.blocking_claim_ids for e in (first, last)]
        assert KEPT is engine.judge(Mode.HARD_PROTECTED).verdict

    @pytest.mark.parametrize(("how", "blocks"), [("bound", 60), ("refuse", None)])
    def test_own(self, how: str, blocks: int | None) -> None:
        """A claim that comes with such a request needs room for the prompt and one token only; by
        the strict rule for the whole context, which is not there."""
        engine = claimed(20, unlimited=how)
        assert blocks == unlimited(engine, "chat", claim=claim("claim:b", 2))
        why = "" if blocks else "an unfinished request needs 78 more blocks, and 58 are left"
        assert {"claim": why} == engine.answers[-1]
        engine.finish("chat")
        assert KEPT is engine.judge(Mode.HARD_PROTECTED).verdict


ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("claim"), st.integers(1, 30)),
        st.tuples(st.just("chat"), st.integers(1, 40)),
        st.tuples(st.just("end"), st.integers(0, 9)),
        st.tuples(st.just("release"), st.integers(0, 9)),
        st.tuples(st.just("request"), st.integers(1, 80)),
    ),
    max_size=25,
)


@settings(max_examples=150)
@given(ACTS, st.sampled_from(["hard_protected", "demotable", "expiring"]))
def test_valid(acts: list[tuple[str, int]], mode: str) -> None:
    """Whatever claims and requests come and go: what is bounded fits beside the claims that live
    then, and the trace violates nothing."""
    engine = TinyEngine()
    registry, running = engine.controller._registry, list[str]()
    for number, (act, size) in enumerate(acts):
        name = f"{act} {number}"
        match act:
            case "claim":
                lasts = {"duration": "600 s"} if mode == "expiring" else {}
                engine.serve(name, size, claim(name, size, mode, **lasts))
            case "chat":
                blocks = unlimited(engine, name, size)
                if blocks is None:
                    engine.finish(name)
                    continue
                running.append(name)
                assert size <= blocks <= CONTEXT - len(registry.declared)
            case "end" if running:
                engine.finish(running.pop(size % len(running)))
            case "release" if registry.live:
                engine.release(sorted(registry.live)[size % len(registry.live)], "tenant")
            case "request":
                engine.serve(name, size)
    for name in running:
        engine.finish(name)
    for judged in engine.judge(Mode(mode)).claims:
        assert ModeVerdict.VIOLATED is not judged.verdict
