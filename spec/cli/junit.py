"""Writes JUnit XML: suites of cases that pass, fail or are undecided."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["JunitCase", "junit_suite", "junit_suites"]


class JunitCase(NamedTuple):
    """One case. It failed with a `failure`, for which `details` are shown, and ended in an `error`
    where nothing is decided; it was `skipped` where it had nothing to ask. `output` is printed
    besides.

    Texts hold no control characters (`spec.language.prose.printable`): XML has no words for them.
    """

    group: str
    name: str
    seconds: float = 0.0
    failure: str = ""
    details: str = ""
    error: str = ""
    skipped: str = ""
    output: str = ""


def junit_suite(name: str, cases: Iterable[JunitCase]) -> bytes:
    """One suite, as a page of its own."""
    return _page(_suite(name, list(cases)))


def junit_suites(suites: Iterable[tuple[str, Iterable[JunitCase]]]) -> bytes:
    """Several suites by their names, in one page."""
    root = ET.Element("testsuites")
    root.extend(_suite(name, list(cases)) for name, cases in suites)
    return _page(root)


def _page(root: ET.Element) -> bytes:
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _suite(name: str, cases: list[JunitCase]) -> ET.Element:
    suite = ET.Element("testsuite", name=name)
    for case in cases:
        element = ET.SubElement(
            suite,
            "testcase",
            classname=case.group,
            name=case.name,
            time=f"{case.seconds:.3f}",
        )
        if case.failure:
            ET.SubElement(element, "failure", message=case.failure).text = case.details
        if case.error:
            ET.SubElement(element, "error", message=case.error)
        if case.skipped:
            ET.SubElement(element, "skipped", message=case.skipped)
        if case.output:
            ET.SubElement(element, "system-out").text = case.output
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(sum(bool(case.failure) for case in cases)))
    suite.set("errors", str(sum(bool(case.error) for case in cases)))
    if skipped := sum(bool(case.skipped) for case in cases):
        suite.set("skipped", str(skipped))
    return suite
