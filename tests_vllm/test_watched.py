"""soft_priority and best_effort in the real engine: nobody is kept out, and all of it is told."""

from __future__ import annotations

from typing import Any

from runtime_hooks.demo.engine import claim
from spec.claims.states import Mode
from spec.stream.outcome import ModeVerdict
from tests_vllm.conftest import Make

SOFT = Mode.SOFT_PRIORITY


def soft(name: str, priority: int, blocks: int = 20) -> dict[str, Any]:
    """The metadata of a request with a soft_priority claim."""
    return claim(f"claim:{name}", blocks, "soft_priority", priority=priority)


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
