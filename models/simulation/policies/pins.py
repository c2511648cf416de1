"""Policies that pin the blocks of a turn while its tool runs: Continuum and ContextServe."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple

import msgspec

from models.simulation.policies.base import NoOptions, Policy, Seconds
from models.simulation.tools import THRESHOLD, Means, Predictor, Quantiles, ToolTimes, pin_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from models.simulation.policies.base import Host
    from models.simulation.request import Run, Workload

__all__ = ["Context", "Pin", "Tools"]

_EXPIRY: Final = "expiry"


class _Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`ttl` is in seconds, or says how the times of tools are estimated."""

    ttl: Seconds | Literal["mean", "quantile"] = THRESHOLD


class _Pinned(NamedTuple):
    blocks: list[int]
    until: float


class Tools:
    """What the engines of one simulation learn of tools: a call ends when the next turn comes.

    Args:
        seconds: the time to live of the pin of a turn that calls a tool; 0 is no pin.
    """

    def __init__(self, times: ToolTimes | None, seconds: Callable[[str], float]) -> None:
        self.seconds = seconds
        self._times = times
        self._called: dict[str, tuple[str, float]] = {}  # by session

    def called(self, run: Run, now: float) -> None:
        """A turn ended, and its tool runs."""
        if self._times is not None and run.request.session and run.request.tool:
            self._called[run.request.session] = run.request.tool, now

    def came(self, run: Run) -> None:
        """A turn came: the tool of the turn before has ended."""
        before = self._called.pop(run.request.session or "", None)
        if before is not None and self._times is not None:
            tool, since = before
            self._times.observe(tool, run.arrived - since)


class Pin(Policy):
    """Continuum: the blocks of a turn that calls a tool stay for `ttl` seconds, and longer while
    the next turn of its session waits. The turns of sessions with a pin are admitted first, then
    those of the session that came first. Where an answer needs a block, the turn of the session
    that came last is preempted, unless it calls no tool; a pin is dropped if nobody else runs.

    `ttl=mean` pins for two seconds, unless the mean of the tool is over that, as the fork does;
    `ttl=quantile` for as long as nine of ten calls of the tool took, as its paper does.

    Source: vllm-continuum on vLLM 0.7, `vllm/v1/core/sched/scheduler.py`, without the defects that
    `models.runtimes.continuum` describes, but for the pins that stay while their job waits.
    """

    name: ClassVar = "pin"

    Options: ClassVar[type[msgspec.Struct]] = _Options

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._pins: dict[str, _Pinned] = {}  # by session
        self._came: dict[str, int] = {}  # the order in which sessions came
        self._waiting: dict[str, dict[Run, None]] = {}
        self._order: list[tuple[int, str]] = []  # sessions that wait, or waited

    @classmethod
    def made(cls, workload: Workload, blocks: int, options: Any) -> Callable[[], Policy]:
        """Engines learn the times of tools together."""
        tools = cls._learns(options)
        return lambda: cls(tools)

    @classmethod
    def _learns(cls, options: Any) -> Tools:
        ttl = options.ttl
        if ttl == "mean":
            means = Means()
            return Tools(means, lambda tool: pin_seconds(means, tool))
        if ttl == "quantile":
            times = Quantiles()
            return Tools(times, lambda tool: times.estimate(tool) or THRESHOLD)
        return Tools(None, lambda tool: ttl)

    def arrives(self, engine: Host, run: Run) -> str | None:
        """Queue the turn."""
        self._tools.came(run)
        self.preempted(engine, run)
        return None

    def preempted(self, engine: Host, run: Run) -> None:
        """A turn waits by the time at which its session came."""
        session = _session(run)
        number = self._came.setdefault(session, len(self._came))
        if session not in self._waiting:
            self._waiting[session] = {}
            heappush(self._order, (number, session))
        self._waiting[session][run] = None

    def next(self, engine: Host) -> Run:
        """Of the sessions with a pin, or else of all, the request of the one that came first."""
        pinned = [session for session in self._pins if session in self._waiting]
        if pinned:
            session = min(pinned, key=self._came.__getitem__)
        else:
            while self._order[0][1] not in self._waiting:
                heappop(self._order)
            session = self._order[0][1]
        return next(iter(self._waiting[session]))

    def leaves(self, engine: Host, run: Run) -> None:
        """A turn waits no more."""
        session = _session(run)
        del self._waiting[session][run]
        if not self._waiting[session]:
            del self._waiting[session]

    def victim(self, engine: Host) -> Run:
        """Of the turns that call a tool, or else of all, that of the session that came last."""
        early = [run for run in engine.running if run.request.tool is not None]
        return max(early or engine.running, key=lambda run: self._came[_session(run)])

    def ends(self, engine: Host, run: Run) -> None:
        """Replace the pin of the session."""
        session, tool = _session(run), run.request.tool
        self._unpin(engine, session)
        self._tools.called(run, engine.now)
        seconds = self._tools.seconds(tool) if run.request.session and tool else 0.0
        if seconds > 0:
            engine.pool.hold(run.blocks)
            until = engine.now + seconds
            self._pins[session] = _Pinned(run.blocks, until)
            engine.wake(until, _EXPIRY)
            engine.tally.holds(len(engine.pool.held), len(self._pins))

    def passes(self, engine: Host) -> None:
        """End the pins whose time is over, unless a turn of their session waits."""
        now = engine.now
        over = [name for name, pin in self._pins.items() if pin.until <= now]
        for session in over:
            if session not in self._waiting:
                self._unpin(engine, session)
                engine.tally.claimed("expired")

    def yields(self, engine: Host) -> bool:
        """End the pin with the latest time."""
        if not self._pins:
            return False
        self._unpin(engine, max(reversed(self._pins), key=lambda name: self._pins[name].until))
        engine.tally.claimed("dropped")
        return True

    def _unpin(self, engine: Host, session: str) -> None:
        pin = self._pins.pop(session, None)
        if pin is not None:
            engine.pool.release(reversed(pin.blocks))


class Context(Pin):
    """ContextServe: as Continuum, but a pin lasts as long as the tool is predicted to take. A tool
    that is known or predicted to be slow is not pinned.

    Source: an execution note of 2026-04-02 on a fork of vLLM 0.7, section 10.4
    (`models.simulation.tools.Predictor`).
    """

    name: ClassVar = "context"
    Options: ClassVar[type[msgspec.Struct]] = NoOptions

    @classmethod
    def _learns(cls, options: Any) -> Tools:
        predictor = Predictor()
        return Tools(predictor, predictor.seconds)


def _session(run: Run) -> str:
    """The session of a request; one without is its own."""
    return run.request.session or f"request:{run.request.id}"
