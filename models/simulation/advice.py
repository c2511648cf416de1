"""Says in sentences what policies win and cost beside lru, for the operator who must choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from models.simulation.outcome import Summary

__all__ = ["advice", "enough", "regrets"]

_LITTLE: Final = 0.01
"""A difference of prompt tokens below this share, or of so many seconds, counts as none."""
_APART: Final = 1.1
"""Times whose quotient is below this count as equal."""


def advice(found: Sequence[Summary], blocks: int) -> list[str]:
    """A sentence about each policy beside `lru`, the first one.

    Args:
        blocks: usable blocks of one pool.
    """
    lru, *others = found
    return [_beside(lru, each, blocks) for each in others]


def regrets(found: Sequence[Summary], *, fixed: bool) -> dict[str, float | None]:
    """The share of prompt tokens by which each policy saves less than `oracle`.

    It is None where the oracle is no bound: if anybody waits or is refused with either policy, if a
    tier holds more than the pool, or if the requests are not `fixed` beforehand, in their times and
    their engine. Without the oracle it is empty.
    """
    oracle = next((each for each in found if each.policy == "oracle"), None)
    if oracle is None:
        return {}
    bound = fixed and _never_waits(oracle)
    return {
        each.policy: oracle.saved - each.saved if bound and _never_waits(each) else None
        for each in found
    }


def _never_waits(it: Summary) -> bool:
    """True if each request was served at once, by the pool alone."""
    waits = it.wait_s.mean or it.preempted or it.deferred or it.refused
    return not waits and not it.loaded_tokens


def enough(saved: Mapping[float, float]) -> float | None:
    """The least value past which no larger one saves a point more; None if it is the largest.

    Args:
        saved: the share of prompt tokens that each value saves.
    """
    values = sorted(saved)
    found = next(
        value
        for at, value in enumerate(values)
        if all(saved[more] - saved[value] < _LITTLE for more in values[at + 1 :])
    )
    return found if found < values[-1] else None


def _turned(summary: Summary) -> tuple[float, float]:
    """The shares of the requests that were deferred, and that were refused."""
    count = max(summary.requests, 1)
    return summary.deferred / count, sum(summary.refused.values()) / count


def _beside(lru: Summary, it: Summary, blocks: int) -> str:
    """What one policy holds and saves, and what it wins and costs besides."""
    gain = it.saved - lru.saved
    wins, costs = _times(lru, it)
    for how, share, usual in zip(("deferred", "refused"), _turned(it), _turned(lru), strict=True):
        if share != usual:
            words = f"{share:.1%} of the requests are {how}" + (
                f", not {usual:.1%}" if usual else ""
            )
            (costs if share > usual else wins).append(words)
    subject = f"{it.policy} {_holding(it, blocks)}"
    if abs(gain) < _LITTLE and not wins and not costs:
        return f"{subject}is as good as lru, which saves {lru.saved:.1%} of the prompt tokens."
    points = f"{100 * abs(gain):.1f} points {'more' if gain >= 0 else 'less'} than lru"
    bound = " (it knows the workload, and cannot be had)" if it.policy == "oracle" else ""
    said = "; ".join(
        (f"{subject}saves {it.saved:.1%} of the prompt tokens, {points}{bound}", *wins)
    )
    return f"{said}. It costs: {'; '.join(costs)}." if costs else f"{said}."


def _holding(it: Summary, blocks: int) -> str:
    """The share of a pool that claims or pins take at most, with the words that go on."""
    live = it.claims.get("most_live", 0)
    if not live:
        return "accepts no claim, and " if it.claims.get("rejected") else ""
    kind = "claim" if it.policy.startswith("claim") else "pin"
    rejected = it.claims.get("rejected", 0)
    share = f"{it.claims['most_blocks'] / blocks:.0%} of a pool"
    more = f" ({rejected} rejected)" if rejected else ""
    return f"holds at most {live} {kind}{'s' if live > 1 else ''}{more}, {share}, and "


def _times(lru: Summary, it: Summary) -> tuple[list[str], list[str]]:
    """The times that are shorter, and those that are longer."""
    shorter, longer = list[str](), list[str]()
    for words, usual, seconds in (
        ("a request ends after {:.1f} s on average", lru.end_s.mean, it.end_s.mean),
        ("99 of 100 wait at most {:.1f} s", lru.wait_s.p99, it.wait_s.p99),
        ("99 of 100 have a token within {:.1f} s", lru.first_token_s.p99, it.first_token_s.p99),
    ):
        if abs(seconds - usual) > _LITTLE and max(seconds, usual) > _APART * min(seconds, usual):
            said = f"{words.format(seconds)} (lru {usual:.1f} s)"
            (longer if seconds > usual else shorter).append(said)
    return shorter, longer
