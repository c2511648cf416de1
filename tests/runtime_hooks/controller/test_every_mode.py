"""Everyday runs of an engine keep every mode."""

from __future__ import annotations

import pytest

from runtime_hooks.settings.config import TAKEN
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.requests import KEYS, RequestSteps, engine_of, looked, on, reused, verdict
from tests.runtime_hooks.tiny import claim

KEPT, HARD = ModeVerdict.KEPT, Mode.HARD_PROTECTED


@pytest.mark.parametrize("mode", TAKEN)
class TestEveryMode:
    def test_burst(self, mode: Mode) -> None:
        """A second request comes before the first has computed the prefix: it finds nothing, though
        its blocks are those that the first one took, and reuses nothing."""
        engine = engine_of()
        first, second = RequestSteps(engine, "first", 61, on(mode)), RequestSteps(engine, "second")
        assert 0 == first.look()
        first.allocate()
        assert 0 == second.look()
        first.compute().end()
        second.end()
        assert 60 == RequestSteps(engine, "third").look()
        assert [(60, 0), (60, 0), (60, 60)] == looked(engine)
        assert ["third"] == reused(engine)
        assert KEPT is engine.judge(mode).verdict

    def test_both_compute(self, mode: Mode) -> None:
        """Two requests compute the prefix, each in its own blocks: one copy may go."""
        engine = engine_of()
        first, second = RequestSteps(engine, "first", 61, on(mode)), RequestSteps(engine, "second")
        first.allocate()
        second.allocate()
        first.compute(0, 30)
        second.compute(0, 40)
        first.compute(30)
        second.compute(40)
        copies = list(second.blocks)
        first.end()
        second.end()
        for block in copies:
            del engine.pool.content[block]
        engine.controller.tracker.evicted(copies)
        assert 60 == RequestSteps(engine, "third").look()
        assert 0 == len(engine.kinds("claim_harmed", "claim_unmaterialized", "claim_block_lost"))
        assert KEPT is engine.judge(mode).verdict

    def test_preempted(self, mode: Mode) -> None:
        """A request that computed the prefix is put back, and finds it again: it reuses nothing
        that it did not compute, and others do."""
        engine = engine_of()
        first = RequestSteps(engine, "first", 61, on(mode))
        assert 0 == first.look()
        first.allocate().compute(0, 60).free()
        assert 60 == first.look()
        first.allocate().compute(60).end()
        second = RequestSteps(engine, "second")
        assert 60 == second.look()
        second.end()
        assert ["second"] == reused(engine)
        assert KEPT is engine.judge(mode).verdict

    def test_aborted(self, mode: Mode) -> None:
        """A request is aborted while its blocks are computed: they are there afterwards, and the
        one that is in hand then has not computed them."""
        engine = engine_of()
        first, second = RequestSteps(engine, "first", 61, on(mode)), RequestSteps(engine, "second")
        first.allocate()
        engine.finish("first")
        first.compute().free()
        assert 60 == second.look()
        second.end()
        (cached,) = [e for e in engine.kinds("block_cached") if e.claim_id]
        assert (None, True) == (cached.request_id, cached.found)
        assert ["second"] == reused(engine)
        assert KEPT is engine.judge(mode).verdict

    def test_found(self, mode: Mode) -> None:
        """A claim on what is cached already is there at once, and its request reuses it."""
        engine = engine_of()
        RequestSteps(engine, "before").allocate().compute().end()
        first = RequestSteps(engine, "first", 61, on(mode))
        assert 60 == first.look()
        first.end()
        (found,) = [e for e in engine.kinds("block_cached") if e.claim_id]
        assert found.found
        assert ["first"] == reused(engine)
        assert KEPT is engine.judge(mode).verdict

    def test_partly_shared(self, mode: Mode) -> None:
        """A prompt that begins with half of the claim asks for that half, and reuses no claim."""
        engine = engine_of()
        RequestSteps(engine, "first", 61, on(mode)).allocate().compute().end()
        half = RequestSteps(engine, "half", 31)
        assert 30 == half.look()
        half.end()
        assert [(30, 30)] == looked(engine)
        assert [] == reused(engine)
        assert KEPT is engine.judge(mode).verdict

    def test_whole_prompt(self, mode: Mode) -> None:
        """Of a prompt of exactly the claim's blocks the last one is not used: it is computed again,
        and nothing of the claim was missed."""
        engine = engine_of()
        RequestSteps(engine, "first", 60, on(mode)).allocate().compute().end()
        again = RequestSteps(engine, "again", 60)
        assert 59 == again.look()
        again.allocate().compute(59).end()
        assert [(59, 59)] == looked(engine)
        assert KEPT is engine.judge(mode).verdict

    def test_shared(self, mode: Mode) -> None:
        """Two claims on one prefix, one shorter than the other, in blocks that one request made."""
        engine = engine_of()
        RequestSteps(engine, "first", 61, on(mode)).allocate().compute().end()
        second = RequestSteps(engine, "second", 61, on(mode, "claim:b", 40))
        assert 60 == second.look()
        second.end()
        assert "" == engine.release("claim:a", "tenant")
        third = RequestSteps(engine, "third", 61, on(mode, "claim:c", 60))
        assert 60 == third.look()
        third.end()
        assert ["first", "second"] != reused(engine)
        assert KEPT is engine.judge(mode).verdict

    def test_rejected(self, mode: Mode) -> None:
        """A claim that is turned away is owed no news of the blocks that another one has."""
        engine = engine_of()
        RequestSteps(engine, "first", 61, on(mode)).allocate().compute().end()
        again = RequestSteps(engine, "again", 61, on(mode, owner_scope="other"))
        assert "claim id claim:a was used before" in again.answers["claim"]
        assert 60 == again.look()
        again.end()
        RequestSteps(engine, "third").end()
        assert ModeVerdict.VIOLATED is not engine.judge(mode).verdict
        assert KEPT is verdict(engine, mode, "claim:a")

    def test_repeated(self, mode: Mode) -> None:
        """A claim that is stated again by the same terms gets the same answer, and no event."""
        engine = engine_of()
        RequestSteps(engine, "first", 61, on(mode)).allocate().compute().end()
        again = RequestSteps(engine, "again", 61, on(mode))
        assert {"claim": ""} == again.answers
        assert 60 == again.look()
        again.end()
        assert 1 == engine.controller.claims
        assert 1 == len(engine.kinds("claim_registered"))
        assert [] == engine.kinds("claim_rejected")
        assert KEPT is engine.judge(mode).verdict

    def test_reset(self, mode: Mode) -> None:
        """A reset while a request waits to be scheduled again."""
        engine = engine_of()
        first = RequestSteps(engine, "first", 61, on(mode))
        first.allocate().compute(0, 60).free()
        engine.controller.tracker.before_reset()
        engine.pool.content.clear()
        engine.controller.tracker.after_reset(done=True)
        assert 0 == first.look()
        first.allocate().compute().end()
        assert KEPT is engine.judge(mode).verdict


class TestBehindAGap:
    def test_range(self) -> None:
        """A claim on the end of a prompt whose beginning is gone: nobody can use it, so nobody asks
        for it."""
        engine = engine_of()
        tail = claim(materialization_predicate="contiguous_range(40, 20)")
        RequestSteps(engine, "first", 61, tail).allocate().compute().end()
        (block,) = [block for _, block in engine.pool.find(KEYS[10:11])]
        engine.pool.drop([block])
        again = RequestSteps(engine, "again")
        assert 10 == again.look()
        again.end()
        assert [(10, 0)] == looked(engine)
        assert KEPT is engine.judge(HARD).verdict

    def test_claimed(self) -> None:
        """A claim is made on a prompt of which a block is missing: what is behind it is of no use,
        and is let go before."""
        engine = engine_of()
        RequestSteps(engine, "before").allocate().compute().end()
        (block,) = [block for _, block in engine.pool.find(KEYS[10:11])]
        engine.pool.drop([block])
        first = RequestSteps(engine, "first", 61, on(HARD))
        assert 10 == first.look()
        assert [] == engine.pool.find(KEYS[11:])
        first.allocate().compute(10).end()
        kinds = [event.kind for event in engine.kinds("block_lost", "claim_committed")]
        assert ["block_lost", "block_lost", "claim_committed"] == kinds
        assert 140 == len(engine.pool.free)
        assert KEPT is engine.judge(HARD).verdict
