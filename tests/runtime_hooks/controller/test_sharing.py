"""Claims that share blocks take capacity once, and free it together."""

from __future__ import annotations

from runtime_hooks.claims.arrivals import Arrival
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.requests import on, verdict
from tests.runtime_hooks.tiny import TinyEngine, claim, keys_of

KEPT, HARD = ModeVerdict.KEPT, Mode.HARD_PROTECTED


class TestRoom:
    """Room is made of blocks: what claims share takes it once."""

    def test_nested(self) -> None:
        """Two claims on one prefix take the room of the longer one; a request that fits beside that
        is served, and one that does not names those that it does not fit beside."""
        engine = TinyEngine()
        assert engine.serve("first", 60, claim("claim:a", 60), prompt="p")
        assert engine.serve("second", 60, claim("claim:b", 50), prompt="p")
        assert engine.serve("fits", 20)
        assert not engine.serve("small", 25)
        assert not engine.serve("large", 50)
        assert [("claim:a",), ("claim:a", "claim:b")] == [
            refusal.blocking_claim_ids for refusal in engine.refusals
        ]
        assert [60, 60] == [r.proof.resident for r in engine.refusals if r.proof]
        assert KEPT is engine.judge(HARD).verdict

    def test_half_shared(self) -> None:
        """Two prompts that begin alike: what the claims free is what each has alone, and all of it
        only together."""
        engine = TinyEngine(usable=100)
        pool = engine.pool
        both = keys_of("p", 30)
        for name in "ab":
            keys = [*both, *(key[::-1] + name.encode() for key in keys_of(name, 20))]
            stated = claim(f"claim:{name}", 50)
            assert engine.arrive(Arrival(name, keys, 51, 50, stated))[0]
            found = [block for _, block in pool.find(keys)]
            fresh = engine.take(name, 50 - len(found))
            engine.controller.tracker.look_up(name, keys, len(found))
            engine.compute(name, keys, len(found), fresh)
            pool.release(fresh)
            engine.finish(name)
        assert 30 == len(pool.free)
        for needed in (35, 75):
            assert not engine.serve(f"needs {needed}", needed)
        assert [("claim:a",), ("claim:a", "claim:b")] == [
            refusal.blocking_claim_ids for refusal in engine.refusals
        ]
        assert KEPT is engine.judge(HARD).verdict

    def test_accepted(self) -> None:
        """A claim on what is claimed already needs no more room, and is accepted."""
        engine = TinyEngine()
        assert engine.serve("first", 60, claim("claim:a", 60), prompt="p")
        assert engine.serve("second", 70, claim("claim:b", 70), prompt="p")
        assert not engine.serve("third", 20, claim("claim:c", 20))
        assert ["", "", "it needs 20 blocks, and 10 of 80 are not claimed"] == [
            answer["claim"] for answer in engine.answers
        ]
        assert KEPT is engine.judge(HARD).verdict

    def test_demoted(self) -> None:
        """For a request those claims are demoted that free enough together, and none besides: what
        a claim of another mode has, too, is not free."""
        engine = TinyEngine()
        assert engine.serve("hard", 40, claim("claim:h", 40), prompt="p")
        assert engine.serve("same", 45, on(Mode.DEMOTABLE, "claim:same", 45), prompt="p")
        assert engine.serve("own", 30, on(Mode.DEMOTABLE, "claim:own", 30))
        assert engine.serve("active", 30)
        assert ["claim:own"] == [event.claim_id for event in engine.kinds("claim_demoted")]
        assert KEPT is verdict(engine, HARD, "claim:h")
        for name in ("claim:same", "claim:own"):
            assert KEPT is verdict(engine, Mode.DEMOTABLE, name)

    def test_contents_told(self) -> None:
        """A commitment names the content of each position: equal ones in two claims are equal."""
        engine = TinyEngine()
        assert engine.serve("first", 20, claim("claim:a", 20), prompt="p")
        assert engine.serve("second", 20, claim("claim:b", 15), prompt="p")
        assert engine.serve("third", 20, claim("claim:c", 20))
        one, two, three = (event.keys for event in engine.kinds("claim_registered"))
        assert (20, 15, 20) == (len(set(one)), len(set(two)), len(set(three)))
        assert one[:15] == two
        assert set(one).isdisjoint(three)
        assert {24} == {len(key) for key in one}
