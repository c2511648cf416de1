"""Claims that come with requests, in the real engine."""

from __future__ import annotations

from monitor.engine import ModeVerdict
from runtime_hooks.demo.engine import claim
from spec.claims import Mode, TimeUnit
from tests_vllm.conftest import Make

HARD = Mode.HARD_PROTECTED
BAD = [
    ({"resident_claim": "claim:a"}, "resident_claim is no object"),
    (claim("claim:1", blocks=61), "the prompt has 5 whole blocks, and the claim is for 61"),
    (claim("claim:2", blocks=5, duration="0 s"), "a duration of nothing"),
    (claim("claim:3", blocks=5, mode="hard"), "protection_mode"),
    (claim("claim:4", blocks=5, value=3), "value: Extra inputs"),
    (claim("x" * 10_000_000, blocks=5), "it is 10000000 characters long"),
    (claim("claim:kept", blocks=5), "was used before"),
    (
        claim(
            "claim:5",
            blocks=5,
            cache_identity={
                "key_domain": "vllm/sha256",
                "model_id": "another",
                "tokenizer_domain": "another",
                "namespace": "",
                "block_size": 32,
            },
        ),
        "it is for another cache",
    ),
]


class TestBadInput:
    def test_turned_away(self, make: Make) -> None:
        """Each is rejected with a reason in the response, and served; the live claim is kept."""
        engine = make()
        engine.serve(("resident", 60, claim("claim:kept")))
        for number, (metadata, reason) in enumerate(BAD):
            (answer,) = engine.serve((f"bad {number}", 5, metadata))
            assert "length" == answer.finish_reason
            assert "rejected" == answer.metadata["claim"]["decision"]
            assert reason in answer.metadata["claim"]["reason"]
        assert 60 == sum(engine.cached("resident", 60))

        engine.close()
        assert len(BAD) == len(engine.kinds("claim_rejected"))
        judged = {c.claim_id: c.verdict for c in engine.judge(HARD).claims}
        assert ModeVerdict.KEPT is judged["claim:kept"]
        assert ModeVerdict.VIOLATED not in judged.values()


class TestTwo:
    def test_exceed(self, make: Make) -> None:
        """Of two hard claims that together exceed the pool the second is rejected."""
        engine = make()
        engine.serve(("first", 60, claim("claim:a")))
        (answer,) = engine.serve(("second", 25, claim("claim:b", 25)))
        assert {
            "decision": "rejected",
            "reason": "it needs 25 blocks, and 20 of 80 are not claimed",
        } == answer.metadata["claim"]
        assert ["claim:a"] == answer.metadata["refusal"]["blocking_claim_ids"]
        assert 60 == sum(engine.cached("first", 60))

        engine.close()
        assert ModeVerdict.KEPT is engine.judge(HARD).verdict

    def test_shared(self, make: Make) -> None:
        """Two claims share a prefix; its blocks stay until both are given up."""
        engine = make(200)
        engine.serve(("prompt", 60, claim("claim:a")))
        engine.serve(("prompt", 60, claim("claim:b", 40)))
        assert 140 == engine.pool.get_num_free_blocks()
        release = {"claim_id": "claim:a", "owner_scope": "tenant"}
        (answer,) = engine.serve(("other", 1, {"release_claim": release}))
        assert {"release": {"decision": "accepted"}} == answer.metadata
        assert 160 == engine.pool.get_num_free_blocks()
        release = {"claim_id": "claim:b", "owner_scope": "tenant"}
        engine.serve(("other", 1, {"release_claim": release}))
        assert 200 == engine.pool.get_num_free_blocks()

        engine.close()
        assert 2 == len(engine.kinds("claim_materialized"))
        assert 2 == len(engine.kinds("claim_released"))
        assert ModeVerdict.KEPT is engine.judge(HARD).verdict

    def test_at_once(self, make: Make) -> None:
        """Two requests with one prompt in one step: the claim owns one copy of each block."""
        engine = make()
        engine.serve(("prompt", 20, claim(blocks=20)), ("prompt", 20))
        assert 60 == engine.pool.get_num_free_blocks()
        (answer,) = engine.serve(("active", 60))
        assert "length" == answer.finish_reason
        assert 20 == sum(engine.cached("prompt", 20))

        engine.close()
        assert ModeVerdict.KEPT is engine.judge(HARD).verdict

    def test_cached_before(self, make: Make) -> None:
        """A claim on a prompt that is cached already is materialized at once."""
        engine = make()
        engine.serve(("prompt", 60))
        engine.serve(("prompt", 60, claim()))
        assert 20 == engine.pool.get_num_free_blocks()
        (answer,) = engine.serve(("active", 70))
        assert "abort" == answer.finish_reason

        engine.close()
        assert ModeVerdict.KEPT is engine.judge(HARD).verdict


class TestReset:
    def test_reset(self, make: Make) -> None:
        """A reset of the cache succeeds, and the claim is harmed aloud."""
        engine = make()
        engine.serve(("prompt", 60, claim()))
        assert engine.core.scheduler.reset_prefix_cache(reset_running_requests=True)
        assert 0 == sum(engine.cached("prompt", 60))
        engine.serve(("prompt", 60))
        assert 20 == engine.pool.get_num_free_blocks()

        engine.close()
        told = [e.kind for e in engine.events() if e.kind in {"claim_harmed", "claim_materialized"}]
        assert ["claim_materialized", "claim_harmed", "claim_materialized"] == told
        assert ModeVerdict.KEPT is engine.judge(HARD).verdict

    def test_abort(self, make: Make) -> None:
        """A claim whose request ends before it was computed is there, and holds nothing."""
        engine = make()
        metadata = claim()
        request = engine.request(("prompt", 60, metadata))
        engine.core.scheduler.add_request(request)
        engine.core.abort_requests([request.request_id])
        assert 80 == engine.pool.get_num_free_blocks()
        (answer,) = engine.serve(("active", 70))
        assert "abort" == answer.finish_reason

        engine.close()
        assert ModeVerdict.KEPT is engine.judge(HARD).verdict


class TestSteps:
    def test_duration(self, make: Make) -> None:
        """A claim for 50 steps of the engine: the request that waits for its blocks gets them then,
        after the expiry was told.
        """
        engine = make(defer_s=600.0)
        engine.serve(("resident", 60, claim(mode="expiring", duration="50 steps")))
        begun = engine.armed.attachments[0].keeper._now[TimeUnit.STEPS]
        (answer,) = engine.serve(("active", 70))
        assert "length" == answer.finish_reason
        assert 50 <= engine.armed.attachments[0].keeper._now[TimeUnit.STEPS] - begun <= 53

        engine.close()
        kinds = [event.kind for event in engine.events()]
        expected = ["duration_elapsed", "claim_retired", "claim_expired", "block_evicted"]
        assert expected == [kind for kind in kinds if kind in expected]
        assert ModeVerdict.KEPT is engine.judge(Mode.EXPIRING).verdict
