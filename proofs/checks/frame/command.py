"""`python -m proofs check frame`: checks the frame theorem and the compiled Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proofs.checks.frame.check import check_frame
from proofs.checks.frame.frame_text import put_frame
from proofs.checks.frame.results import exit_code
from spec.cli.common import Format, write_output
from spec.cli.junit import JunitCase, junit_suite
from spec.cli.layout import print_as
from spec.cli.working import Working

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from proofs.checks.frame.results import Answer, FrameCheck
    from spec.claims.states import Mode

__all__ = ["run_frame", "to_junit"]


def run_frame(modes: Sequence[Mode], form: Format, junit: Path | None, *, verbose: bool) -> int:
    """Check the frame theorem for some modes, print what was found, and return the exit code."""
    with Working() as status:
        check = check_frame(modes, status.update)
    if junit is not None:
        write_output(junit, to_junit(check))
    print_as(form, check, lambda out: put_frame(out, check, verbose=verbose))
    return exit_code(check)


def to_junit(check: FrameCheck) -> bytes:
    """One case for each lemma."""
    return junit_suite("resident-claims frame", map(_case, check.lemmas))


def _case(lemma: Answer) -> JunitCase:
    parts = "; ".join(f"{each.of} {each.part}".strip() for each in lemma.failures)
    message = "" if lemma.result == "proved" else f"{lemma.result}: {parts}"
    refuted = lemma.result == "refuted"
    return JunitCase(
        f"frame.{lemma.part}",
        lemma.name,
        lemma.seconds,
        failure=message if refuted else "",
        error="" if refuted else message,
    )
