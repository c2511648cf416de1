"""`python -m proofs check lowering`."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Final

from proofs.engines.background import second_process
from proofs.lowering.check import check_lowering
from proofs.lowering.lowering_text import print_lowering
from proofs.lowering.results import exit_code
from spec.cli.common import Format, console, page, print_json
from spec.files.writing import write_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from proofs.lowering.results import LoweringCheck

__all__ = ["LOWERING", "run_check", "to_junit"]

LOWERING: Final = "lowering"
"""What stands in the place of a mode."""


def run_check(form: Format, junit: Path | None) -> int:
    """Check the lowering relation, print what was found, and return the exit code."""
    spinner = console(stderr=True)
    spinner.quiet = not spinner.is_terminal
    with second_process() as beside, spinner.status("") as status:
        check = check_lowering(status.update, beside=beside)
    if junit is not None:
        write_bytes(junit, to_junit(check))
    if form is Format.JSON:
        print_json(check)
    else:
        with page() as out:
            print_lowering(out, check)
    return exit_code(check)


def to_junit(check: LoweringCheck) -> bytes:
    """One case for each theorem, for each part of the universe, and for the audit."""
    suite = ET.Element("testsuite", name="resident-claims lowering")
    failures = errors = 0
    for proof in check.theorems:
        case = _case(suite, "lowering.theorem", proof.name, proof.seconds)
        if proof.result == "refuted":
            failure = ET.SubElement(case, "failure", message=f"refuted: {proof.says}")
            found = proof.counterexample
            failure.text = None if found is None else found.row.descriptor
            failures += 1
        elif proof.result != "proved":
            ET.SubElement(case, "error", message=proof.result)
            errors += 1
    for part in check.universe:
        case = _case(suite, "lowering.universe", part.what)
        if part.differ:
            ET.SubElement(case, "failure", message=f"{part.differ} of {part.points} differ")
            failures += 1
    case = _case(suite, "lowering.audit", check.audit.descriptor)
    if check.audit.agree < len(check.audit.rows):
        ET.SubElement(case, "failure", message=f"{check.audit.agree} of {len(check.audit.rows)}")
        failures += 1
    suite.set("tests", str(len(check.theorems) + len(check.universe) + 1))
    suite.set("failures", str(failures))
    suite.set("errors", str(errors))
    return bytes(ET.tostring(suite, encoding="utf-8", xml_declaration=True)) + b"\n"


def _case(suite: ET.Element, part: str, name: str, seconds: float = 0.0) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=part, name=name, time=f"{seconds:.3f}")
