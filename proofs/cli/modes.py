"""`python -m proofs check MODE`: checks modes one after another, and prints what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proofs.check import SCHEMA, Check, Checks, check_mode, exit_code
from proofs.engines.background import second_process
from proofs.report.details import put_check
from proofs.report.junit import to_junit
from proofs.report.summary import put_summary
from proofs.report.table import put_row, put_total
from spec import __version__
from spec.cli.common import Format, print_json, write_output
from spec.cli.layout import page
from spec.cli.working import Working
from spec.digest import spec_digest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from proofs.engines.names import EngineName
    from spec.claims.states import Mode
    from spec.contract.modes import Bundle

__all__ = ["run_modes"]


def run_modes(
    modes: Sequence[Mode],
    bundle: Bundle,
    depth: int,
    engine: EngineName,
    form: Format,
    junit: Path | None,
    *,
    every: bool,
    full: bool,
    story: bool,
    verbose: bool,
    certificate: Path | None,
    trace: Path | None,
    html: Path | None,
) -> int:
    """Check the modes, print what was found, and return the exit code."""
    checks = list[Check]()
    text, certified = form is Format.TEXT, certificate is not None
    with second_process() as worker, Working() as status:
        for each in modes:
            checks.append(
                check_mode(
                    each,
                    bundle,
                    depth,
                    status.update,
                    engine=engine,
                    full=full or story,
                    plain=story,
                    worker=worker,
                    certificate=certificate,
                    trace=trace,
                )
            )
            if text:
                with status.paused(), page() as out:
                    if verbose or story:
                        put_check(out, checks[-1], story=story, certified=certified)
                    elif every:
                        put_row(out, checks[-1], first=len(checks) == 1)
                    else:
                        put_summary(out, checks[-1], certified=certified)
    if text and every:
        with page() as out:
            put_total(out, checks, certified=certified)
    if junit is not None:
        write_output(junit, to_junit(checks))
    if html is not None:
        from proofs.report.proof_page import proof_page

        write_output(html, proof_page(checks))
    if form is Format.JSON:
        print_json(Checks(SCHEMA, __version__, spec_digest(), checks))
    return exit_code(checks)
