"""`python -m proofs check frame`."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Final

from proofs.checks.frame.check import check_frame
from proofs.checks.frame.frame_text import print_frame
from proofs.checks.frame.results import exit_code
from spec.cli.common import Format, console, page, print_json
from spec.files.writing import write_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from proofs.checks.frame.results import FrameCheck
    from spec.claims.claim import Mode

__all__ = ["FRAME", "run_frame", "to_junit"]

FRAME: Final = "frame"
"""What stands in the place of a mode."""


def run_frame(modes: Sequence[Mode], form: Format, junit: Path | None, *, verbose: bool) -> int:
    """Check the frame theorem for some modes, print what was found, and return the exit code."""
    spinner = console(stderr=True)
    spinner.quiet = not spinner.is_terminal
    with spinner.status("") as status:
        check = check_frame(modes, status.update)
    if junit is not None:
        write_bytes(junit, to_junit(check))
    if form is Format.JSON:
        print_json(check)
    else:
        with page() as out:
            print_frame(out, check, verbose=verbose)
    return exit_code(check)


def to_junit(check: FrameCheck) -> bytes:
    """One case for each lemma."""
    suite = ET.Element("testsuite", name="resident-claims frame")
    failures = errors = 0
    for lemma in check.lemmas:
        case = ET.SubElement(
            suite,
            "testcase",
            classname=f"frame.{lemma.part}",
            name=lemma.name,
            time=f"{lemma.seconds:.3f}",
        )
        parts = "; ".join(f"{each.of} {each.part}".strip() for each in lemma.failures)
        if lemma.result == "refuted":
            ET.SubElement(case, "failure", message=f"refuted: {parts}")
            failures += 1
        elif lemma.result != "proved":
            ET.SubElement(case, "error", message=f"{lemma.result}: {parts}")
            errors += 1
    suite.set("tests", str(len(check.lemmas)))
    suite.set("failures", str(failures))
    suite.set("errors", str(errors))
    return bytes(ET.tostring(suite, encoding="utf-8", xml_declaration=True)) + b"\n"
