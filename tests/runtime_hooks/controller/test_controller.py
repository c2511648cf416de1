"""Tests of the controller: the monitor judges what it reports."""

from runtime_hooks.claims.arrivals import Arrival
from runtime_hooks.settings.config import Drill
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import CapacityProof
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.tiny import NS, TinyEngine, claim, keys_of

HARD, KEPT, VIOLATED = Mode.HARD_PROTECTED, ModeVerdict.KEPT, ModeVerdict.VIOLATED


class TestHard:
    """hard_protected: 60 blocks are claimed of 80, and a request needs 70."""

    def test_refused(self) -> None:
        """The request is refused in the claim's name, with the sum; no block is a victim."""
        engine = TinyEngine()
        assert engine.serve("resident", 60, claim())
        assert not engine.serve("active", 70)

        (refusal,) = engine.refusals
        assert ("claim:a",) == refusal.blocking_claim_ids
        assert CapacityProof(60, 70, 130, 80, 50) == refusal.proof
        assert [] == engine.kinds("block_evicted", "claim_harmed")
        assert KEPT is engine.judge(HARD).verdict

    def test_not_enforced(self) -> None:
        """Nothing is done: 50 blocks go, and the facts alone say that the claim was broken."""
        engine = TinyEngine(enforce=())
        assert engine.serve("resident", 60, claim())
        assert engine.serve("active", 70)

        (evicted,) = engine.kinds("block_evicted")
        assert 50 == len(evicted.block_ids)
        assert VIOLATED is engine.judge(HARD).verdict

    def test_suppressed(self) -> None:
        """A refusal that is not reported breaks explicit_conflict_action."""
        engine = TinyEngine(drill=Drill(suppress=(Kind.REQUEST_REFUSED,)))
        assert engine.serve("resident", 60, claim())
        assert not engine.serve("active", 70)

        judged = engine.judge(HARD)
        assert VIOLATED is judged.verdict
        assert "explicit_conflict_action" in judged.why

    def test_misattributed(self) -> None:
        """A refusal in another claim's name breaks blocking_claim_ids."""
        engine = TinyEngine(drill=Drill(misattribute={Kind.REQUEST_REFUSED: "claim:b"}))
        assert engine.serve("resident", 60, claim())
        assert not engine.serve("active", 70)

        judged = engine.judge(HARD)
        assert VIOLATED is judged.verdict
        assert "blocking_claim_ids" in judged.why

    def test_own_request(self) -> None:
        """A request that reuses the claim needs only what is not under it, and is served."""
        engine = TinyEngine()
        assert engine.serve("resident", 60, claim())
        assert engine.serve("again", 70, prompt="resident")

        assert [0, 10] == [event.needed for event in engine.kinds("request_arrived")]
        assert 1 == len(engine.kinds("prefix_reused"))
        assert KEPT is engine.judge(HARD).verdict

    def test_fits_beside(self) -> None:
        """At 130 blocks both fit, and no block is a victim."""
        engine = TinyEngine(usable=130)
        assert engine.serve("resident", 60, claim())
        assert engine.serve("active", 70)
        assert [] == engine.kinds("block_evicted", "request_refused")
        assert KEPT is engine.judge(HARD).verdict

    def test_not_cached(self) -> None:
        """What a request computes and does not cache never becomes the claim's: it needs it all."""
        engine = TinyEngine()
        keys = keys_of("resident", 70)
        assert engine.arrive(Arrival("first", keys[:60], 60, 60, claim()))[0]
        engine.finish("first")
        assert not engine.arrive(Arrival("second", keys, 70, 70, no_admit=True))[0]
        (refusal,) = engine.begin_step()[1]
        assert refusal.proof is not None
        assert 50 == refusal.proof.shortfall
        engine.finish("second")
        assert [0, 70] == [event.needed for event in engine.kinds("request_arrived")]
        assert KEPT is engine.judge(HARD).verdict

    def test_unreachable(self) -> None:
        """A claim on a prompt whose first block is gone does not refuse its own request: the blocks
        behind are no use to anybody, and are made anew.
        """
        engine = TinyEngine()
        assert engine.serve("earlier", 60, prompt="resident")
        first = next(
            b for b, key in engine.pool.content.items() if key == keys_of("resident", 1)[0]
        )
        del engine.pool.content[first]
        engine.controller.tracker.lost([first])
        assert engine.serve("resident", 60, claim())
        assert not engine.serve("active", 70)
        assert 1 == len(engine.kinds("claim_materialized"))
        assert KEPT is engine.judge(HARD).verdict

    def test_aborted(self) -> None:
        """The refusal is reported at once: the client may go away before the next step."""
        engine = TinyEngine()
        assert engine.serve("resident", 60, claim())
        keys = keys_of("active", 70)
        assert (False, {}) == engine.arrive(Arrival("active", keys, 70, 70))
        engine.finish("active")
        assert ([], []) == engine.begin_step()
        assert KEPT is engine.judge(HARD).verdict

    def test_deferred(self) -> None:
        """With time to wait the request is deferred, and refused when the time is over."""
        engine = TinyEngine(defer_s=2.0)
        assert engine.serve("resident", 60, claim())
        assert not engine.serve("active", 70)
        assert [] == engine.refusals
        engine.now += 2 * NS
        fit, refused = engine.begin_step()
        assert [] == fit
        assert ["active"] == [refusal.request_id for refusal in refused]
        engine.finish("active")

        assert 1 == len(engine.kinds("request_deferred"))
        assert KEPT is engine.judge(HARD).verdict

    def test_deferred_until_release(self) -> None:
        """A deferred request is let in when the owner gives the claim up."""
        engine = TinyEngine(defer_s=2.0)
        assert engine.serve("resident", 60, claim())
        assert not engine.serve("active", 70)
        assert "" == engine.release("claim:a", "tenant")
        assert (["active"], []) == engine.begin_step()
        engine.finish("active")
        assert KEPT is engine.judge(HARD).verdict

    def test_reset(self) -> None:
        """A reset takes every block, which is reported as harm."""
        engine = TinyEngine()
        assert engine.serve("resident", 60, claim())
        engine.controller.tracker.before_reset()
        assert 80 == len(engine.pool.free)
        engine.controller.tracker.after_reset(done=True)
        assert 1 == len(engine.kinds("claim_harmed"))
        assert KEPT is engine.judge(HARD).verdict

    def test_reset_fails(self) -> None:
        """A reset that does not take place leaves the claim as it was, and held."""
        engine = TinyEngine()
        assert engine.serve("resident", 60, claim())
        engine.controller.tracker.before_reset()
        engine.controller.tracker.after_reset(done=False)
        assert 20 == len(engine.pool.free)
        assert not engine.serve("active", 70)
        assert KEPT is engine.judge(HARD).verdict


class TestShared:
    """Claims that share a prefix."""

    def test_held_once(self) -> None:
        """Two claims on one prefix: its blocks stay held until both are given up."""
        engine = TinyEngine(usable=200)
        assert engine.serve("one", 60, claim("claim:a"), prompt="p")
        assert engine.serve("two", 60, claim("claim:b", 40), prompt="p")
        assert "" == engine.release("claim:a", "tenant")
        assert 160 == len(engine.pool.free)
        assert "" == engine.release("claim:b", "tenant")
        assert 200 == len(engine.pool.free)
        assert 2 == len(engine.kinds("claim_materialized"))
        assert KEPT is engine.judge(HARD).verdict


class TestEnds:
    """demotable and expiring."""

    def test_demoted(self) -> None:
        """A claim that may be demoted is, before 50 of its blocks go; nobody is harmed."""
        engine = TinyEngine()
        assert engine.serve("resident", 60, claim(mode="demotable"))
        assert engine.serve("active", 70)

        kinds = [event.kind for event in engine.events()]
        assert kinds.index("claim_demoted") < kinds.index("block_evicted")
        assert 50 == sum(len(event.block_ids) for event in engine.kinds("block_evicted"))
        assert [] == engine.kinds("claim_harmed")
        assert KEPT is engine.judge(Mode.DEMOTABLE).verdict

    def test_demotion_not_told(self) -> None:
        """A demotion that is not reported is found."""
        engine = TinyEngine(drill=Drill(suppress=(Kind.CLAIM_DEMOTED,)))
        assert engine.serve("resident", 60, claim(mode="demotable"))
        assert engine.serve("active", 70)
        assert VIOLATED is engine.judge(Mode.DEMOTABLE).verdict

    def test_demotion_not_enforced(self) -> None:
        """Without enforcement the claim is lost before any demotion."""
        engine = TinyEngine(enforce=())
        assert engine.serve("resident", 60, claim(mode="demotable"))
        assert engine.serve("active", 70)
        assert VIOLATED is engine.judge(Mode.DEMOTABLE).verdict

    def test_demoted_in_vain(self) -> None:
        """A claim is not demoted where that would not make the room."""
        engine = TinyEngine()
        assert engine.serve("hard", 60, claim())
        assert engine.serve("soft", 10, claim("claim:b", 10, "demotable"))
        assert not engine.serve("active", 70)
        assert [] == engine.kinds("claim_demoted")
        assert [("claim:a",)] == [refusal.blocking_claim_ids for refusal in engine.refusals]
        assert KEPT is engine.judge(HARD).verdict

    def test_expired(self) -> None:
        """A claim expires at its duration, before its blocks go."""
        engine = TinyEngine()
        assert engine.serve("resident", 60, claim(mode="expiring", duration="15 s"))
        assert not engine.serve("early", 70)
        engine.now += 15 * NS
        assert engine.serve("late", 70)

        kinds = [event.kind for event in engine.events()]
        assert kinds.index("claim_expired") < kinds.index("block_evicted")
        assert 50 == sum(len(event.block_ids) for event in engine.kinds("block_evicted"))
        assert KEPT is engine.judge(Mode.EXPIRING).verdict

    def test_steps(self) -> None:
        """A duration of three steps is over when a fourth begins, which a fact tells; the time that
        passes is no matter.
        """
        engine = TinyEngine()
        assert engine.serve("resident", 60, claim(mode="expiring", duration="3 steps"))
        for _ in range(3):
            engine.now += 100 * NS
            engine.begin_step()
        assert not engine.serve("early", 70)
        assert engine.serve("late", 70)

        kinds = [event.kind for event in engine.events()]
        elapsed, expired, evicted = map(
            kinds.index, ("duration_elapsed", "claim_expired", "block_evicted")
        )
        assert elapsed < expired < evicted
        assert KEPT is engine.judge(Mode.EXPIRING).verdict

    def test_both_clocks(self) -> None:
        """Claims end by the clock that each counts with."""
        engine = TinyEngine()
        assert engine.serve("a", 20, claim("claim:a", 20, "expiring", duration="2 steps"))
        assert engine.serve("b", 20, claim("claim:b", 20, "expiring", duration="5 s"))
        engine.now += 5 * NS
        engine.begin_step()
        assert 1 == engine.controller.claims
        for _ in range(2):
            engine.begin_step()
        assert ["claim:b", "claim:a"] == [e.claim_id for e in engine.kinds("claim_expired")]
        assert KEPT is engine.judge(Mode.EXPIRING).verdict

    def test_expiry_not_told(self) -> None:
        """An expiry that is not reported is found."""
        engine = TinyEngine(drill=Drill(suppress=(Kind.CLAIM_EXPIRED,)))
        assert engine.serve("resident", 60, claim(mode="expiring", duration="15 s"))
        engine.now += 15 * NS
        assert engine.serve("late", 70)
        assert VIOLATED is engine.judge(Mode.EXPIRING).verdict

    def test_expiry_not_enforced(self) -> None:
        """Without enforcement the claim is lost before its time."""
        engine = TinyEngine(enforce=())
        assert engine.serve("resident", 60, claim(mode="expiring", duration="15 s"))
        assert engine.serve("early", 70)
        assert VIOLATED is engine.judge(Mode.EXPIRING).verdict


class TestNeed:
    """What a request needs changes with the claims that it shares with, and is stated once."""

    def test_stated_once(self) -> None:
        """A deferred request shared 20 blocks with a claim that expires: it needs more then, as was
        stated from the first, and it is refused because of the other."""
        engine = TinyEngine(defer_s=10.0)
        assert engine.serve("hard", 40, claim("claim:h", 40))
        assert engine.serve("p", 20, claim("claim:e", 20, "expiring", duration="5 s"))
        assert not engine.serve("active", 50, prompt="p")
        engine.now += 5 * NS
        assert ([], []) == engine.begin_step()
        engine.now += 5 * NS
        _, (refused,) = engine.begin_step()
        assert ("claim:h",) == refused.blocking_claim_ids
        engine.finish("active")

        arrived = [e for e in engine.kinds("request_arrived") if e.request_id == "active"]
        assert [50] == [event.needed for event in arrived]
        judged = {c.claim_id: c.verdict for c in engine.judge(HARD).claims}
        assert KEPT is judged["claim:h"]
        judged = {c.claim_id: c.verdict for c in engine.judge(Mode.EXPIRING).claims}
        assert KEPT is judged["claim:e"]

    def test_fits_again(self) -> None:
        """A deferred request fits once a claim is given up, and beside what it shares does not need
        what was stated: a claim that came meanwhile is told, too, why it was deferred."""
        engine = TinyEngine(defer_s=10.0)
        for name, blocks in (("h", 30), ("p", 20), ("x", 10)):
            assert engine.serve(name, blocks, claim(f"claim:{name}", blocks))
        keys = keys_of("p", 45)
        assert (False, {}) == engine.arrive(Arrival("active", keys, 45, 45))
        assert engine.serve("e", 1, claim("claim:e", 1))
        assert "" == engine.release("claim:x", "tenant")
        assert (["active"], []) == engine.begin_step()
        engine._run("active", keys, 45)
        engine.finish("active")

        arrived = [e for e in engine.kinds("request_arrived") if e.request_id == "active"]
        assert [45] == [event.needed for event in arrived]
        assert {KEPT} == {c.verdict for c in engine.judge(HARD).claims}

    def test_too_large(self) -> None:
        """A request that fills more than the pool, beside what it shares or not, does not wait."""
        engine = TinyEngine(defer_s=10.0)
        assert engine.serve("p", 60, claim("claim:p", 60))
        assert engine.serve("h", 20, claim("claim:h", 20))
        arrival = Arrival("active", keys_of("p", 90), 90, 90)
        assert (False, {}) == engine.arrive(arrival)
        _, (refused,) = engine.begin_step()
        assert "active" == refused.request_id
        assert KEPT is engine.judge(HARD).verdict

    def test_shared_is_not_demoted(self) -> None:
        """A claim whose blocks the request uses is not demoted for it: that makes no room."""
        engine = TinyEngine()
        assert engine.serve("hard", 59, claim("claim:h", 59))
        assert engine.serve("p", 1, claim("claim:d", 1, "demotable"))
        assert not engine.serve("active", 22, prompt="p")
        assert [] == engine.kinds("claim_demoted")
        assert KEPT is engine.judge(HARD).verdict

    def test_claim_in_between(self) -> None:
        """A claim that ends leaves its room to requests that shared it, not to a new claim."""
        engine = TinyEngine()
        assert engine.serve("p", 20, claim("claim:a", 20))
        keys = keys_of("p", 70)
        assert (True, {}) == engine.arrive(Arrival("active", keys, 70, 70))
        assert "" == engine.release("claim:a", "tenant")
        assert engine.serve("q", 15, claim("claim:b", 15))
        assert "an unfinished request needs 70 more blocks" in engine.answers[-1]["claim"]
