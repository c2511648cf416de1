"""Tests of claims.pins: the prefix of an agent stays while its tools run."""

from typing import Any

import pytest

from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.tiny import NS, TinyEngine


def step(job: str = "job", *, last: bool = False, **more: Any) -> dict[str, Any]:
    """What a request says of its job."""
    return {"job_id": job, "last_step": last, "owner_scope": "tenant", **more}


def free(engine: TinyEngine) -> int:
    """Blocks that may be taken."""
    return len(engine.pool.free)


class TestAgent:
    def test_turns(self) -> None:
        """The prefix grows with each turn, stays in between, and is free after the last."""
        engine = TinyEngine()
        left = []
        for turn, blocks in enumerate((10, 20, 30)):
            assert engine.serve(f"turn {turn}", blocks, prompt="agent", pin=step(last=turn == 2))
            left.append(free(engine))
        assert [70, 60, 80] == left
        assert 2 == len(engine.kinds("claim_accepted")) == len(engine.kinds("claim_released"))
        assert 2 == len(engine.kinds("prefix_reused"))
        assert ModeVerdict.KEPT is engine.judge(Mode.EXPIRING).verdict

    def test_gap(self) -> None:
        """While the tool runs, others find no room in the prefix; once it is over they do."""
        engine = TinyEngine()
        assert engine.serve("turn", 60, prompt="agent", pin=step(ttl="2 s"))
        assert not engine.serve("active", 70)
        engine.now += 2 * NS
        assert engine.serve("late", 70)
        assert 80 == free(engine)
        assert ModeVerdict.KEPT is engine.judge(Mode.EXPIRING).verdict

    def test_every_pin_expires(self) -> None:
        """All pins that are due expire at once, also those of jobs that wait."""
        engine = TinyEngine()
        for job in range(4):
            assert engine.serve(f"turn {job}", 10, pin=step(f"job {job}"))
        assert 40 == free(engine)
        engine.now += 2 * NS
        engine.controller.tick()
        assert 80 == free(engine)
        assert 4 == len(engine.kinds("claim_expired"))

    def test_no_name(self) -> None:
        """Requests without a job are not taken for one another."""
        engine = TinyEngine()
        for number, pin in enumerate(({}, {"job_id": None}, {"job_id": ""}, "job", {"job": "x"})):
            assert engine.serve(f"turn {number}", 5, pin=pin)
            assert engine.answers[-2]["pin"]
        assert 80 == free(engine)

    def test_overlap(self) -> None:
        """Two steps of one job at once: the pin is the last one's, and the last step frees all."""
        engine = TinyEngine()
        assert engine.serve("a", 10, pin=step())
        assert engine.serve("b", 12, pin=step())
        assert 68 == free(engine)
        assert engine.serve("c", 5, pin=step(last=True))
        assert 80 == free(engine)
        assert engine.serve("d", 5, pin=step(last=True))
        assert ModeVerdict.KEPT is engine.judge(Mode.EXPIRING).verdict

    def test_other_owner(self) -> None:
        """One job id under two owners is two jobs."""
        engine = TinyEngine()
        assert engine.serve("a", 10, pin=step())
        assert engine.serve("b", 10, pin={**step(last=True), "owner_scope": "other"})
        assert 70 == free(engine)

    @pytest.mark.parametrize(
        ("pin", "reason"),
        [
            ({**step(), "ttl": "soon"}, "duration"),
            ({**step(), "ttl": 2}, "ttl is no text"),
            ({**step(), "last_step": 1}, "last_step is neither"),
            ({**step(), "job_id": "j" * 300}, "job_id is no text"),
            ({**step(), "extra": 1}, "pin is no object"),
        ],
    )
    def test_bad(self, pin: object, reason: str) -> None:
        """What cannot be used is turned away with a reason, and the request served."""
        engine = TinyEngine()
        assert engine.serve("turn", 10, pin=pin)
        assert any(reason in answers.get("pin", "") for answers in engine.answers)
        assert 80 == free(engine)
