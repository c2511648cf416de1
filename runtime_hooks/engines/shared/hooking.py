"""Adapts a version of vLLM: hooks a scheduler and its pool when it is made.

Methods of these objects are wrapped, not of their classes, so an engine that is not hooked pays
nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from vllm.config.scheduler import SchedulerConfig
from vllm.v1.core.kv_cache_utils import get_group_id
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.engine.core import EngineCore

from runtime_hooks.claims.groups import Groups
from runtime_hooks.controller.controller import Controller
from runtime_hooks.engines.shared.attachment import HookedScheduler
from runtime_hooks.engines.shared.balancing import route_by_claims
from runtime_hooks.engines.shared.blocks import BlockHooks
from runtime_hooks.engines.shared.configured import configured
from runtime_hooks.engines.shared.engine import (
    EVERYWHERE,
    LOADED,
    Tried,
    drops_last,
    groups_of,
    identity_of,
    no_tier,
    unfit,
    unfit_class,
    unobserved,
)
from runtime_hooks.engines.shared.front import add_to_server
from runtime_hooks.engines.shared.loads import LoadHooks
from runtime_hooks.engines.shared.loop import wake_idle
from runtime_hooks.engines.shared.offload import OffloadHooks, manager_of, primary_of
from runtime_hooks.engines.shared.parallel import rank_of
from runtime_hooks.engines.shared.pool import VllmPool
from runtime_hooks.engines.shared.requests import in_group, prompts_of
from runtime_hooks.engines.shared.resuming import VllmNextEngine
from runtime_hooks.engines.shared.routes import ClaimRoutes
from runtime_hooks.engines.shared.serving import answer_refusals
from runtime_hooks.engines.shared.steps import StepHooks
from runtime_hooks.engines.shared.worker import check_workers
from runtime_hooks.engines.shared.wraps import Wraps
from runtime_hooks.trace.faults import not_armed
from runtime_hooks.trace.file import TraceFile
from runtime_hooks.trace.leases import SUFFIX, LeaseLog

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runtime_hooks.engines.adapter import Configuration, Front
    from runtime_hooks.engines.checks import Point
    from runtime_hooks.routing.rank import Rank
    from runtime_hooks.routing.routes import RouteLog
    from runtime_hooks.settings.config import Settings
    from runtime_hooks.trace.journal import Journal
    from spec.events.canonical import CacheGroup

__all__ = ["VllmAdapter"]


class VllmAdapter:
    """The adapter of one version (`runtime_hooks.engines.adapter.Adapter`).

    A version whose hooks do something else names its own classes.

    Args:
        points: the parts of the engine that are as they were when this version was tried.
        tried: what was tried with this version.
    """

    block_hooks: type[BlockHooks] = BlockHooks
    step_hooks: type[StepHooks] = StepHooks
    offload_hooks: type[OffloadHooks] = OffloadHooks
    loaded: tuple[str, ...] = LOADED

    def __init__(self, points: Sequence[Point], tried: Tried = EVERYWHERE) -> None:
        self.points: Final = tuple(points)
        self.tried = tried

    def unfit(self, scheduler: Any) -> str:
        """Why the engine of a scheduler cannot be hooked as configured; empty where it can be."""
        config = scheduler.vllm_config
        if why := unfit(scheduler, self.tried) or self.unfit_settings(config):
            return why
        manager = manager_of(scheduler)
        if primary_of(manager) is not manager and not self.tried.tiers:
            return "the offload tier has others behind it, and one was tried"
        return ""

    def unfit_settings(self, config: Any) -> str:
        """Why this version, unlike others, cannot be hooked with a configuration; or empty."""
        return ""

    def rank(self, scheduler: Any) -> Rank | None:
        """The data-parallel rank of an engine; None where it is the only one of its server."""
        return rank_of(scheduler.vllm_config)

    def groups(self, scheduler: Any) -> tuple[CacheGroup, ...]:
        """The groups of caches of an engine, if it has several."""
        groups = scheduler.kv_cache_config.kv_cache_groups
        return groups_of(groups, scheduler.hash_block_size, drops=drops_last(scheduler))

    def unobserved(self, scheduler: Any) -> tuple[str, ...]:
        """What is not observed of the engine as it is configured, in words."""
        return unobserved(scheduler.vllm_config)

    def configured(self, flags: Sequence[str], *, load: bool) -> Configuration:
        """What the engine makes of a model and the flags of its server."""
        return configured(self, flags, load=load)

    def attach(
        self,
        scheduler: Any,
        settings: Settings,
        journal: Journal,
        alarm: Callable[[], str],
        routes: RouteLog | None,
    ) -> HookedScheduler:
        """Hook a scheduler: wrap methods of its objects, so that they call a controller."""
        stated, drops = self.groups(scheduler), drops_last(scheduler)
        groups = Groups(stated, in_group, get_group_id, drops=drops)
        blocks = self.block_hooks(scheduler, groups)
        pool = VllmPool(scheduler.kv_cache_manager.block_pool, blocks.uncomputed)
        manager = manager_of(scheduler)
        tier = None if manager is None else self.offload_hooks(scheduler, manager, settings.drill)
        next_engine = VllmNextEngine(scheduler) if settings.resume else None
        trace = journal.sink(TraceFile)
        leases = LeaseLog(f"{'' if trace is None else trace.path}{SUFFIX}")
        controller = Controller(
            settings,
            journal,
            pool,
            identity_of(scheduler),
            tier,
            no_tier=no_tier(scheduler.vllm_config),
            next_engine=next_engine,
            groups=groups,
            prompts=prompts_of(scheduler, groups.lead),
            alarm=alarm,
        )
        wraps, steps = Wraps(controller), self.step_hooks(scheduler, blocks)
        if next_engine is not None:
            next_engine.install(wraps)

        def restore() -> None:
            leases.close()
            if routes is not None:
                routes.close()
            pool.restore()
            if tier is not None:
                tier.restore()

        attachment = HookedScheduler(scheduler, controller, journal, wraps, restore)
        try:
            blocks.install(controller, wraps)
            pool.queue.install(wraps)
            steps.install(controller, wraps, pool, attachment)
            if tier is not None:
                tier.install(controller, wraps, steps, blocks)
            elif scheduler.connector is not None:
                LoadHooks(scheduler, blocks, leases).install(wraps, steps)
            if routes is not None:
                ClaimRoutes(scheduler.hash_block_size, groups.lead, routes).install(
                    controller, steps
                )
        except Exception:
            wraps.remove()  # all hooks or none
            controller.leave()
            raise
        return attachment

    def hook(
        self,
        settings: Settings,
        made: Callable[[Any], None],
        ended: Callable[[Any], None],
        runs: Callable[[Any, Callable[[Callable[[], None]], None]], None],
        front: Front,
    ) -> Callable[[], None]:
        """Hook the engines, workers and servers that this process makes from now on."""
        init, shutdown = Scheduler.__init__, EngineCore.shutdown

        def init_and_attach(self: Scheduler, *args: Any, **named: Any) -> None:
            init(self, *args, **named)
            made(self)

        def end_and_shut_down(self: EngineCore) -> None:
            # Before the workers are stopped: that may take longer than the engine is given.
            ended(getattr(self, "scheduler", None))
            shutdown(self)

        Scheduler.__init__, EngineCore.shutdown = init_and_attach, end_and_shut_down
        scheduler_class = SchedulerConfig.get_scheduler_cls

        def chosen(self: SchedulerConfig) -> type[Any]:
            # One that is no subclass of vLLM's is never hooked, so nothing else would report it.
            kind: type[Any] = scheduler_class(self)
            if not issubclass(kind, Scheduler):
                not_armed(unfit_class(kind))
            return kind

        SchedulerConfig.get_scheduler_cls = chosen
        unchecked = check_workers(digests=settings.digests)
        unanswered = answer_refusals(private=bool(settings.scopes))
        unwoken = wake_idle(runs)
        unadded = add_to_server(front)
        unrouted = route_by_claims(front.router)

        def end() -> None:
            Scheduler.__init__, EngineCore.shutdown = init, shutdown
            SchedulerConfig.get_scheduler_cls = scheduler_class
            unchecked()
            unanswered()
            unwoken()
            unadded()
            unrouted()

        return end
