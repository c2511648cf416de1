"""Defines what a policy decides: who waits, what stays cached, and which blocks are evicted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Protocol

import msgspec

from models.simulation.pool import Pool

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable, Sequence

    from models.simulation.outcome import Tally
    from models.simulation.request import Run, Workload

__all__ = ["DEFER", "Host", "NoOptions", "Policy", "Seconds"]

Seconds = Annotated[float, msgspec.Meta(gt=0, le=1e9)]

DEFER: Final = "deferred"
"""What a policy answers to a request that it will queue later."""


class Host(Protocol):
    """The engine of a policy (`models.simulation.engine.Engine`)."""

    name: int
    blocks: int
    pool: Pool
    waiting: deque[Run]
    running: dict[Run, None]

    @property
    def now(self) -> float:
        """Seconds since the start of the workload."""

    @property
    def block(self) -> int:
        """Tokens of a block."""

    @property
    def tally(self) -> Tally:
        """What the simulation counts."""

    @property
    def load(self) -> int:
        """The requests that wait or run."""

    def wake(self, at: float, what: Any) -> None:
        """Call `policy.wakes` with `what` at this time."""

    def refuse(self, run: Run, reason: str) -> None:
        """End a request without an answer."""


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
    def made(cls, workload: Workload, blocks: int, options: Any) -> Callable[[], Policy]:
        """A function that makes the policy of one more engine.

        Args:
            blocks: usable blocks of each pool.
            options: of the type `Options`.
        """
        return cls

    def pool(self, engine: Host) -> Pool:
        """Make the pool of the engine."""
        return Pool(engine.blocks)

    def home(self, engines: Sequence[Host], run: Run) -> int | None:
        """The number of the engine that a request must go to, or None.

        It is asked of the policy of the first engine.
        """
        return None

    def arrives(self, engine: Host, run: Run) -> str | None:
        """Decide on a request that arrived: None queues it, DEFER keeps it, a reason refuses it."""
        return None

    def next(self, engine: Host) -> Run:
        """The request that is admitted next; some wait."""
        return engine.waiting[0]

    def leaves(self, engine: Host, run: Run) -> None:
        """A request waits no more: it is admitted or refused."""

    def victim(self, engine: Host) -> Run:
        """The request that is preempted when an answer needs a block; some run."""
        return next(reversed(engine.running))

    def preempted(self, engine: Host, run: Run) -> None:
        """A request was preempted, and waits again."""

    def beyond(self, keys: Sequence[int], hit: int, most: int) -> int:
        """How many blocks after the `hit` ones of the pool a tier has, up to `most` in all."""
        return 0

    def placed(self, engine: Host, run: Run) -> None:
        """A request was admitted; its prompt is cached."""

    def lost(self, engine: Host, run: Run, victims: Sequence[int]) -> None:
        """Blocks with these keys were evicted for a request."""

    def ends(self, engine: Host, run: Run) -> None:
        """A request has its answer; its blocks are still in use."""

    def ended(self, engine: Host, run: Run) -> None:
        """A request has its answer; its blocks are free, as far as no policy holds them."""

    def refused(self, engine: Host, run: Run) -> None:
        """A request was refused; it has no blocks."""

    def wakes(self, engine: Host, what: Any) -> None:
        """A time given to `engine.wake` has come."""

    def passes(self, engine: Host) -> None:
        """The engine is about to admit requests."""

    def yields(self, engine: Host) -> bool:
        """Release something, because no request can go on; False where there is none."""
        return False
