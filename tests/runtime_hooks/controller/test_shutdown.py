"""The engine shuts down: what happens to unfinished requests and live claims."""

import pytest

from runtime_hooks.claims.arrivals import Arrival
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.tiny import NS, TinyEngine, claim, copied, keys_of

KEPT = ModeVerdict.KEPT
HARD = Mode.HARD_PROTECTED


def ended(engine: TinyEngine) -> list[Event]:
    """What is reported at the end, once the engine has ended."""
    before = engine.journal.used
    engine.controller.close()
    return [event for event in engine.events() if (event.sequence or 0) >= before]


class TestClaims:
    @pytest.mark.parametrize(
        ("mode", "more", "told"),
        [
            (HARD, {}, ["block_lost", "claim_harmed"]),
            (Mode.DEMOTABLE, {}, ["claim_retired", "claim_demoted", "block_lost"]),
            (Mode.EXPIRING, {"duration": "5 s"}, ["block_lost", "claim_harmed"]),
            (Mode.BEST_EFFORT, {}, ["block_lost", "claim_unmaterialized"]),
            (Mode.SOFT_PRIORITY, {"priority": 1}, ["block_lost", "claim_unmaterialized"]),
        ],
    )
    def test_alive(self, mode: Mode, more: dict[str, object], told: list[str]) -> None:
        """What is cached is lost: a claim that may be demoted is, before; any other is harmed."""
        engine = TinyEngine()
        assert engine.serve("resident", 60, claim(mode=mode, **more))
        assert told == [event.kind for event in ended(engine)]
        assert KEPT is engine.judge(mode).verdict

    def test_late(self) -> None:
        """A claim whose time is over has expired before."""
        engine = TinyEngine()
        assert engine.serve("resident", 60, claim(mode="expiring", duration="5 s"))
        engine.now += 5 * NS
        told = ["duration_elapsed", "claim_retired", "claim_expired", "block_lost"]
        assert told == [event.kind for event in ended(engine)]
        assert KEPT is engine.judge(Mode.EXPIRING).verdict

    def test_copied(self) -> None:
        """A copy in the tier goes with the engine."""
        engine, _ = copied()
        told = ["block_lost", "host_copy_lost", "claim_harmed"]
        assert told == [event.kind for event in ended(engine)]
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict

    def test_not_there(self) -> None:
        """A claim that was never materialized loses nothing."""
        engine = TinyEngine()
        engine.arrive(Arrival("resident", keys_of("resident", 60), 60, 60, claim()))
        engine.finish("resident")
        assert ["block_lost"] == [event.kind for event in ended(engine)]
        assert KEPT is engine.judge(HARD).verdict


class TestRequests:
    def test_in_hand(self) -> None:
        """Requests that have not ended do, those that were served and those that wait."""
        engine = TinyEngine(defer_s=10.0)
        assert engine.serve("resident", 60, claim())
        for name, blocks in (("running", 10), ("waiting", 70)):
            engine.arrive(Arrival(name, keys_of(name, blocks), blocks, blocks))
        finished = ["request_finished", "request_finished", "block_lost", "claim_harmed"]
        assert finished == [event.kind for event in ended(engine)]
        assert KEPT is engine.judge(HARD).verdict

    def test_load(self) -> None:
        """A load that is under way brings nothing back, and is answered in the claim's name."""
        engine, _ = copied()
        engine.arrive(Arrival("reuse", keys_of("resident", 60), 61, 60))
        engine.controller.offloaded.loading("reuse", keys_of("resident", 60))
        told = [event.kind for event in ended(engine)]
        answered = [Kind.LOAD_FAILED, Kind.CLAIM_RESTORATION_FAILED, Kind.REQUEST_REFUSED]
        assert [*answered, Kind.REQUEST_FINISHED] == told[:4]
        assert KEPT is engine.judge(Mode.OFFLOADABLE).verdict

    def test_pin(self) -> None:
        """A request that would pin its prompt does not any more."""
        engine = TinyEngine()
        pin = {"job_id": "agent"}
        engine.arrive(Arrival("turn", keys_of("turn", 5), 5, 5, pin=pin))
        assert ["request_finished", "block_lost"] == [event.kind for event in ended(engine)]
