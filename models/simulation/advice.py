"""Says in sentences what a comparison of policies shows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from models.simulation.outcome import Summary

__all__ = ["advice"]

_TTL: Final = re.compile(r"\bttl=([0-9.]+)")
_LITTLE: Final = 0.01
"""A gain below this share of the prompt tokens is no reason for a policy."""


def advice(found: Sequence[Summary], blocks: int) -> list[str]:
    """Sentences about the policies, the first of which is `lru`.

    Args:
        blocks: usable blocks of all pools.
    """
    lru, *others = found
    said = [_best(lru, others, blocks)] if others else []
    return said + _durations(others)


def _best(lru: Summary, others: Sequence[Summary], blocks: int) -> str:
    """What the best policy saves and costs; the oracle cannot be had."""
    best = max((each for each in others if each.policy != "oracle"), key=_saved, default=lru)
    gain = best.saved - lru.saved
    if gain < _LITTLE:
        return f"No policy here saves 1 % of the prompt tokens more than lru ({lru.saved:.1%})."
    cost = f"{best.deferred / best.requests:.1%} of the requests are deferred, and "
    cost += f"{sum(best.refused.values()) / best.requests:.1%} refused"
    claims = best.claims.get("accepted", 0)
    holds = (
        f" holds {best.claims['most_blocks'] / blocks:.0%} of the pool at most," if claims else ""
    )
    return (
        f"{best.policy}{holds} saves {best.saved:.1%} of the prompt tokens, {100 * gain:.1f} "
        f"points more than lru; {cost}."
    )


def _durations(found: Sequence[Summary]) -> list[str]:
    """For each policy that was tried with several times to live, the one that is long enough."""
    tried: dict[str, dict[float, float]] = {}
    for each in found:
        if ttl := _TTL.search(each.policy):
            rest = _TTL.sub("ttl", each.policy)
            tried.setdefault(rest, {})[float(ttl[1])] = each.saved
    said = []
    for saved in tried.values():
        longest = max(saved)
        enough = min(ttl for ttl in saved if saved[ttl] > saved[longest] - _LITTLE)
        if enough < longest:
            said.append(f"A time to live past {enough:g} s buys less than 1 %.")
    return said


def _saved(summary: Summary) -> float:
    return summary.saved
