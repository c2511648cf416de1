"""Lists the documentation pages made by `proofs`: lowering, the suite, published schemas."""

from __future__ import annotations

from proofs.checks.frame.results import frame_schema
from proofs.counterexamples.page import pages as bad_lowerings
from proofs.counterexamples.suite import suite_schema
from proofs.labels.label_pages import pages as lowering_pages
from proofs.lowering.results import lowering_schema
from proofs.report.results import proof_schema
from spec.cli.common import json_page

__all__ = ["pages"]


def pages() -> dict[str, str]:
    """Each page by its path below the folder of the documentation."""
    return {
        **lowering_pages(),
        **bad_lowerings(),
        "schema/frame.json": json_page(frame_schema()).decode(),
        "schema/lowering-proof.json": json_page(lowering_schema()).decode(),
        "schema/proof.json": json_page(proof_schema()).decode(),
        "schema/suite.json": json_page(suite_schema()).decode(),
    }
