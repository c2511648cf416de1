"""Claims that were accepted and never materialized: what is shown of them, and which end."""

from __future__ import annotations

from typing import Any

import pytest

from runtime_hooks.claims.arrivals import Arrival
from runtime_hooks.control.text import claims_text, show_text
from spec.claims.durations import TimeUnit
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.tiny import NS, TinyEngine, TinyTier, claim, keys_of

WITHIN = 60
OWN: dict[str, dict[str, Any]] = {
    "expiring": {"duration": "3000 s"},
    "soft_priority": {"priority": 3},
}
OTHERS = ("hard_protected", "expiring", "soft_priority", "best_effort")


def waits(engine: TinyEngine, name: str = "claim:a", mode: str = "demotable") -> None:
    """A claim is accepted, and the request that brought it ends without computing anything."""
    stated = claim(name, 20, mode, on_abort="keep", **OWN.get(mode, {}))
    _, answers = engine.arrive(Arrival(name, keys_of(name, 20), 20, 20, stated))
    assert {"claim": ""} == answers
    engine.finish(name, aborted=True)


def later(engine: TinyEngine, seconds: float) -> None:
    """Time goes by, and the engine looks at the clock."""
    engine.now += int(seconds * NS)
    engine.controller.tick()


class TestDemoted:
    def test_in_time(self) -> None:
        """A demotable claim ends when its time is over, not before, by a report of the runtime;
        what it kept from others is free again."""
        engine = TinyEngine(materialize_within_s=WITHIN)
        waits(engine)
        later(engine, WITHIN - 0.001)
        assert 1 == engine.controller.claims
        later(engine, 0.001)
        assert (0, 1) == (
            engine.controller.claims,
            engine.controller.operator.figures().overdue,
        )
        assert engine.serve("active", 80)
        (demoted,) = engine.kinds("claim_demoted")
        assert "claim:a" == demoted.claim_id
        assert ModeVerdict.VIOLATED is not engine.judge(Mode.DEMOTABLE).verdict

    @pytest.mark.parametrize("mode", OTHERS)
    def test_others(self, mode: str) -> None:
        """A claim of another mode stays: the contract gives its end to its owner, or its time."""
        engine = TinyEngine(materialize_within_s=WITHIN)
        waits(engine, mode=mode)
        later(engine, 20 * WITHIN)
        assert 1 == engine.controller.claims
        assert [] == engine.kinds("claim_demoted", "claim_released", "claim_expired")

    def test_once_there(self) -> None:
        """One that was there stays, also when it is no more."""
        engine = TinyEngine(materialize_within_s=WITHIN)
        engine.serve("resident", 20, claim(blocks=20, mode="demotable"))
        engine.controller.tracker.before_reset()
        engine.pool.content.clear()
        engine.controller.tracker.after_reset(done=True)
        later(engine, 2 * WITHIN)
        assert 1 == engine.controller.claims
        assert [] == engine.kinds("claim_demoted")

    def test_off(self) -> None:
        """Without the setting none ends."""
        engine = TinyEngine()
        waits(engine)
        later(engine, 10_000)
        assert 1 == engine.controller.claims

    def test_in_turn(self) -> None:
        """Each has its own time; what ended meanwhile is nobody's business, and is not kept."""
        engine = TinyEngine(materialize_within_s=WITHIN)
        for number in range(3):
            waits(engine, f"claim:{number}")
            later(engine, 10)
        engine.release("claim:1", "tenant")
        later(engine, WITHIN - 30)
        assert ["claim:2"] == [*engine.controller._registry.live]
        later(engine, WITHIN)
        assert ([], []) == (
            [*engine.controller._registry.live],
            [*engine.controller._registry._expected],
        )
        demoted = [each.claim_id for each in engine.kinds("claim_demoted")]
        assert ["claim:0", "claim:2"] == demoted


class TestShown:
    @pytest.mark.parametrize("mode", ["demotable", *OTHERS])
    def test_never_there(self, mode: str) -> None:
        """The operator sees how long it has been live without ever being there, in the list, the
        page of the claim, and the metrics of its mode."""
        engine = TinyEngine()
        waits(engine, mode=mode)
        later(engine, 312)
        operator = engine.controller.operator
        listed = " ".join(claims_text(operator.claims()).split())
        assert "0 of 20 blocks cached, never there in 312.0 s" in listed
        assert "312.0 s live, and was never there" in show_text(operator.show("claim:a"))
        figures = operator.figures().modes[mode]
        assert (1, 1, 312.0) == (figures.live, figures.never_there, figures.longest_s)

    def test_there(self) -> None:
        """Once it is there nothing of that is left."""
        engine = TinyEngine()
        waits(engine)
        engine.serve("claim:a", 20)
        operator = engine.controller.operator
        assert "never there" not in claims_text(operator.claims())
        assert (0, 0.0) == (
            operator.figures().modes["demotable"].never_there,
            operator.figures().modes["demotable"].longest_s,
        )

    def test_in_the_tier(self) -> None:
        """A copy in the tier is there: the claim can be restored."""
        engine = TinyEngine(tier=TinyTier(*keys_of("claim:a", 20)))
        waits(engine, mode="offloadable")
        engine.controller._admission.expire(TimeUnit.SECONDS)
        assert 0 == engine.controller.operator.figures().modes["offloadable"].never_there
