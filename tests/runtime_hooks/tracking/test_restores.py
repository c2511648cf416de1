"""Offloaded claims are restored for one request or for two."""

from __future__ import annotations

from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.requests import (
    KEYS,
    RequestSteps,
    engine_of,
    load,
    offloaded,
    on,
    reused,
    verdict,
)
from tests.runtime_hooks.tiny import TinyEngine, TinyTier, keys_of

KEPT, OFF, HARD = ModeVerdict.KEPT, Mode.OFFLOADABLE, Mode.HARD_PROTECTED


class TestRestore:
    def test_two_wait(self) -> None:
        """Two requests need the claim back: one loads it, the other waits and finds it."""
        engine = engine_of()
        offloaded(engine)
        first, second = RequestSteps(engine, "one"), RequestSteps(engine, "two")
        assert 0 == first.look()
        engine.controller.offloaded.loading("one", KEYS)
        load(engine, first)
        assert 60 == second.look()
        first.end()
        second.end()
        assert ["one"] == [event.request_id for event in engine.kinds("claim_restored")]
        assert ["one", "two"] == reused(engine)
        assert KEPT is engine.judge(OFF).verdict

    def test_two_load(self) -> None:
        """Each of two loads it for itself: there are two copies."""
        engine = engine_of()
        offloaded(engine)
        both = [RequestSteps(engine, "one"), RequestSteps(engine, "two")]
        for hand in both:
            assert 0 == hand.look()
            engine.controller.offloaded.loading(hand.name, KEYS)
        for hand in both:
            load(engine, hand)
        for hand in both:
            hand.end()
        assert ["one", "two"] == [event.request_id for event in engine.kinds("claim_restored")]
        assert KEPT is engine.judge(OFF).verdict

    def test_one_fails(self) -> None:
        """The load of the first fails, and it is refused; the second one's goes well."""
        engine = engine_of()
        offloaded(engine)
        both = [RequestSteps(engine, "one"), RequestSteps(engine, "two")]
        for hand in both:
            hand.look()
            engine.controller.offloaded.loading(hand.name, KEYS)
        assert ("claim:a",) == engine.controller.offloaded.failed("one")
        both[0].end()
        load(engine, both[1])
        both[1].end()
        assert ["two"] == reused(engine)
        assert KEPT is engine.judge(OFF).verdict

    def test_half(self) -> None:
        """A prompt that begins with half of the claim loads that half: it says what came back, and
        a prompt with all of it has the rest restored."""
        engine = engine_of()
        offloaded(engine)
        half = RequestSteps(engine, "half", 31)
        assert 0 == half.look()
        engine.controller.offloaded.loading("half", KEYS[:30])
        load(engine, half, KEYS[:30])
        half.end()
        whole = RequestSteps(engine, "whole")
        assert 30 == whole.look()
        engine.controller.offloaded.loading("whole", KEYS[30:], KEYS[:30])
        load(engine, whole)
        whole.end()
        brought = [event.positions for event in engine.kinds("load_finished")]
        assert [tuple(range(30)), tuple(range(30, 60))] == brought
        assert ["whole"] == reused(engine)
        assert KEPT is engine.judge(OFF).verdict

    def test_the_rest_stays(self) -> None:
        """Only the first half left, and a prompt that needs no more loads it: the claim is whole
        again, and is said to be restored, in the name of that prompt."""
        engine = engine_of()
        offloaded(engine, KEYS[:30])
        half = RequestSteps(engine, "half", 31)
        assert 0 == half.look()
        engine.controller.offloaded.loading("half", KEYS[:30])
        load(engine, half, KEYS[:30])
        half.end()
        whole = RequestSteps(engine, "whole")
        assert 60 == whole.look()
        whole.end()
        assert ["half"] == [event.request_id for event in engine.kinds("claim_restored")]
        assert ["whole"] == reused(engine)
        assert KEPT is engine.judge(OFF).verdict

    def test_preempted(self) -> None:
        """A request that had the claim restored is put back, the blocks go, and it has it restored
        once more."""
        engine = engine_of()
        offloaded(engine)
        hand = RequestSteps(engine, "one")
        for _ in range(2):
            assert 0 == hand.look()
            engine.controller.offloaded.loading("one", KEYS)
            load(engine, hand)
            gone = hand.blocks[:60]
            hand.free()
            for block in gone:
                del engine.pool.content[block]
            engine.controller.tracker.evicted(gone)
        hand.end()
        assert ["one", "one"] == reused(engine)
        assert KEPT is engine.judge(OFF).verdict

    def test_without_copy(self) -> None:
        """A claim of another mode shares the prefix, and lost it: what is loaded for the one with
        the copy is found by the other."""
        engine = engine_of()
        offloaded(engine)
        RequestSteps(engine, "other", 41, on(HARD, "claim:h", 40)).end()
        hand = RequestSteps(engine, "one")
        assert 0 == hand.look()
        engine.controller.offloaded.loading("one", KEYS)
        load(engine, hand)
        hand.end()
        told = {event.claim_id: event for event in engine.kinds("block_cached", "load_finished")}
        assert ("block_cached", True) == (told["claim:h"].kind, told["claim:h"].found)
        assert "load_finished" == told["claim:a"].kind
        assert KEPT is verdict(engine, OFF, "claim:a")
        assert KEPT is verdict(engine, HARD, "claim:h")

    def test_not_given_back(self) -> None:
        """A request asks for all of a claim that is away and copied, and would be scheduled without
        it: it is refused in the claim's name before it computes anything."""
        engine = engine_of()
        offloaded(engine)
        hand = RequestSteps(engine, "one")
        assert ("claim:a",) == engine.controller.offloaded.withheld("one", hand.keys[:-1], 59)
        hand.end()
        told = ("load_failed", "claim_restoration_failed", "request_refused")
        assert list(told) == [event.kind for event in engine.kinds(*told)]
        assert KEPT is engine.judge(OFF).verdict

    def test_given_back(self) -> None:
        """Who is given it back, asks for less, or finds it, is not refused."""
        engine = engine_of()
        offloaded(engine)
        tier, keys = engine.controller.offloaded, keys_of("p", 60)
        assert () == tier.withheld("one", keys, 60)
        assert () == tier.withheld("one", keys[:59], 0)
        assert () == tier.withheld("one", keys_of("q", 60), 0)
        assert () == tier.withheld("one", [], 0)
        RequestSteps(engine, "one").allocate().compute().end()
        assert () == tier.withheld("two", keys, 0)

    def test_tier_reset(self) -> None:
        """The tier is cleared while a load is under way: what comes back all the same is a restore,
        and the copy is lost once it is read, which is no harm."""
        engine = engine_of()
        offloaded(engine)
        hand = RequestSteps(engine, "one")
        hand.look()
        engine.controller.offloaded.loading("one", KEYS)
        engine.controller.offloaded.lost(None)
        load(engine, hand)
        hand.end()
        told = ("claim_restore_required", "claim_restored", "host_copy_lost")
        assert [*told] == [e.kind for e in engine.kinds("claim_harmed", *told)]
        assert KEPT is engine.judge(OFF).verdict

    def test_copy_found(self) -> None:
        """A copy that lies in the tier when the claim is accepted is found, not stored; so is
        one that was stored of blocks that this claim never had."""
        tier = TinyTier(*KEYS)
        engine = TinyEngine(200, tier=tier)
        RequestSteps(engine, "first", 61, on(OFF)).end()
        tier.there -= {KEYS[59]}
        RequestSteps(engine, "second", 61, on(OFF, "claim:b")).end()
        engine.controller.offloaded.stored(KEYS[59:])
        assert 2 == len(engine.kinds("host_copy_found"))
        assert [] == engine.kinds("store_finished")
        assert KEPT is engine.judge(OFF).verdict
