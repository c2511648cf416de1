"""Labels what an inference concludes, by the relation of `spec.lowering`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from models.framework.premises import shows
from spec.contract.modes import Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.contract.supply import Depth
from spec.lowering.counting import lacks
from spec.lowering.relation import lower

if TYPE_CHECKING:
    from models.framework.inference import Inference
    from spec.lowering.descriptor import Descriptor
    from spec.lowering.vocabulary import Label

__all__ = ["Answer", "Labelled", "labelled"]


class Answer(StrEnum):
    """The answer about an obligation; of a mode the answer is its label."""

    INVALID = "invalid lowering claim"
    GATE = "rejected by connector gate"
    SUPPLIED = "supplied"


@dataclass(frozen=True)
class Labelled:
    """The label of a mode, None of anything else; the result in words; what is missing."""

    label: Label | None
    result: str
    missing: tuple[str, ...]


def labelled(inference: Inference) -> Labelled:
    """What the relation says of an inference, at the deepest depth that its premises offer."""
    premises = [*([shows(*inference.premises)] if inference.premises else []), *inference.also]
    if inference.concludes in OBLIGATIONS:
        answers = dict.fromkeys(_about(each, inference.concludes).value for each in premises)
        supplied = set(answers) == {Answer.SUPPLIED}
        missing = () if supplied else (inference.concludes,)
        return Labelled(None, " or ".join(answers), missing)
    rows = [lower(each, inference.mode, _deepest(each), Bundle.PAPER) for each in premises]
    labels = dict.fromkeys(row.label for row in rows)
    lacking = dict.fromkeys(name for row in rows for name in row.missing)
    label = rows[0].label if inference.concludes == "mode" and len(labels) == 1 else None
    return Labelled(label, " or ".join(labels), tuple(lacking))


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
