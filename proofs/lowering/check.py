"""Checks the lowering relation: its theorems, its rules, and what it depends on."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

import msgspec

from models.catalog import descriptor
from proofs.lowering.inputs import read_source
from proofs.lowering.results import SCHEMA, Audit, Audited, LoweringCheck, Proof
from proofs.lowering.theorems import prove, theorems
from proofs.lowering.universe import Universe, read
from spec import __version__
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.contract.supply import Depth
from spec.digest import spec_digest
from spec.lowering.relation import lower

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["AUDITED", "audit", "check_lowering"]

AUDITED: Final = "tensorrt_llm_1_3_0rc14"
"""The descriptor whose rows the papers' independent audit derives again (section 8.1)."""


def check_lowering(progress: Callable[[str], None] = lambda _: None) -> LoweringCheck:
    """Tabulate the relation, and check its theorems.

    Args:
        progress: called with a description of the current work.
    """
    progress("lowering: tabulating the relation")
    universe = Universe()
    parts, proofs = [*universe.parts, read_source()], []
    for theorem in theorems(universe):
        progress(f"lowering: proving {theorem.name}")
        proofs.append(prove(theorem, universe))
    if any(each.differ for each in parts):
        proofs = [_undecided(proof) for proof in proofs]
    return LoweringCheck(
        schema=SCHEMA,
        tool=__version__,
        spec=spec_digest(),
        theorems=proofs,
        universe=parts,
        audit=audit(universe),
    )


def _undecided(proof: Proof) -> Proof:
    """A theorem about tables that do not stand for the relation: it is not proved."""
    proved = proof.result == "proved"
    return msgspec.structs.replace(proof, result="unknown") if proved else proof


def audit(universe: Universe, name: str = AUDITED) -> Audit:
    """Compare the rows of a shipped descriptor with the tables.

    The rows are those of the papers' audit: every mode, natively and with the telemetry join.
    """
    rows, agree, found = [], 0, descriptor(name)
    for mode, depth in product(Mode, (Depth.NONE, Depth.TELEMETRY_JOIN)):
        row = lower(found, mode, depth, Bundle.PAPER)
        derived = universe.answer(read(found, mode, Bundle.PAPER, depth))
        agree += (row.label, row.subtype, row.missing) == derived
        rows.append(Audited(mode, depth, row.label, derived[0]))
    return Audit(name, Bundle.PAPER, agree, rows)
