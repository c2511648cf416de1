"""Defines what a policy decides: who waits, what stays cached, and which blocks are evicted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from models.simulation.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from models.simulation.engine import Engine, Run
    from models.simulation.request import Workload

__all__ = ["NoOptions", "Policy"]


class NoOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A policy without options."""


class Policy:
    """vLLM's own: the blocks that were used least recently are evicted first.

    Source: vLLM 0.32.0, `vllm/v1/core/block_pool.py`. Other policies replace some of its methods.
    There is one object for each engine, made by `made`.
    """

    name: ClassVar = "lru"
    Options: ClassVar[type[msgspec.Struct]] = NoOptions

    @classmethod
    def made(
        cls, workload: Workload, blocks: int, engines: int, options: Any
    ) -> Callable[[], Policy]:
        """A function that makes the policy of one more engine.

        Args:
            blocks: usable blocks of each pool.
            options: of the type `Options`.
        """
        return cls

    def pool(self, engine: Engine) -> Pool:
        """Make the pool of the engine."""
        return Pool(engine.blocks)

    def home(self, engines: Sequence[Engine], run: Run) -> Engine | None:
        """The engine that a request must go to, or None; asked of the first engine's policy."""
        return None

    def arrives(self, engine: Engine, run: Run) -> str | None:
        """Decide on a request that arrived: None queues it, DEFER keeps it, a reason refuses it."""
        return None

    def next(self, engine: Engine) -> Run:
        """The request that is admitted next; some wait."""
        return engine.waiting[0]

    def beyond(self, keys: Sequence[int], hit: int, most: int) -> int:
        """How many blocks after the `hit` ones of the pool a tier has, up to `most` in all."""
        return 0

    def placed(self, engine: Engine, run: Run) -> None:
        """A request was admitted; its prompt is cached."""

    def lost(self, engine: Engine, run: Run, victims: Sequence[int]) -> None:
        """Blocks with these keys were evicted for a request."""

    def ends(self, engine: Engine, run: Run) -> None:
        """A request has its answer; its blocks are still in use."""

    def wakes(self, engine: Engine, what: Any) -> None:
        """A time given to `engine.wake` has come."""

    def passes(self, engine: Engine) -> None:
        """The engine is about to admit requests."""

    def yields(self, engine: Engine) -> bool:
        """Release something, because no request can go on; False where there is none."""
        return False
