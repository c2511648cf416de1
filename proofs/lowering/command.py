"""`python -m proofs check lowering`: checks the lowering relation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proofs.lowering.check import check_lowering
from proofs.lowering.lowering_text import put_lowering
from proofs.lowering.results import exit_code
from spec.cli.common import Format, write_output
from spec.cli.junit import JunitCase, junit_suite
from spec.cli.layout import print_as
from spec.cli.working import Working

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from proofs.lowering.results import LoweringCheck

__all__ = ["run_check", "to_junit"]


def run_check(form: Format, junit: Path | None, *, verbose: bool) -> int:
    """Check the lowering relation, print what was found, and return the exit code."""
    with Working() as status:
        check = check_lowering(status.update)
    if junit is not None:
        write_output(junit, to_junit(check))
    print_as(form, check, lambda out: put_lowering(out, check, verbose=verbose))
    return exit_code(check)


def to_junit(check: LoweringCheck) -> bytes:
    """One case for each theorem, for each part of the universe, and for the audit."""
    return junit_suite("resident-claims lowering", _cases(check))


def _cases(check: LoweringCheck) -> Iterator[JunitCase]:
    for proof in check.theorems:
        found = proof.counterexample if proof.result == "refuted" else None
        yield JunitCase(
            "lowering.theorem",
            proof.name,
            proof.seconds,
            failure=f"refuted: {proof.says}" if proof.result == "refuted" else "",
            details="" if found is None else found.row.descriptor,
            error="" if proof.result in ("refuted", "proved") else proof.result,
        )
    for part in check.universe:
        differ = f"{part.differ} of {part.points} differ" if part.differ else ""
        yield JunitCase("lowering.universe", part.what, failure=differ)
    agree, rows = check.audit.agree, len(check.audit.rows)
    failure = f"{agree} of {rows}" if agree < rows else ""
    yield JunitCase("lowering.audit", check.audit.descriptor, failure=failure)
