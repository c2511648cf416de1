"""The published result of `check lowering`: schema `resident-claims/lowering-proof/1`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
import yaml

from proofs.lowering.universe import Compared
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.contract.supply import Depth
from spec.language.schemas import framed_schema

if TYPE_CHECKING:
    from proofs.lowering import universe as row
    from proofs.lowering.pairs import Found
    from spec.lowering.descriptor import Descriptor
    from spec.lowering.vocabulary import Label

__all__ = [
    "SCHEMA",
    "Audit",
    "Audited",
    "Case",
    "Counterexample",
    "LoweringCheck",
    "Proof",
    "counterexample",
    "exit_code",
    "lowering_schema",
]

SCHEMA: Final = "resident-claims/lowering-proof/1"


class Case(msgspec.Struct, frozen=True):
    """One row: its labels (one, unless that is what fails), and its descriptor in YAML.

    `shows` are the obligations that evidence from traces shows for the mode.
    """

    depth: Depth
    labels: list[str]
    descriptor: str
    shows: list[str]


class Counterexample(msgspec.Struct, frozen=True):
    """A row that refutes a theorem; `after` is the weakened row."""

    mode: Mode
    bundle: Bundle
    row: Case
    after: Case | None = None


class Proof(msgspec.Struct, frozen=True):
    """A theorem over all descriptors: proved, refuted, vacuous or unknown.

    `witnesses` gives, for each required case of the premise, whether it exists: shown, by a row
    that `lower` labels so, or none. A theorem is vacuous if one is none. It is unknown if the
    tables leave open that it fails and no descriptor is found, or if they are not as the rules say.
    `points` are entries that refute it.
    """

    name: str
    says: str
    result: Literal["proved", "refuted", "vacuous", "unknown"]
    witnesses: dict[str, str]
    seconds: float
    counterexample: Counterexample | None = None
    points: list[str] = []


def counterexample(found: Found) -> Counterexample:
    """The rows that violate a theorem, written out."""
    before, after = found.before, found.after
    return Counterexample(
        mode=before.mode,
        bundle=before.bundle,
        row=_case(before, found.labels[0]),
        after=None if vars(after) == vars(before) else _case(after, found.labels[1]),
    )


def _case(case: row.Case, label: Label) -> Case:
    shown = sorted(case.shown)
    return Case(depth=case.depth, labels=[label], descriptor=_text(case.build()[0]), shows=shown)


def _text(descriptor: Descriptor) -> str:
    """A descriptor in YAML, without the anchors that it does not name."""
    said = descriptor.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    named = {str(statement.anchor) for _, statement in descriptor.statements()}
    said["anchors"] = {name: of for name, of in said["anchors"].items() if name in named}
    text: str = yaml.safe_dump(said, sort_keys=False, width=1000, default_flow_style=None)
    return text


class Audited(msgspec.Struct, frozen=True):
    """One row of an audit: its label by `lower`, and by the tables."""

    mode: Mode
    depth: Depth
    label: str
    derived: str


class Audit(msgspec.Struct, frozen=True):
    """The rows of one descriptor by `lower` and by the tables, and the number that agree."""

    descriptor: str
    bundle: Bundle
    agree: int
    rows: list[Audited]


class LoweringCheck(msgspec.Struct, frozen=True):
    """The published result of `check lowering`.

    `universe` compares the relation with its rules; its last part is about its source.
    """

    schema: Literal["resident-claims/lowering-proof/1"]
    tool: str
    spec: str
    theorems: list[Proof]
    universe: list[Compared]
    audit: Audit


def exit_code(check: LoweringCheck) -> int:
    """0 proved and as the rules say, 1 refuted or different, 3 vacuous or unknown."""
    results = {proof.result for proof in check.theorems}
    differ = any(each.differ for each in check.universe)
    if "refuted" in results or differ or check.audit.agree < len(check.audit.rows):
        return 1
    return 0 if results == {"proved"} else 3


def lowering_schema() -> dict[str, Any]:
    """The JSON Schema of a check."""
    return framed_schema(SCHEMA, "python -m proofs docs", msgspec.json.schema(LoweringCheck))
