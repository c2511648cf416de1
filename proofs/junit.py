"""Checks as JUnit XML: two cases for each mode, for the dashboards that CI systems have."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proofs.check import Check

__all__ = ["to_junit"]


def to_junit(checks: list[Check]) -> bytes:
    """One test suite; a refuted or vacuous part is a failure, an unknown one an error."""
    suite = ET.Element("testsuite", name="resident-claims proofs")
    failures = errors = 0
    for check in checks:
        parts = (
            ("consistent", check.consistent.result, check.consistent.seconds),
            ("sound", check.sound.result, check.sound.seconds),
        )
        for part, result, seconds in parts:
            case = ET.SubElement(
                suite,
                "testcase",
                classname=f"{check.mode}.{check.bundle}",
                name=part,
                time=f"{seconds:.3f}",
            )
            if result in ("refuted", "vacuous"):
                failures += 1
                said = ", ".join(check.sound.failed) if part == "sound" else "no witness"
                failure = ET.SubElement(case, "failure", message=f"{result}: {said}")
                failure.text = "\n".join(f"{e.number} {e.kind}" for e in check.sound.story)
            elif result == "unknown":
                errors += 1
                ET.SubElement(case, "error", message="the work limit was reached")
            if part == "sound" and result == "proved" and check.sound.bound is not None:
                ET.SubElement(case, "system-out").text = f"bound: {check.sound.bound} events"
    suite.set("tests", str(2 * len(checks)))
    suite.set("failures", str(failures))
    suite.set("errors", str(errors))
    return bytes(ET.tostring(suite, encoding="utf-8", xml_declaration=True)) + b"\n"
