"""A multi-turn agent with pins, in the real engine."""

from __future__ import annotations

from typing import Any

from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests_vllm.conftest import Clock, Make
from tests_vllm.engine import Engine

EXPIRING = Mode.EXPIRING


def step(*, last: bool = False, ttl: str = "60 s") -> dict[str, Any]:
    """The metadata of one step of a job."""
    return {"pin": {"job_id": "agent", "last_step": last, "ttl": ttl, "owner_scope": "tenant"}}


def used(engine: Engine) -> int:
    """Blocks in use."""
    return 80 - int(engine.pool.get_num_free_blocks())


class TestAgent:
    def test_gap(self, make: Make) -> None:
        """Pressure in the gap finds no room in the prefix, until its time is over."""
        engine = make()
        clock = Clock(engine)
        engine.serve(("agent", 60, step(ttl="2 s")))
        (early,) = engine.serve(("active", 70))
        assert "abort" == early.finish_reason
        clock.wait(2)
        (late,) = engine.serve(("active", 70))
        assert ("length", 0) == (late.finish_reason, used(engine))

        engine.close()
        assert 1 == len(engine.kinds("claim_expired"))
        assert ModeVerdict.KEPT is engine.judge(EXPIRING).verdict
