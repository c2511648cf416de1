"""Decides what two claims on one object share: equal positions are equal, unless both state
contents that differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from monitor.evaluate.claim import ClaimRun

__all__ = ["differ", "shared", "stating", "where_alike"]


def shared(
    one: ClaimRun, other: ClaimRun, pairs: Iterable[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Of the pairs of a position and a block that one claim holds those that the other does."""
    return [pair for pair in pairs if pair[0] < other.extent and _alike(one, other, pair[0])]


def where_alike(one: ClaimRun, other: ClaimRun, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """The runs of positions, in these, at which two claims on one object hold the same."""
    end, keyed = min(end, other.extent), min(len(one.keys), len(other.keys))
    yield from ((at, at + 1) for at in range(begin, min(end, keyed)) if _alike(one, other, at))
    if max(begin, keyed) < end:
        yield max(begin, keyed), end


def stating(claim: ClaimRun, kin: Iterable[ClaimRun], position: int) -> ClaimRun:
    """The claim that states what the object of this one holds at a position: it, or a longer one
    where that is behind its end.

    Args:
        kin: the claims on its object.
    """
    if position < max(len(claim.keys), claim.extent):
        return claim
    return next((each for each in kin if position < len(each.keys) and each.tracked), claim)


def differ(one: ClaimRun, other: ClaimRun, position: int) -> bool:
    """Whether two claims, on one object or not, cannot hold the same there."""
    if position < min(len(one.keys), len(other.keys)):
        return one.keys[position] != other.keys[position]
    caches = {claim.cache_identity for claim in (one, other)}
    return None not in caches and len(caches) > 1


def _alike(one: ClaimRun, other: ClaimRun, position: int) -> bool:
    """Whether two claims on one object hold the same there: both may state contents that differ."""
    if position >= min(len(one.keys), len(other.keys)):
        return True
    return one.keys[position] == other.keys[position]
