"""soft_priority and best_effort in the real engine: nobody is kept out, and all of it is told."""

from __future__ import annotations

from typing import Any

import pytest

from monitor.engine import ModeVerdict
from runtime_hooks.config import Drill
from runtime_hooks.demo.engine import Engine, claim
from spec.alphabet import Kind
from spec.claims import Mode
from spec.verdicts import Verdict
from tests_vllm.conftest import Make

SOFT, BEST = Mode.SOFT_PRIORITY, Mode.BEST_EFFORT
LOSSES = (Kind.CLAIM_BLOCK_LOST, Kind.CLAIM_UNMATERIALIZED)


def soft(name: str, priority: int, blocks: int = 20) -> dict[str, Any]:
    """The metadata of a request with a soft_priority claim."""
    return claim(f"claim:{name}", blocks, "soft_priority", priority=priority)


def pressed(engine: Engine, ranks: dict[str, int]) -> list[int]:
    """Claims of 20 blocks each, then 20 that nobody claims, then a request for 70 of 80; how many
    are left, of those that nobody claims and of each claim.
    """
    for name, rank in ranks.items():
        (answer,) = engine.serve((name, 20, soft(name, rank)))
        assert {"claim": {"decision": "accepted"}} == answer.metadata
    engine.serve(("unclaimed", 20))
    (answer,) = engine.serve(("active", 70))
    assert "length" == answer.finish_reason
    return [sum(engine.cached(name, 20)) for name in ("unclaimed", *ranks)]


class TestOrder:
    """Of 60 cached blocks 50 go."""

    @pytest.mark.parametrize(
        ("ranks", "left"), [({"a": 1, "b": 9}, [0, 0, 10]), ({"a": 9, "b": 1}, [0, 10, 0])]
    )
    def test_two(self, make: Make, ranks: dict[str, int], left: list[int]) -> None:
        """What nobody claims goes first, though it is the youngest; then the lower priority."""
        engine = make()
        assert left == pressed(engine, ranks)
        assert [True] * 10 + [False] * 10 == engine.cached(max(ranks, key=ranks.__getitem__), 20)

        engine.close()
        report = engine.judge(SOFT)
        assert ModeVerdict.KEPT is report.verdict
        assert Verdict.SATISFIED is report.obligations["priority_influence"]

    def test_equal(self, make: Make) -> None:
        """Of one priority the one goes first that was used longest ago, as without claims."""
        engine = make()
        assert [0, 0, 10] == pressed(engine, {"a": 3, "b": 3})

        engine.close()
        report = engine.judge(SOFT)
        assert (ModeVerdict.KEPT, "not exercised: priority_influence") == (
            report.verdict,
            report.why,
        )

    def test_not_enforced(self, make: Make) -> None:
        """By use alone the higher goes first, which the facts say."""
        engine = make(enforce=())
        assert [10, 0, 0] == pressed(engine, {"a": 9, "b": 1})

        engine.close()
        report = engine.judge(SOFT)
        assert ModeVerdict.VIOLATED is report.verdict
        assert "priority_influence" in report.why

    def test_not_told(self, make: Make) -> None:
        """Losses that are kept back are missed."""
        engine = make(drill=Drill(suppress=LOSSES))
        pressed(engine, {"a": 1, "b": 9})

        engine.close()
        report = engine.judge(SOFT)
        assert ModeVerdict.VIOLATED is report.verdict
        assert "claim_scoped_telemetry" in report.why


class TestPool:
    """What the engine's own pool says of ranked blocks."""

    def test_free(self, make: Make) -> None:
        """They are free, a reset takes them too, and disarmed they are where others are."""
        engine = make()
        engine.serve(("a", 20, soft("a", 1)), ("b", 20, soft("b", 9)))
        queue = engine.pool.free_block_queue
        assert (80, 0.0) == (engine.pool.get_num_free_blocks(), engine.pool.get_usage())
        assert 40 == len(queue.get_all_free_blocks())
        assert engine.core.scheduler.reset_prefix_cache()
        assert 80 == len(queue.get_all_free_blocks())
        engine.serve(("a", 20))
        assert 60 == len(queue.get_all_free_blocks())
        (attachment,) = engine.armed.attachments

        engine.close()
        assert {} == attachment.faults
        assert 80 == len(queue.get_all_free_blocks())
        assert ModeVerdict.KEPT is engine.judge(SOFT).verdict

    def test_whole_pool(self, make: Make) -> None:
        """A request that needs every block gets every block."""
        engine = make()
        engine.serve(("a", 20, soft("a", 5)), ("b", 20, soft("b", 5)), ("c", 20, soft("c", 7)))
        (answer,) = engine.serve(("active", 79))
        assert "length" == answer.finish_reason
        assert [0, 0, 1] == [sum(engine.cached(name, 20)) for name in "abc"]

    def test_reused(self, make: Make) -> None:
        """A ranked prefix is found and used, and is ranked again when its request ends."""
        engine = make()
        (first,) = engine.serve(("a", 20, soft("a", 1, 19)))
        (again,) = engine.serve(("a", 20))
        assert (19 * 32, first.tokens) == (again.cached, again.tokens)
        assert 61 == len(engine.pool.free_block_queue.get_all_free_blocks())

        engine.close()
        assert 1 == len(engine.kinds("prefix_reused"))
        assert ModeVerdict.KEPT is engine.judge(SOFT).verdict


class TestBestEffort:
    def test_told(self, make: Make) -> None:
        """60 blocks are claimed of 80, a request for 70 is served, and that is told."""
        engine = make()
        engine.serve(("resident", 60, claim(mode="best_effort")))
        (answer,) = engine.serve(("active", 70))
        assert "length" == answer.finish_reason
        assert 10 == sum(engine.cached("resident", 60))

        engine.close()
        assert 1 == len(engine.kinds("claim_unmaterialized"))
        report = engine.judge(BEST)
        assert (ModeVerdict.KEPT, "every obligation exercised") == (report.verdict, report.why)

    def test_not_told(self, make: Make) -> None:
        """A loss that is kept back is missed when the prompt is computed again."""
        engine = make(drill=Drill(suppress=(Kind.CLAIM_UNMATERIALIZED,)))
        engine.serve(("resident", 60, claim(mode="best_effort")))
        engine.serve(("active", 70))
        engine.serve(("resident", 60))

        engine.close()
        report = engine.judge(BEST)
        assert ModeVerdict.VIOLATED is report.verdict
        assert "claim_scoped_telemetry" in report.why
