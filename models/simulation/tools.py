"""Estimates how long tools take, and for how long to pin the blocks of a turn that calls one.

Source: an execution note of 2026-04-02 about a fork of vLLM 0.7 (Continuum and ContextServe):
`estimate_with_func.py` (`ToolCallParser`, `set_up_pin`), `context_predictor.py` and
`bayesian_predictor.py`, as far as the note describes them. The note names no prior, no quantile and
no least count of observations: those of `Predictor` are choices of this project. Left out is its
classifier by 25 features (XGBoost), which the note does not list.
"""

from __future__ import annotations

import math
from bisect import insort
from collections import deque
from dataclasses import dataclass, field
from random import Random
from statistics import NormalDist
from typing import Final, NamedTuple, Protocol

__all__ = ["THRESHOLD", "Means", "Predictor", "Quantiles", "ToolTimes", "pin_seconds"]

THRESHOLD: Final = 2.0
"""`FIXED_THRESHOLD_CONTINUUM`, in seconds: how long a pin is, and the most that its tool takes."""

_RECENT: Final = 256


class ToolTimes(Protocol):
    """Learns the times of calls, tool by tool."""

    def observe(self, tool: str, seconds: float) -> None:
        """Take the time of a call that has ended."""


def pin_seconds(times: Means, tool: str) -> float:
    """Continuum's time-to-live of a turn that calls a tool; 0 is no pin.

    A tool whose mean exceeds the threshold is not pinned. All others are pinned for as long as the
    threshold. A tool of which no call has ended counts as fast.
    """
    return 0.0 if times.estimate(tool) > THRESHOLD else THRESHOLD


@dataclass(slots=True)
class Means:
    """The mean of all calls of a tool, as Continuum's fork has it."""

    _sums: dict[str, tuple[int, float]] = field(default_factory=dict)

    def observe(self, tool: str, seconds: float) -> None:
        """Take the time of a call that has ended."""
        count, total = self._sums.get(tool, (0, 0.0))
        self._sums[tool] = count + 1, total + seconds

    def estimate(self, tool: str) -> float:
        """The mean, in seconds; 0 if no call was observed."""
        count, total = self._sums.get(tool, (0, 0.0))
        return total / count if count else 0.0


@dataclass(slots=True)
class Quantiles:
    """The time within which a share of the latest 256 calls of a tool ended.

    Continuum's paper sets the time-to-live by the distribution of past times; its fork does not.
    """

    share: float = 0.9
    _recent: dict[str, tuple[deque[float], list[float]]] = field(default_factory=dict)

    def observe(self, tool: str, seconds: float) -> None:
        """Take the time of a call that has ended."""
        order, ranked = self._recent.setdefault(tool, (deque(), []))
        order.append(seconds)
        insort(ranked, seconds)
        if len(order) > _RECENT:
            ranked.remove(order.popleft())

    def estimate(self, tool: str) -> float:
        """The least observed time that reaches the share, in seconds; 0 if no call was observed."""
        if tool not in self._recent:
            return 0.0
        ranked = self._recent[tool][1]
        return ranked[max(0, math.ceil(self.share * len(ranked)) - 1)]


_FAST: Final = frozenset({"ls", "cat", "pwd", "git status"})
_FAST_S: Final = 3.0
_SLOW: Final = frozenset({"make", "pytest", "pip install", "docker build"})
_LEAST: Final = 3
_SPREAD: Final = math.log(2)


class _Belief(NamedTuple):
    """A normal-inverse-gamma belief about the logarithm of a tool's time."""

    mean: float = 0.0
    weight: float = 0.1
    shape: float = 2.0
    scale: float = 2.0 * _SPREAD**2
    calls: int = 0

    def after(self, value: float) -> _Belief:
        weight = self.weight + 1
        gap = value - self.mean
        return _Belief(
            self.mean + gap / weight,
            weight,
            self.shape + 0.5,
            self.scale + 0.5 * self.weight * gap * gap / weight,
            self.calls + 1,
        )

    def drawn(self, chance: Random) -> tuple[float, float]:
        """A mean and a deviation, drawn from the belief (Thompson sampling)."""
        variance = self.scale / chance.gammavariate(self.shape, 1.0)
        return chance.gauss(self.mean, math.sqrt(variance / self.weight)), math.sqrt(variance)


class Predictor:
    """ContextServe's dispatch: by rules, then by a posterior quantile, then as Continuum does.

    Args:
        quantile: the share of calls that a pin should outlast.
        seed: the same seed draws the same samples.
    """

    def __init__(self, quantile: float = 0.9, seed: int = 0) -> None:
        self._deviations = NormalDist().inv_cdf(quantile)
        self._chance = Random(seed)
        self._beliefs: dict[str, _Belief] = {}
        self._means = Means()

    def observe(self, tool: str, seconds: float) -> None:
        """Take the time of a call that has ended."""
        self._means.observe(tool, seconds)
        belief = self._beliefs.get(tool, _Belief())
        self._beliefs[tool] = belief.after(math.log(max(seconds, 1e-3)))

    def seconds(self, tool: str) -> float:
        """The time-to-live of a turn that calls a tool; 0 is no pin."""
        if tool in _FAST or tool in _SLOW:
            return _FAST_S if tool in _FAST else 0.0
        belief = self._beliefs.get(tool, _Belief())
        if belief.calls < _LEAST:
            return pin_seconds(self._means, tool)
        mean, deviation = belief.drawn(self._chance)
        seconds = math.exp(mean + self._deviations * deviation)
        return seconds if seconds <= THRESHOLD else 0.0
