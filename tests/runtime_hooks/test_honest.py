"""Honest streams: what an engine does every day, told by the hooks, is kept in every mode."""

from __future__ import annotations

from typing import Any

import pytest

from monitor.engine import ModeVerdict
from runtime_hooks.arrivals import Arrival
from runtime_hooks.config import TAKEN
from spec.claims import Mode
from tests.runtime_hooks.engine import TinyEngine, claim, keys_of
from tests.runtime_hooks.test_tier import TinyTier

KEPT, OFF, HARD = ModeVerdict.KEPT, Mode.OFFLOADABLE, Mode.HARD_PROTECTED
KEYS = keys_of("p", 60)


class Hand:
    """A request in hand, step by step; `blocks` are those that it uses."""

    def __init__(
        self, engine: TinyEngine, name: str, blocks: int = 61, stated: object = None
    ) -> None:
        self.engine, self.name, self.keys = engine, name, keys_of("p", blocks)
        self.blocks: list[int] = []
        arrival = Arrival(name, self.keys, blocks, blocks - 1, stated)
        self.fits, self.answers = engine.keeper.arrive(arrival)

    def look(self) -> int:
        """It uses what it finds; how much that is."""
        usable, pool = self.keys[:-1], self.engine.pool
        for key in usable:
            there = [block for found, block in pool.find([key]) if found == key]
            if not there:
                break
            self.blocks.append(there[0])
        pool.hold(self.blocks)
        self.engine.keeper.custody.look_up(self.name, usable, len(self.blocks))
        return len(self.blocks)

    def allocate(self) -> Hand:
        """It takes the blocks that it does not have, which are computed later."""
        self.blocks += self.engine.take(self.name, len(self.keys) - len(self.blocks))
        return self

    def compute(self, start: int = 0, end: int | None = None) -> Hand:
        """These of its blocks are computed."""
        self.engine.compute(self.name, self.keys, start, self.blocks[start:end])
        return self

    def free(self) -> Hand:
        """Its blocks are free, and keep what they hold; it may be scheduled again."""
        self.engine.pool.release(self.blocks[::-1])
        self.blocks = []
        return self

    def end(self) -> None:
        """It is over."""
        self.free()
        self.engine.keeper.finish(self.name)


def on(mode: Mode, name: str = "claim:a", blocks: int = 60, **more: Any) -> dict[str, Any]:
    """A claim in this mode."""
    own: dict[Mode, dict[str, Any]] = {
        Mode.EXPIRING: {"duration": "60 s"},
        Mode.SOFT_PRIORITY: {"priority": 3},
    }
    return claim(name, blocks, mode, **own.get(mode, {}), **more)


def engine_of(usable: int = 200) -> TinyEngine:
    """An engine with an offload tier."""
    return TinyEngine(usable, tier=TinyTier())


def reused(engine: TinyEngine) -> list[str | None]:
    """The requests of which a reuse was told."""
    return [event.request_id for event in engine.kinds("prefix_reused")]


def looked(engine: TinyEngine, name: str = "claim:a") -> list[tuple[int | None, int | None]]:
    """What look-ups asked for of a claim, and what they found."""
    lines = [event for event in engine.kinds("prefix_lookup") if event.claim_id == name]
    return [(event.asked, event.held) for event in lines]


def verdict(engine: TinyEngine, mode: Mode, name: str) -> ModeVerdict:
    """What the monitor concludes of a claim."""
    (mine,) = (c.verdict for c in engine.judge(mode).claims if c.claim.claim_id == name)
    return mine


def offloaded(engine: TinyEngine) -> None:
    """A claim was computed and copied, and its blocks were taken."""
    Hand(engine, "first", 61, on(OFF)).allocate().compute().end()
    engine.keeper.tier.stored(KEYS)
    Hand(engine, "filler", 1).end()
    gone = [block for _, block in engine.pool.find(KEYS)]
    for block in gone:
        del engine.pool.content[block]
    engine.keeper.custody.evicted(gone, "filler")


def load(engine: TinyEngine, hand: Hand) -> None:
    """What a request waits for is back from the tier."""
    hand.allocate()
    pairs = list(zip(KEYS, hand.blocks, strict=False))
    engine.pool.content.update((block, key) for key, block in pairs)
    engine.keeper.tier.loaded(hand.name, pairs)
    engine.keeper.custody.look_up(hand.name, hand.keys[:-1], 60)


@pytest.mark.parametrize("mode", TAKEN)
class TestEveryMode:
    def test_burst(self, mode: Mode) -> None:
        """A second request comes before the first has computed the prefix: it finds nothing, though
        its blocks are those that the first one took, and reuses nothing."""
        engine = engine_of()
        first, second = Hand(engine, "first", 61, on(mode)), Hand(engine, "second")
        assert 0 == first.look()
        first.allocate()
        assert 0 == second.look()
        first.compute().end()
        second.end()
        assert 60 == Hand(engine, "third").look()
        assert [(60, 0), (60, 0), (60, 60)] == looked(engine)
        assert ["third"] == reused(engine)
        assert KEPT is engine.judge(mode).verdict

    def test_both_compute(self, mode: Mode) -> None:
        """Two requests compute the prefix, each in its own blocks: one copy may go."""
        engine = engine_of()
        first, second = Hand(engine, "first", 61, on(mode)), Hand(engine, "second")
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
        engine.keeper.custody.evicted(copies)
        assert 60 == Hand(engine, "third").look()
        assert 0 == len(engine.kinds("claim_harmed", "claim_unmaterialized", "claim_block_lost"))
        assert KEPT is engine.judge(mode).verdict

    def test_preempted(self, mode: Mode) -> None:
        """A request that computed the prefix is put back, and finds it again: it reuses nothing
        that it did not compute, and others do."""
        engine = engine_of()
        first = Hand(engine, "first", 61, on(mode))
        assert 0 == first.look()
        first.allocate().compute(0, 60).free()
        assert 60 == first.look()
        first.allocate().compute(60).end()
        second = Hand(engine, "second")
        assert 60 == second.look()
        second.end()
        assert ["second"] == reused(engine)
        assert KEPT is engine.judge(mode).verdict

    def test_aborted(self, mode: Mode) -> None:
        """A request is aborted while its blocks are computed: they are there afterwards, and the
        one that is in hand then has not computed them."""
        engine = engine_of()
        first, second = Hand(engine, "first", 61, on(mode)), Hand(engine, "second")
        first.allocate()
        engine.keeper.finish("first")
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
        Hand(engine, "before").allocate().compute().end()
        first = Hand(engine, "first", 61, on(mode))
        assert 60 == first.look()
        first.end()
        (found,) = [e for e in engine.kinds("block_cached") if e.claim_id]
        assert found.found
        assert ["first"] == reused(engine)
        assert KEPT is engine.judge(mode).verdict

    def test_partly_shared(self, mode: Mode) -> None:
        """A prompt that begins with half of the claim asks for that half, and reuses no claim."""
        engine = engine_of()
        Hand(engine, "first", 61, on(mode)).allocate().compute().end()
        half = Hand(engine, "half", 31)
        assert 30 == half.look()
        half.end()
        assert [(30, 30)] == looked(engine)
        assert [] == reused(engine)
        assert KEPT is engine.judge(mode).verdict

    def test_whole_prompt(self, mode: Mode) -> None:
        """Of a prompt of exactly the claim's blocks the last one is not used: it is computed again,
        and nothing of the claim was missed."""
        engine = engine_of()
        Hand(engine, "first", 60, on(mode)).allocate().compute().end()
        again = Hand(engine, "again", 60)
        assert 59 == again.look()
        again.allocate().compute(59).end()
        assert [(59, 59)] == looked(engine)
        assert KEPT is engine.judge(mode).verdict

    def test_shared(self, mode: Mode) -> None:
        """Two claims on one prefix, one shorter than the other, in blocks that one request made."""
        engine = engine_of()
        Hand(engine, "first", 61, on(mode)).allocate().compute().end()
        second = Hand(engine, "second", 61, on(mode, "claim:b", 40))
        assert 60 == second.look()
        second.end()
        assert "" == engine.keeper.release("claim:a", "tenant")
        third = Hand(engine, "third", 61, on(mode, "claim:c", 60))
        assert 60 == third.look()
        third.end()
        assert ["first", "second"] != reused(engine)
        assert KEPT is engine.judge(mode).verdict

    def test_rejected(self, mode: Mode) -> None:
        """A claim that is turned away is owed no news of the blocks that another one has."""
        engine = engine_of()
        Hand(engine, "first", 61, on(mode)).allocate().compute().end()
        again = Hand(engine, "again", 61, on(mode))
        assert "claim id claim:a was used before" in again.answers["claim"]
        assert 60 == again.look()
        again.end()
        Hand(engine, "third").end()
        assert ModeVerdict.VIOLATED is not engine.judge(mode).verdict
        assert KEPT is verdict(engine, mode, "claim:a")

    def test_reset(self, mode: Mode) -> None:
        """A reset while a request waits to be scheduled again."""
        engine = engine_of()
        first = Hand(engine, "first", 61, on(mode))
        first.allocate().compute(0, 60).free()
        engine.keeper.custody.before_reset()
        engine.pool.content.clear()
        engine.keeper.custody.after_reset(done=True)
        assert 0 == first.look()
        first.allocate().compute().end()
        assert KEPT is engine.judge(mode).verdict


class TestRestore:
    def test_two_wait(self) -> None:
        """Two requests need the claim back: one loads it, the other waits and finds it."""
        engine = engine_of()
        offloaded(engine)
        first, second = Hand(engine, "one"), Hand(engine, "two")
        assert 0 == first.look()
        engine.keeper.tier.loading("one", KEYS)
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
        both = [Hand(engine, "one"), Hand(engine, "two")]
        for hand in both:
            assert 0 == hand.look()
            engine.keeper.tier.loading(hand.name, KEYS)
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
        both = [Hand(engine, "one"), Hand(engine, "two")]
        for hand in both:
            hand.look()
            engine.keeper.tier.loading(hand.name, KEYS)
        assert ("claim:a",) == engine.keeper.tier.failed("one")
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
        half = Hand(engine, "half", 31)
        assert 0 == half.look()
        engine.keeper.tier.loading("half", KEYS[:30])
        half.allocate()
        pairs = list(zip(KEYS[:30], half.blocks, strict=False))
        engine.pool.content.update((block, key) for key, block in pairs)
        engine.keeper.tier.loaded("half", pairs)
        engine.keeper.custody.look_up("half", half.keys[:-1], 30)
        half.end()
        whole = Hand(engine, "whole")
        assert 30 == whole.look()
        engine.keeper.tier.loading("whole", KEYS[30:])
        load(engine, whole)
        whole.end()
        brought = [event.positions for event in engine.kinds("load_finished")]
        assert [tuple(range(30)), tuple(range(30, 60))] == brought
        assert ["whole"] == reused(engine)
        assert KEPT is engine.judge(OFF).verdict

    def test_preempted(self) -> None:
        """A request that had the claim restored is put back, the blocks go, and it has it restored
        once more."""
        engine = engine_of()
        offloaded(engine)
        hand = Hand(engine, "one")
        for _ in range(2):
            assert 0 == hand.look()
            engine.keeper.tier.loading("one", KEYS)
            load(engine, hand)
            gone = hand.blocks[:60]
            hand.free()
            for block in gone:
                del engine.pool.content[block]
            engine.keeper.custody.evicted(gone)
        hand.end()
        assert ["one", "one"] == reused(engine)
        assert KEPT is engine.judge(OFF).verdict

    def test_without_copy(self) -> None:
        """A claim of another mode shares the prefix, and lost it: what is loaded for the one with
        the copy is found by the other."""
        engine = engine_of()
        offloaded(engine)
        Hand(engine, "other", 41, on(HARD, "claim:h", 40)).end()
        hand = Hand(engine, "one")
        assert 0 == hand.look()
        engine.keeper.tier.loading("one", KEYS)
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
        hand = Hand(engine, "one")
        assert ("claim:a",) == engine.keeper.tier.withheld("one", hand.keys[:-1], 59)
        hand.end()
        told = ("load_failed", "claim_restoration_failed", "request_refused")
        assert list(told) == [event.kind for event in engine.kinds(*told)]
        assert KEPT is engine.judge(OFF).verdict

    def test_given_back(self) -> None:
        """Who is given it back, asks for less, or finds it, is not refused."""
        engine = engine_of()
        offloaded(engine)
        tier, keys = engine.keeper.tier, keys_of("p", 60)
        assert () == tier.withheld("one", keys, 60)
        assert () == tier.withheld("one", keys[:59], 0)
        assert () == tier.withheld("one", keys_of("q", 60), 0)
        assert () == tier.withheld("one", [], 0)
        Hand(engine, "one").allocate().compute().end()
        assert () == tier.withheld("two", keys, 0)

    def test_tier_reset(self) -> None:
        """The tier is cleared while a load is under way: the claim is harmed, and what comes back
        all the same is a restore."""
        engine = engine_of()
        offloaded(engine)
        hand = Hand(engine, "one")
        hand.look()
        engine.keeper.tier.loading("one", KEYS)
        engine.keeper.tier.forgotten(None)
        load(engine, hand)
        hand.end()
        told = ("claim_harmed", "claim_restore_required", "claim_restored")
        assert [told[1], told[0], told[1], told[2]] == [e.kind for e in engine.kinds(*told)]
        assert KEPT is engine.judge(OFF).verdict

    def test_copy_found(self) -> None:
        """A copy that lies in the tier when the claim is accepted is found, not stored; so is one
        that was stored of blocks that this claim never had."""
        tier = TinyTier(*KEYS)
        engine = TinyEngine(200, tier=tier)
        Hand(engine, "first", 61, on(OFF)).end()
        tier.there -= {KEYS[59]}
        Hand(engine, "second", 61, on(OFF, "claim:b")).end()
        engine.keeper.tier.stored(KEYS[59:])
        assert 2 == len(engine.kinds("host_copy_found"))
        assert [] == engine.kinds("store_finished")
        assert KEPT is engine.judge(OFF).verdict


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
            assert engine.keeper.arrive(Arrival(name, keys, 51, 50, stated))[0]
            found = [block for _, block in pool.find(keys)]
            fresh = engine.take(name, 50 - len(found))
            engine.keeper.custody.look_up(name, keys, len(found))
            engine.compute(name, keys, len(found), fresh)
            pool.release(fresh)
            engine.keeper.finish(name)
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
        one, two, three = (event.content_keys for event in engine.kinds("claim_committed"))
        assert (20, 15, 20) == (len(set(one)), len(set(two)), len(set(three)))
        assert one[:15] == two
        assert set(one).isdisjoint(three)
        assert {24} == {len(key) for key in one}


class TestBehindAGap:
    def test_range(self) -> None:
        """A claim on the end of a prompt whose beginning is gone: nobody can use it, so nobody asks
        for it."""
        engine = engine_of()
        tail = claim(materialization_predicate="contiguous_range(40, 20)")
        Hand(engine, "first", 61, tail).allocate().compute().end()
        (block,) = [block for _, block in engine.pool.find(KEYS[10:11])]
        engine.pool.drop([block])
        again = Hand(engine, "again")
        assert 10 == again.look()
        again.end()
        assert [(10, 0)] == looked(engine)
        assert KEPT is engine.judge(HARD).verdict

    def test_claimed(self) -> None:
        """A claim is made on a prompt of which a block is missing: what is behind it is of no use,
        and is let go before."""
        engine = engine_of()
        Hand(engine, "before").allocate().compute().end()
        (block,) = [block for _, block in engine.pool.find(KEYS[10:11])]
        engine.pool.drop([block])
        first = Hand(engine, "first", 61, on(HARD))
        assert 10 == first.look()
        assert [] == engine.pool.find(KEYS[11:])
        first.allocate().compute(10).end()
        kinds = [event.kind for event in engine.kinds("block_lost", "claim_committed")]
        assert ["block_lost", "block_lost", "claim_committed"] == kinds
        assert 140 == len(engine.pool.free)
        assert KEPT is engine.judge(HARD).verdict
