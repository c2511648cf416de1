"""Says in sentences what a comparison of policies shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from models.simulation.outcome import Summary

__all__ = ["advice"]


def advice(found: Sequence[Summary], blocks: int) -> list[str]:
    """Sentences about the policies, the first of which is `lru`.

    Args:
        blocks: usable blocks of all pools.
    """
    lru, *others = found
    practical = [each for each in others if each.policy != "oracle"]
    best = max(practical, key=lambda each: each.saved, default=None)
    if best is None:
        return []
    gain = best.saved - lru.saved
    if gain < 0.01:
        return [f"No policy here saves 1 % of the prompt tokens more than lru ({lru.saved:.1%})."]
    stopped = (best.deferred + sum(best.refused.values())) / best.requests
    return [
        f"{best.policy} saves {best.saved:.1%} of the prompt tokens, {100 * gain:.1f} points more "
        f"than lru; {stopped:.1%} of the requests are deferred or refused."
    ]
