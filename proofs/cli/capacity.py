"""`python -m proofs check capacity`: what a pool does at the boundary, for all sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from proofs.product.capacity import SCHEMA, THEOREMS, exit_code, prove
from spec.cli.common import Format, print_json, write_output
from spec.cli.junit import JunitCase, junit_suite
from spec.cli.layout import Styled, page

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["run_capacity"]

_STYLES: Final = {"proved": "green", "refuted": "red", "unknown": "yellow"}


def run_capacity(form: Format, junit: Path | None, *, verbose: bool) -> int:
    """Check the theorems, print what was found, and return the exit code."""
    found = [prove(each) for each in THEOREMS]
    if junit is not None:
        cases = [
            JunitCase("capacity", each.name, failure=each.result if each.result != "proved" else "")
            for each in found
        ]
        write_output(junit, junit_suite("resident-claims capacity", iter(cases)))
    if form is Format.JSON:
        print_json({"schema": SCHEMA, "theorems": found})
        return exit_code(found)
    with page() as out:
        for each in found:
            head = Styled(f"{each.name}: ", "bold")
            out.put(head.append(each.result, _STYLES[each.result])).put(each.says, indent=2)
            if each.at:
                sizes = ", ".join(f"{name} {size}" for name, size in each.at.items())
                out.put(f"not with {sizes}", indent=2)
            if verbose or each.result != "proved":
                for name, answer in each.questions.items():
                    out.put(f"{name}: {answer}", "bright_black", indent=4)
        out.put("For all sizes with resident <= usable and active <= usable, by Z3.")
    return exit_code(found)
