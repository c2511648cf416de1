"""Evaluates the lowering relation on an inference from features."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from spec.claims.claim import Mode
from spec.contract.modes import Bundle, Depth
from spec.lowering.counting import lacks
from spec.lowering.relation import lower

if TYPE_CHECKING:
    from models.lookalikes import Lookalike
    from spec.lowering.descriptor import Descriptor

__all__ = ["Answer", "judge"]


class Answer(StrEnum):
    """An answer about an obligation; for a mode the answer is its label."""

    INVALID = "invalid lowering claim"
    GATE = "rejected by connector gate"
    SUPPLIED = "supplied"


def judge(lookalike: Lookalike) -> list[str]:
    """The answer for each premise, at the deepest depth that it offers."""
    return [
        lower(premise, lookalike.concludes, _deepest(premise), Bundle.PAPER).label.value
        if isinstance(lookalike.concludes, Mode)
        else _about(premise, lookalike.concludes).value
        for premise in lookalike.premises
    ]


def _about(premise: Descriptor, obligation: str) -> Answer:
    """Evidence of an obligation passes the gate or not; signals are no claim to lower at all."""
    items = [
        item
        for evidence in (premise.native, *(a.evidence for a in premise.adapters))
        for item in evidence
        if item.obligation == obligation
    ]
    if not items:
        return Answer.INVALID
    passed = any(not lacks(premise, item) for item in items)
    return Answer.SUPPLIED if passed else Answer.GATE


def _deepest(premise: Descriptor) -> Depth:
    return max(
        (adapter.depth for adapter in premise.adapters),
        key=list(Depth).index,
        default=Depth.NONE,
    )
