"""Enumerates divisions of a pool among three spans, to find whether one gives table 6's shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from typing import Final, NamedTuple

__all__ = ["FAMILIES", "Family", "Search", "Shares"]

Shares = tuple[int, ...]

_BLOCKS: Final = 40
"""Of each span: 640 tokens, which the complete-prefix row of table 6 states for A and B."""
_POOLS: Final = range(1, 3 * _BLOCKS + 1)
"""Blocks that are divided: the paper's pools have 80, and what filler takes is not stated."""
_WORTH: Final = 18
"""Of A and B together: the complete-prefix row."""


class Search(NamedTuple):
    """How many divisions were tried, how many are equal, and the first nearest, so far apart."""

    tried: int
    equal: int
    nearest: Shares
    apart: int


class Family(NamedTuple):
    """A reading of "naive fair share" with all values of what the paper does not state."""

    name: str
    varied: str
    divisions: Callable[[], Iterator[Shares]]

    def search(self, shares: Shares) -> Search:
        """Compare every division of the family with these shares."""
        tried, equal, nearest, least = 0, 0, shares, 1_000_000
        for division in self.divisions():
            tried += 1
            apart = sum(abs(a - b) for a, b in zip(division, shares, strict=True))
            equal += not apart
            if apart < least:
                nearest, least = division, apart
        return Search(tried, equal, nearest, least)


def _down(pool: int, weights: Sequence[int]) -> Shares:
    return tuple(pool * weight // sum(weights) for weight in weights)


def _up(pool: int, weights: Sequence[int]) -> Shares:
    return tuple(-(-pool * weight // sum(weights)) for weight in weights)


def _nearest(pool: int, weights: Sequence[int]) -> Shares:
    total = sum(weights)
    return tuple((2 * pool * weight + total) // (2 * total) for weight in weights)


def _remainders(pool: int, weights: Sequence[int]) -> Shares:
    """The largest remainders get the blocks that are left."""
    shares = list(_down(pool, weights))
    by_remainder = sorted(range(len(weights)), key=lambda at: -(pool * weights[at] % sum(weights)))
    for at in by_remainder[: pool - sum(shares)]:
        shares[at] += 1
    return tuple(shares)


def _last(pool: int, weights: Sequence[int]) -> Shares:
    """The last span gets what is left."""
    shares = _down(pool, weights)
    return (*shares[:-1], pool - sum(shares[:-1]))


_ROUNDINGS: Final = (_down, _up, _nearest, _remainders, _last)


def _capped(shares: Shares) -> Shares:
    return tuple(min(_BLOCKS, each) for each in shares)


def _weighted(weights: Callable[[], Iterator[Shares]]) -> Callable[[], Iterator[Shares]]:
    """Divide each pool by each weighting and rounding."""
    return lambda: (
        _capped(rounding(pool, each))
        for each in weights()
        for pool in _POOLS
        for rounding in _ROUNDINGS
    )


def _equal() -> Iterator[Shares]:
    yield 1, 1, 1


def _sizes() -> Iterator[Shares]:
    return ((_BLOCKS, _BLOCKS, size) for size in range(1, 161))


def _values() -> Iterator[Shares]:
    return ((a, _WORTH - a, c) for a in range(1, _WORTH) for c in range(1, _WORTH + 1))


def _lru() -> Iterator[Shares]:
    """Evict in the order of last use, the last block of a span first, as a block pool does."""
    for order in permutations(range(3)):
        for victims in range(3 * _BLOCKS + 1):
            shares, left = [_BLOCKS] * 3, victims
            for at in order:
                gone = min(left, _BLOCKS)
                shares[at], left = _BLOCKS - gone, left - gone
            yield tuple(shares)


def _in_turn() -> Iterator[Shares]:
    """Evict the last so many blocks of each span in turn."""
    for order in permutations(range(3)):
        for chunk in range(1, _BLOCKS + 1):
            shares = [_BLOCKS] * 3
            while any(shares):
                for at in order:
                    for _ in range(min(chunk, shares[at])):
                        shares[at] -= 1
                        yield tuple(shares)


def _served() -> Iterator[Shares]:
    """Give the first what it may have, the next a share of the rest, and so on."""
    for pool in _POOLS:
        for parts in range(1, 9):
            left, shares = pool, list[int]()
            for place in range(3):
                share = min(_BLOCKS, left // max(1, parts - place))
                shares.append(share)
                left -= share
            yield tuple(shares)


FAMILIES: Final = (
    Family("equal shares", "pool, rounding", _weighted(_equal)),
    Family("shares by size", "pool, rounding, size of C", _weighted(_sizes)),
    Family("shares by value", "pool, rounding, values with A + B = 18", _weighted(_values)),
    Family("shares of what is left", "pool, number of owners", _served),
    Family("eviction by last use", "order, number of victims", _lru),
    Family("eviction in turn", "order, blocks at a time, number of victims", _in_turn),
)
