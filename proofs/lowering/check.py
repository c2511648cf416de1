"""Checks the lowering relation: its theorems, and that both implementations agree."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Final

from models.catalog import descriptor
from proofs.engines.background import Task
from proofs.lowering.concrete import Asked, Oracle
from proofs.lowering.prove import prove
from proofs.lowering.results import SCHEMA, Audit, Audited, LoweringCheck
from proofs.lowering.theorems import theorems
from proofs.lowering.universe import compare
from spec import __version__
from spec.claims.states import Mode
from spec.contract.modes import Bundle, Depth
from spec.digest import spec_digest
from spec.lowering.relation import lower

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

__all__ = ["AUDITED", "audit", "check_lowering"]

AUDITED: Final = "tensorrt_llm_1_3_0rc14"
"""The descriptor whose rows the papers' independent audit derives again (section 8.1)."""


def check_lowering(
    progress: Callable[[str], None] = lambda _: None, *, worker: Executor | None = None
) -> LoweringCheck:
    """Prove the theorems, and compare the two relations.

    Args:
        progress: called with a description of the current work.
        beside: compares the two while the theorems are being proved.
    """
    universe = Task(worker, partial(compare))
    proofs = []
    for theorem in theorems():
        progress(f"lowering: proving {theorem.name}")
        proofs.append(prove(theorem))
    progress("lowering: deriving the audited rows again")
    audited = audit()
    progress("lowering: comparing the two relations")
    return LoweringCheck(
        schema=SCHEMA,
        tool=__version__,
        spec=spec_digest(),
        theorems=proofs,
        universe=universe.result(),
        audit=audited,
    )


def audit(name: str = AUDITED, oracle: Oracle | None = None) -> Audit:
    """Compare the rows of a shipped descriptor under both relations.

    The rows are those of the papers' audit: every mode, natively and with the telemetry join.
    """
    asked = [
        Asked(descriptor(name), mode, Bundle.PAPER, depth)
        for mode, depth in product(Mode, (Depth.NONE, Depth.TELEMETRY_JOIN))
    ]
    rows, agree = [], 0
    for row, answer in zip(asked, (oracle or Oracle()).answers(asked), strict=True):
        found = lower(row.descriptor, row.mode, row.depth, row.bundle)
        kinds = () if found.subtype is None else (found.subtype,)
        agree += ((found.label,), kinds, frozenset(found.missing)) == tuple(answer)
        rows.append(Audited(row.mode, row.depth, found.label, " or ".join(answer.labels)))
    return Audit(name, Bundle.PAPER, agree, rows)
