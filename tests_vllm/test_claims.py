"""Claims that come with requests, in the real engine."""

from __future__ import annotations

import copy
import functools
import json
import time
from collections import Counter

import pytest

from runtime_hooks.demo.engine import claim
from runtime_hooks.trace.file import TraceFile
from spec.claims.durations import TimeUnit
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests_vllm.conftest import LONG_S, Make

HARD = Mode.HARD_PROTECTED
ANOTHER = {
    "key_domain": "vllm/sha256",
    "model_id": "another",
    "tokenizer_domain": "another",
    "namespace": "",
    "block_size": 32,
}
LONG, DEEP = "x" * 10_000_000, functools.reduce(lambda inner, _: [inner], range(400), [])
BAD = [
    ("claim", {"resident_claim": "claim:a"}, "resident_claim is no object"),
    ("claim", {"resident_claim": None}, "resident_claim is no object (got null)"),
    ("claim", {"resident_claim": {}}, "claim_id: Field required"),
    (
        "claim",
        claim("claim:1", blocks=61),
        "the prompt has 5 whole blocks, and the claim is for 61",
    ),
    ("claim", claim("claim:2", 5, footprint_blocks=81), "5 whole blocks, and the claim is for 81"),
    ("claim", claim("claim:3", 21), "it needs 21 blocks, and 20 of 80 are not claimed"),
    ("claim", claim("claim:4", 5, duration="0 s"), "a duration of zero"),
    ("claim", claim("claim:5", 5, duration="-3 s"), "it is not a number with a unit"),
    ("claim", claim("claim:6", 5, mode="hard"), "protection_mode"),
    ("claim", claim("claim:7", 5, value=3), "value: Extra inputs"),
    ("claim", claim("claim:8", 5, **{f"k{n}": n for n in range(100_000)}), "100004 fields"),
    ("claim", claim(LONG, 5), "it is 10000000 characters long"),
    ("claim", claim("claim:9", 5, materialization_predicate=LONG), "more than 128"),
    ("claim", {"resident_claim": {LONG: 1}}, "claim_id: Field required"),
    ("claim", claim("claim:10", 5, value=["y" * 1_000] * 10_000), "value: Extra inputs"),
    ("claim", claim("claim:11", 5, object_id=DEEP), "object_id: Input should be a valid string"),
    ("claim", claim("claim:kept", 5), "is live with another prompt"),
    ("claim", claim("claim:12", 5, cache_identity=ANOTHER), "it is for another cache"),
    ("claim", {**claim("claim:13", 5), "no_admit": True}, "asks not to be cached"),
    ("release", {"release_claim": {"claim_id": "claim:kept"}}, "is not owned by"),
    ("release", {"release_claim": {"claim_id": LONG}}, "there is no live claim"),
    ("release", {"release_claim": None}, "release_claim is no object"),
    ("release", {"release_claim": 3}, "release_claim is no object"),
    ("no_admit", {"no_admit": 1}, "it is neither true nor false"),
    ("no_admit", {"no_admit": None}, "it is neither true nor false"),
    ("pin", {"pin": None}, "pin is no object"),
    ("pin", {"pin": 3}, "pin is no object"),
    ("pin", {"pin": {"job_id": "agent", "ttl": LONG}}, "ttl is no text of 1 to 256"),
]


class TestBadInput:
    def test_turned_away(self, make: Make) -> None:
        """Each is turned away with a reason in the response, a claim with an event as well, and its
        request is served, if it fits itself; no hook fails, and the live claim is kept."""
        engine = make()
        engine.serve(("resident", 60, claim("claim:kept")))
        for number, (what, metadata, reason) in enumerate(BAD):
            large = "21 blocks" in reason
            (answer,) = engine.serve((f"bad {number}", 21 if large else 5, metadata))
            assert large == (answer.finish_reason == "abort")
            assert "rejected" == answer.metadata[what]["decision"]
            assert reason in answer.metadata[what]["reason"]
            assert len(answer.metadata[what]["reason"]) < 600
        (attachment,) = engine.armed.attachments
        assert {} == attachment.faults
        assert 1 == attachment.controller.claims
        assert 60 == sum(engine.cached("resident", 60))

        engine.close()
        claims = sum(what == "claim" for what, _, _ in BAD)
        assert claims == len(engine.kinds("claim_rejected"))
        judged = {c.claim_id: c.verdict for c in engine.judge(HARD).claims}
        assert ModeVerdict.KEPT is judged["claim:kept"]
        assert ModeVerdict.VIOLATED not in judged.values()
        assert max(map(len, engine.trace.open("rb"))) < 4_096

    def test_quota(self, make: Make) -> None:
        """Of a hundred thousand claims of one owner ten are accepted; each is answered by an event,
        another owner's is accepted, and so is one more once one is given up."""
        engine = make(claims=10, queue=1 << 20)
        scheduler, prompt = engine.core.scheduler, engine.request(("prompt", 1))
        for number in range(100_000):
            asked = copy.copy(prompt)
            asked.request_id = f"request {number}"
            asked.kv_transfer_params = claim(f"claim:{number}", 1, on_abort="keep")
            scheduler.add_request(asked)
            engine.core.abort_requests([asked.request_id])
        assert 10 == engine.armed.attachments[0].controller.claims
        (more,) = engine.serve(("prompt", 1, claim("claim:more", 1)))
        assert "tenant has 10 live claims, and 10 are the most" == more.metadata["claim"]["reason"]
        (other,) = engine.serve(("prompt", 1, claim("claim:other", 1, owner_scope="another")))
        assert "accepted" == other.metadata["claim"]["decision"]
        release = {"claim_id": "claim:0", "owner_scope": "tenant"}
        (again,) = engine.serve(("p", 1, {"release_claim": release, **claim("claim:again", 1)}))
        assert {"release": {"decision": "accepted"}, "claim": {"decision": "accepted"}} == (
            again.metadata
        )

        journal = engine.armed.attachments[0].journal
        while journal.waiting:
            time.sleep(0.1)
        engine.close()
        kinds = Counter(json.loads(line)["kind"] for line in engine.trace.open("rb"))
        assert (12, 99_991) == (kinds["claim_accepted"], kinds["claim_rejected"])


class TestBlocks:
    """Whose blocks are held."""

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

    def test_reused(self, make: Make) -> None:
        """The claimed prefix is used again after a refusal, and gives the same token."""
        engine = make()
        (first,) = engine.serve(("prompt", 60, claim()))
        (refused,) = engine.serve(("active", 70))
        assert ("abort", ()) == (refused.finish_reason, refused.tokens)
        (again,) = engine.serve(("prompt", 60))
        assert (59 * 32, first.tokens) == (again.cached, again.tokens)

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
        """A reset of the cache succeeds, and the claim is harmed explicitly."""
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

    def test_end(self, make: Make) -> None:
        """The end of the engine is the end of its cache: the claim is harmed explicitly."""
        engine = make()
        engine.serve(("prompt", 60, claim()))
        engine.close()
        assert ["block_lost", "claim_harmed"] == [event.kind for event in engine.ending()]
        assert ModeVerdict.KEPT is engine.judge(HARD).verdict

    def test_abort(self, make: Make) -> None:
        """A claim that is kept, and whose request ends before it was computed, holds nothing."""
        engine = make()
        metadata = claim(on_abort="keep")
        request = engine.request(("prompt", 60, metadata))
        engine.core.scheduler.add_request(request)
        engine.core.abort_requests([request.request_id])
        assert 80 == engine.pool.get_num_free_blocks()
        (answer,) = engine.serve(("active", 70))
        assert "abort" == answer.finish_reason

        engine.close()
        assert ModeVerdict.KEPT is engine.judge(HARD).verdict


class TestLost:
    def test_behind(self, make: Make) -> None:
        """A kept claim loses its first block: the others, which nobody finds, leave their room to
        the request that makes the prompt again, and the claim is whole then.
        """
        engine = make()
        engine.serve(("resident", 60, claim()))
        first = engine.pool.get_cached_block(engine.request(("resident", 1)).block_hashes[0], [0])
        engine.pool.evict_blocks({first[0].block_id})
        assert 59 == sum(engine.cached("resident", 60))
        (answer,) = engine.serve(("resident", 60))
        assert "length" == answer.finish_reason
        free, cached = engine.pool.get_num_free_blocks(), sum(engine.cached("resident", 60))
        assert (20, 60) == (free, cached)
        (answer,) = engine.serve(("active", 70))
        assert "abort" == answer.finish_reason

        engine.close()
        assert {} == engine.armed.attachments[0].faults
        assert ModeVerdict.KEPT is engine.judge(HARD).verdict


class TestSteps:
    def test_duration(self, make: Make) -> None:
        """A claim for 50 steps of the engine: the request that waits for its blocks gets them then,
        after the expiry was reported.
        """
        engine = make(defer_s=600.0)
        engine.serve(("resident", 60, claim(mode="expiring", duration="50 steps")))
        begun = engine.armed.attachments[0].controller._now[TimeUnit.STEPS]
        (answer,) = engine.serve(("active", 70))
        assert "length" == answer.finish_reason
        assert 50 <= engine.armed.attachments[0].controller._now[TimeUnit.STEPS] - begun <= 53

        engine.close()
        kinds = [event.kind for event in engine.events()]
        expected = ["duration_elapsed", "claim_retired", "claim_expired", "block_evicted"]
        assert expected == [kind for kind in kinds if kind in expected]
        assert ModeVerdict.KEPT is engine.judge(Mode.EXPIRING).verdict


class TestNoTrace:
    """The trace can no longer be written."""

    @pytest.mark.parametrize("then", ["keep", "end"])
    def test_full(self, make: Make, monkeypatch: pytest.MonkeyPatch, then: str) -> None:
        """Requests are served; no more claims are accepted, and the live one is kept, or ended as
        the operator chose: then its blocks are the engine's own."""
        engine = make(without_trace=then)
        engine.serve(("resident", 60, claim("claim:kept")))
        (attachment,) = engine.armed.attachments

        def full(self: object, lines: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(TraceFile, "take", full)
        said: list[str] = []
        until = time.monotonic() + LONG_S
        while time.monotonic() < until:
            (answer,) = engine.serve(("p", 1, claim(f"claim:{len(said)}", 1)))
            assert "length" == answer.finish_reason
            said.append(answer.metadata.get("claim", {}).get("reason", ""))
            if attachment.disarmed or "the trace can no longer be written" in said:
                break
            time.sleep(0.1)
        (active,) = engine.serve(("active", 79))
        if then == "keep":
            assert "the trace can no longer be written" == said[-1]
            assert ("abort", 60) == (active.finish_reason, sum(engine.cached("resident", 60)))
        else:
            assert "the trace can no longer be written" == attachment.disarmed
            assert ("length", 80) == (active.finish_reason, engine.pool.get_num_free_blocks())
