"""Defines the verdicts of an obligation on a stream so far, and how they combine."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Verdict", "pool"]


class Verdict(StrEnum):
    """What is known of an obligation. Ordered by how much each outweighs when claims are pooled."""

    UNEXERCISED = "unexercised"  # the stream never gave occasion; never shown as a pass
    SATISFIED = "satisfied"  # exercised, and nothing is owed
    PENDING = "pending"  # something is owed and not yet due
    INCONCLUSIVE = "inconclusive"  # events are missing, ambiguous or out of order where it matters
    VIOLATED = "violated"  # violated; no later event changes that


_WEIGHT = {verdict: weight for weight, verdict in enumerate(Verdict)}


def pool(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of one obligation over several claims, requests or files: the heaviest wins.

    One violation outweighs everything; a satisfied obligation outweighs one that another claim
    never exercised. Nothing to pool is `unexercised`.
    """
    return max(verdicts, key=_WEIGHT.__getitem__, default=Verdict.UNEXERCISED)
