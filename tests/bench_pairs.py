"""Compares two ways of doing one thing in pairs of short rounds: the median of the ratios.

The two rounds of a pair follow each other in random order, so that what else the machine does, and
how it changes over time, falls on both alike. The interval is that of order statistics, which
assumes nothing of how the ratios are distributed.
"""

from __future__ import annotations

import statistics
from math import comb
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from random import Random

__all__ = ["LEAST", "Ratio", "in_pairs", "ratio"]

LEAST: Final = 6
"""Of fewer pairs there is no interval."""

BEYOND: Final = 40
"""The interval misses the median at each of its ends in one of so many cases, at most."""

T = TypeVar("T")


class Ratio(NamedTuple):
    """The median of the ratios of so many pairs; the true median is from `low` to `high` with a
    confidence of 95 %.
    """

    median: float
    low: float
    high: float
    pairs: int

    def __str__(self) -> str:
        return f"x{self.median:.3f} (95 %: {self.low:.3f} to {self.high:.3f}, {self.pairs} pairs)"


def in_pairs(
    first: Callable[[], T], second: Callable[[], T], pairs: int, chance: Random
) -> Iterator[tuple[T, T]]:
    """What a round of each came to, pair by pair; which one begins is random in each pair."""
    for _ in range(pairs):
        if chance.random() < 0.5:
            one = first()
            yield one, second()
        else:
            other = second()
            yield first(), other


def ratio(pairs: Sequence[tuple[float, float]]) -> Ratio:
    """The ratio of the second to the first.

    Raises:
        ValueError: there are too few pairs for an interval.
    """
    found = sorted(second / first for first, second in pairs)
    at = _rank(len(found))
    return Ratio(statistics.median(found), found[at], found[-1 - at], len(found))


def _rank(number: int) -> int:
    """How many of so many values, in order, may be left out at each end.

    Each value is below the median with the chance of a fair coin. The value of rank k (from 0) is
    above the median if at most k are below it.
    """
    below, at = 0, -1
    while (below := below + comb(number, at + 1)) * BEYOND <= 2**number:
        at += 1
    if at < 0:
        raise ValueError(f"{number} pairs are too few for an interval; take {LEAST} or more")
    return at
