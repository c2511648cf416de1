"""A claim loses a block to a failure, or one of the copies of a block."""

import time

from runtime_hooks.claims.arrivals import Arrival
from spec.claims.states import Mode
from spec.events.canonical import Event
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.tiny import TinyEngine, claim, keys_of

HARD, KEPT = Mode.HARD_PROTECTED, ModeVerdict.KEPT


def lose(engine: TinyEngine, prompt: str, position: int) -> None:
    """The block of a prompt at this position is lost to a failure."""
    key = keys_of(prompt, position + 1)[-1]
    block = next(block for block, content in engine.pool.content.items() if content == key)
    engine.pool.drop([block])


def second_copy(engine: TinyEngine, prompt: str, position: int) -> int:
    """A request that does not look computes the block of a prompt at this position again."""
    keys = keys_of(prompt, position + 1)
    assert engine.arrive(Arrival("copying", keys, position + 1, 0))[0]
    (copy,) = engine.take("copying", 1)
    engine.compute("copying", keys, position, [copy])
    engine.pool.release([copy])
    engine.finish("copying")
    return copy


def told(engine: TinyEngine) -> list[Event]:
    """What was reported until now."""
    while engine.journal.waiting:
        time.sleep(0.01)
    time.sleep(0.05)  # for the last batch
    return engine.sink.events


class TestLost:
    """A kept claim loses a block to a failure."""

    def test_behind(self) -> None:
        """What is behind the lost block is held, and nobody finds it: it goes for the request that
        makes the prompt again, in the room of the claim, which is whole then.
        """
        engine = TinyEngine()
        assert engine.serve("resident", 60, claim())
        lose(engine, "resident", 10)
        assert (21, 59) == (len(engine.pool.free), len(engine.pool.content))
        assert not engine.serve("other", 70)
        assert engine.serve("again", 60, prompt="resident")
        assert 20 == len(engine.pool.free)
        assert not engine.serve("active", 70)
        told = [e.kind for e in engine.kinds("claim_harmed", "claim_materialized")]
        assert ["claim_materialized", "claim_harmed", "claim_materialized"] == told
        assert KEPT is engine.judge(HARD).verdict

    def test_beyond(self) -> None:
        """A loss behind what the predicate needs harms nobody, and is made good the same way."""
        engine = TinyEngine()
        assert engine.serve("resident", 60, claim(blocks=40, footprint_blocks=60))
        lose(engine, "resident", 50)
        assert engine.serve("again", 60, prompt="resident")
        assert 20 == len(engine.pool.free)
        assert [] == engine.kinds("claim_harmed")
        assert KEPT is engine.judge(HARD).verdict

    def test_short(self) -> None:
        """A request that ends before makes what was lost, and what is behind is found again."""
        engine = TinyEngine()
        assert engine.serve("resident", 60, claim())
        lose(engine, "resident", 10)
        assert engine.serve("short", 11, prompt="resident")
        assert 20 == len(engine.pool.free)
        assert 1 == len(engine.kinds("block_lost"))
        assert 2 == len(engine.kinds("claim_materialized"))
        assert KEPT is engine.judge(HARD).verdict

    def test_not_cached(self) -> None:
        """A request that is not cached makes nothing for the claim: what is held stays."""
        engine = TinyEngine()
        assert engine.serve("resident", 60, claim())
        lose(engine, "resident", 10)
        assert not engine.serve("again", 60, prompt="resident", no_admit=True)
        assert 21 == len(engine.pool.free)
        assert KEPT is engine.judge(HARD).verdict

    def test_needed(self) -> None:
        """What another claim needs stays, where its predicate does not ask for what was lost."""
        engine = TinyEngine(usable=200)
        assert engine.serve("resident", 60, claim())
        tail = claim("claim:b", materialization_predicate="contiguous_range(40, 20)")
        assert engine.serve("again", 60, tail, prompt="resident")
        lose(engine, "resident", 10)
        assert engine.serve("once more", 60, prompt="resident")
        assert 140 == len(engine.pool.free)
        assert ["claim:a"] == [event.claim_id for event in engine.kinds("claim_harmed")]
        assert KEPT is engine.judge(HARD).verdict

    def test_copy(self) -> None:
        """A second copy of the lost block takes its place at once: nothing is lost, and that one is
        no victim from then on.
        """
        engine = TinyEngine(usable=200)
        assert engine.serve("resident", 60, claim())
        copy = second_copy(engine, "resident", 10)
        assert 140 == len(engine.pool.free)
        lose(engine, "resident", 10)
        assert 140 == len(engine.pool.free)
        assert copy not in engine.pool.free
        assert [] == engine.kinds("claim_harmed")
        assert 1 == len(engine.kinds("claim_materialized"))
        assert KEPT is engine.judge(HARD).verdict

    def test_both_copies(self) -> None:
        """The claim is harmed when the last copy goes, and not before."""
        engine = TinyEngine(usable=200)
        assert engine.serve("resident", 60, claim())
        second_copy(engine, "resident", 10)
        for harms in (0, 1):
            lose(engine, "resident", 10)
            assert harms == len([e for e in told(engine) if e.kind == "claim_harmed"])
        assert 141 == len(engine.pool.free)
        assert KEPT is engine.judge(HARD).verdict

    def test_copy_evicted(self) -> None:
        """A copy that is taken leaves the other: that is told as a fact, and concerns no claim."""
        engine = TinyEngine()
        assert engine.serve("resident", 60, claim())
        copy = second_copy(engine, "resident", 10)
        assert engine.serve("active", 20)
        assert [(copy,)] == [event.block_ids for event in engine.kinds("block_evicted")]
        assert [] == engine.kinds("claim_harmed")
        assert 1 == len(engine.kinds("claim_materialized"))
        assert KEPT is engine.judge(HARD).verdict
