"""Tests of tracking.offloaded: claims are copied to a tier, and loaded back or not."""

import itertools

import pytest

from runtime_hooks.claims.arrivals import Arrival
from runtime_hooks.settings.config import Drill
from runtime_hooks.trace.names import Place
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.tiny import TinyEngine, TinyTier, claim, copied, in_blocks, keys_of

KEPT, VIOLATED = ModeVerdict.KEPT, ModeVerdict.VIOLATED
KEYS = keys_of("resident", 60)


def come_back(engine: TinyEngine, name: str, *, well: bool) -> tuple[str, ...]:
    """A request needs the claim back from the tier; the claims that it is refused for."""
    engine.arrive(Arrival(name, KEYS, 61, 60))
    engine.controller.offloaded.loading(name, KEYS)
    if not well:
        refused = engine.controller.offloaded.failed(name)
        engine.finish(name)
        return refused
    blocks = engine.pool.free[:60]
    gone = [block for block in blocks if engine.pool.content.pop(block, None)]
    engine.controller.tracker.evicted(gone, name)
    engine.pool.content.update(zip(blocks, KEYS, strict=True))
    engine.controller.offloaded.loaded(name, in_blocks(KEYS, blocks))
    engine.controller.tracker.look_up(name, KEYS, len(blocks))
    engine.finish(name)
    return ()


class TestTier:
    def test_leaves_once_copied(self) -> None:
        """Once all of it is copied the blocks may go, and the copies are kept."""
        engine, tier = copied()
        assert 80 == len(engine.pool.free)
        assert set(KEYS) == tier.kept
        assert engine.serve("active", 70)
        assert [] == engine.kinds("claim_harmed")
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict

    def test_comes_back(self) -> None:
        """It is restored before it is reused."""
        engine, _ = copied()
        assert engine.serve("active", 70)
        assert () == come_back(engine, "again", well=True)
        told = ("claim_restore_required", "load_finished", "claim_restored", "prefix_reused")
        assert list(told) == [event.kind for event in engine.kinds(*told)]
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict

    def test_does_not_come_back(self) -> None:
        """The request is refused in its name; the next one brings it back."""
        engine, _ = copied()
        assert engine.serve("active", 70)
        assert ("claim:a",) == come_back(engine, "again", well=False)
        assert () == come_back(engine, "third", well=True)
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict

    @pytest.mark.parametrize(
        "settings",
        [{"enforce": ()}, {"drill": Drill(suppress=(Kind.CLAIM_RESTORED,))}],
        ids=["not enforced", "not told"],
    )
    def test_broken(self, settings: dict[str, object]) -> None:
        """Without its outcome, or its report, it is violated."""
        engine = TinyEngine(tier=TinyTier(), **settings)
        assert engine.serve("resident", 60, claim(mode="offloadable"))
        engine.controller.offloaded.stored(KEYS)
        assert engine.serve("active", 70)
        come_back(engine, "again", well="enforce" not in settings)
        assert VIOLATED is engine.judge(Mode.OFFLOADABLE).verdict

    def test_copy_lost(self) -> None:
        """A copy that is lost while the blocks are gone is harm; while they are there it is not,
        and they are held again."""
        for taken in (False, True):
            engine, _ = copied()
            if taken:
                assert engine.serve("active", 70)
            engine.controller.offloaded.lost(None)
            assert taken is (1 == len(engine.kinds("claim_harmed")))
            assert taken or 20 == len(engine.pool.free)
            assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict

    def test_released(self) -> None:
        """When the claim ends its copies may be given up."""
        engine, tier = copied()
        assert "" == engine.release("claim:a", "tenant")
        assert set() == tier.kept
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict

    def test_two(self) -> None:
        """What is copied takes no room: a second offloadable claim fits; a hard one does not."""
        engine, _ = copied()
        assert engine.serve("hard", 40, claim("claim:h", 40))
        assert "it needs 40 blocks, and 20 of 80 are not claimed" == engine.answers[-1]["claim"]
        assert engine.serve("second", 60, claim("claim:b", mode="offloadable"))
        assert "" == engine.answers[-1]["claim"]

    def test_other_mode(self) -> None:
        """Of a hard claim's blocks the tier keeps nothing: they stay held, and no copy is told."""
        engine = TinyEngine(tier=TinyTier())
        assert engine.serve("resident", 60, claim())
        engine.controller.offloaded.stored(KEYS)
        assert 20 == len(engine.pool.free)
        assert [] == engine.kinds("store_finished", "claim_offloaded")

    def test_copied_before(self) -> None:
        """A claim on what the tier has already is offloaded at once, and comes back."""
        engine = TinyEngine(tier=TinyTier(*KEYS))
        stated = claim(mode="offloadable")
        fits, answers = engine.arrive(Arrival("first", KEYS, 61, 60, stated))
        assert (True, {"claim": ""}) == (fits, answers)
        assert 1 == len(engine.kinds("claim_offloaded"))

    def test_partly_copied(self) -> None:
        """Of a claim that is not copied whole nothing is promised to come back: its loads are
        ordinary."""
        tier = TinyTier()
        engine = TinyEngine(tier=tier)
        assert engine.serve("resident", 60, claim(mode="offloadable"))
        engine.controller.offloaded.stored(KEYS[:30])
        assert () == come_back(engine, "again", well=False)
        assert [] == engine.kinds("claim_restore_required", "load_failed", "claim_offloaded")
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict

    def aborted(self, engine: TinyEngine) -> list[tuple[bytes, Place]]:
        """A request needs the claim back, and is aborted; the blocks that will hold it."""
        assert engine.serve("active", 70)
        engine.arrive(Arrival("gone", KEYS, 61, 60))
        engine.controller.offloaded.loading("gone", KEYS)
        assert engine.controller.offloaded.under_way("gone")
        return in_blocks(KEYS, range(1_000, 1_060))

    def told(self, engine: TinyEngine) -> list[str]:
        """What was told of the request that was aborted, and of blocks that were let go."""
        events = engine.events()
        arrived = next(i for i, event in enumerate(events) if event.request_id == "gone")
        mine = [e for e in events[arrived:] if e.request_id == "gone" or e.kind == "block_lost"]
        return [event.kind for event in mine]

    def test_aborted(self) -> None:
        """A request that is aborted ends when its load has come back: that is told, and that the
        blocks were let go; nothing failed, and nobody was refused."""
        engine, _ = copied()
        back = self.aborted(engine)
        engine.controller.offloaded.loaded_unused("gone", back)
        engine.finish("gone")
        assert () == come_back(engine, "again", well=True)
        restored = ["claim_restore_required", "load_finished", "claim_restored", "block_lost"]
        assert ["request_arrived", *restored, "request_finished"] == self.told(engine)
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict

    def test_aborted_and_computed(self) -> None:
        """Meanwhile another request computed the blocks: the claim keeps those when the others are
        let go, which came back for nobody."""
        engine, _ = copied()
        back = self.aborted(engine)
        assert engine.serve("another", 60, prompt="resident", looks=False)
        engine.controller.offloaded.loaded_unused("gone", back)
        engine.finish("gone")
        assert engine.serve("third", 60, prompt="resident")
        assert [] == engine.kinds("claim_harmed")
        (loaded,), (lost,) = engine.kinds("load_finished"), engine.kinds("block_lost")
        assert {place.block for _, place in back} == set(loaded.block_ids) == set(lost.block_ids)
        assert 1 == len([e for e in engine.kinds("prefix_reused") if e.request_id == "third"])
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict

    def test_aborted_and_failed(self) -> None:
        """The load of a request that was aborted fails: then it failed, in the claim's name."""
        engine, _ = copied()
        self.aborted(engine)
        assert ("claim:a",) == engine.controller.offloaded.failed("gone")
        engine.finish("gone")
        failed = ["load_failed", "claim_restoration_failed", "request_refused"]
        told = ["request_arrived", "claim_restore_required", *failed, "request_finished"]
        assert told == self.told(engine)
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict

    def test_time(self) -> None:
        """A failed load has the time at which it was found, and its outcome a later one."""
        engine, _ = copied()
        self.aborted(engine)
        looks = itertools.count(engine.now, 7)
        engine.controller._clock = lambda: next(looks)
        engine.controller.offloaded.failed("gone")
        kinds = ("load_failed", "claim_restoration_failed", "request_refused")
        failed, outcome, refused = (engine.kinds(kind)[0].time_ns for kind in kinds)
        assert (failed + 7, failed + 7) == (outcome, refused)

    def test_aborted_and_released(self) -> None:
        """The claim is given up meanwhile: nothing is owed any more."""
        engine, _ = copied()
        self.aborted(engine)
        assert "" == engine.release("claim:a", "tenant")
        assert not engine.controller.offloaded.under_way("gone")
        engine.finish("gone")
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict
