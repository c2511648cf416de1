"""Tests of runtime_hooks.claims.registry: the lifecycle of each claim."""

from __future__ import annotations

import pytest

from runtime_hooks.claims.entry import Entry
from spec.claims.states import ClaimState, Mode
from spec.events.alphabet import Kind
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.tiny import NS, TinyEngine, claim, copied, keys_of

HARD = Mode.HARD_PROTECTED
ILLEGAL = {("claim lifecycle", "OwnershipError"): 1}


def only(engine: TinyEngine) -> Entry:
    """The one live claim."""
    (entry,) = engine.controller._registry.live.values()
    return entry


class TestLifecycle:
    """The state of a claim follows its reports."""

    def test_materialized(self) -> None:
        """An accepted claim is materialized once its blocks are computed."""
        engine = TinyEngine()
        engine.serve("resident", 60, claim())
        assert ClaimState.MATERIALIZED is only(engine).lifecycle.state

    @pytest.mark.parametrize("mode", ["soft_priority", "best_effort"])
    def test_watched(self, mode: str) -> None:
        """A mode without acceptance begins with the registration, and unmaterializes."""
        engine = TinyEngine()
        more = {"priority": 1} if mode == "soft_priority" else {}
        engine.serve("resident", 60, claim(mode=mode, **more))
        assert ClaimState.MATERIALIZED is only(engine).lifecycle.state
        engine.serve("active", 70)
        assert ClaimState.ACCEPTED is only(engine).lifecycle.state

    def test_offloaded(self) -> None:
        """A copied claim is offloaded, and restoring while a request waits for it."""
        engine, _ = copied()
        entry = only(engine)
        assert ClaimState.OFFLOADED is entry.lifecycle.state
        assert engine.serve("active", 70)
        engine.controller.offloaded.loading("again", keys_of("resident", 60))
        assert ClaimState.RESTORING is entry.lifecycle.state
        engine.controller.offloaded.failed("again")
        assert ClaimState.OFFLOADED is entry.lifecycle.state

    def test_harmed(self) -> None:
        """A reset harms it, and it may be materialized again."""
        engine = TinyEngine()
        engine.serve("resident", 60, claim())
        engine.controller.tracker.lost(list(engine.pool.content))
        assert ClaimState.HARMED is only(engine).lifecycle.state

    @pytest.mark.parametrize("seconds", [0.1, 0.3, 2, 1e-9, 1234567.891])
    def test_expired(self, seconds: float) -> None:
        """A claim expires when its duration is over, by its lifecycle too, to the nanosecond."""
        engine = TinyEngine()
        engine.serve("resident", 60, claim(mode="expiring", duration=f"{seconds:.9f} s"))
        entry = only(engine)
        engine.now += round(seconds * NS)
        engine.controller.tick()
        assert ClaimState.EXPIRED is entry.lifecycle.state
        assert 0 == engine.controller.claims
        engine.events()  # there was no fault

    def test_released(self) -> None:
        """The owner releases it, whatever its scope is called."""
        engine = TinyEngine()
        engine.serve("resident", 60, claim())
        entry = only(engine)
        assert "" == engine.release("claim:a", "tenant")
        assert ClaimState.RELEASED is entry.lifecycle.state

    def test_bounded(self) -> None:
        """What a long-lived claim went through is not kept for ever."""
        engine = TinyEngine()
        for _ in range(20):
            engine.serve("resident", 60, claim())
            engine.controller.tracker.lost(list(engine.pool.content))
            engine.pool.content.clear()
        assert 8 == len(only(engine).lifecycle.history)


class TestIllegal:
    """A move that the lifecycle does not have is a fault of the plugin."""

    def test_reported(self, caplog: pytest.LogCaptureFixture) -> None:
        """It is logged and counted, nothing is raised, and the claim is not found kept."""
        engine = TinyEngine()
        engine.serve("resident", 60, claim())
        entry = only(engine)
        engine.controller._registry.report(entry, Kind.CLAIM_EXPIRED, by="runtime")
        assert "claim_expired on claim 'claim:a' in state materialized" in caplog.text
        assert ClaimState.MATERIALIZED is entry.lifecycle.state
        assert engine.serve("active", 10)

        engine.expected_faults = ILLEGAL
        assert ModeVerdict.KEPT is not engine.judge(HARD).verdict

    def test_no_gap(self) -> None:
        """The report stands in the stream without a gap, and a check finds the breach."""
        engine = TinyEngine()
        engine.serve("resident", 60, claim())
        before = engine.journal.used
        engine.controller._registry.report(only(engine), Kind.CLAIM_ACCEPTED, footprint=60)
        assert before + 1 == engine.journal.used
        engine.expected_faults = {("claim lifecycle", "LifecycleError"): 1}
        assert ModeVerdict.VIOLATED is engine.judge(HARD).verdict
