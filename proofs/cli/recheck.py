"""`python -m proofs recheck`: checks a certificate against this specification."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proofs.certificates.recheck import Answer, Recheck, Solver, recheck
from spec.cli.arguments import path
from spec.cli.common import Code, Format, FormatOption, print_json
from spec.digest import short_digest
from spec.language.suggest import resolve

__all__ = ["register"]


_EXAMPLE = "Example: python -m proofs recheck build/certificate"


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("recheck", epilog=_EXAMPLE)(_recheck)


def _recheck(
    folder: Annotated[
        Path, typer.Argument(parser=path, metavar="DIR", help="What `prove --certificate` wrote.")
    ],
    solver: Annotated[str, typer.Option(help="z3, or cvc5 (an optional extra).")] = Solver.Z3,
    output: FormatOption = Format.TEXT,
) -> None:
    """Check a certificate again, with a solver of your choice.

    Checks that it is made for this specification, that the invariant is inductive and implies the
    theorem, that each lemma holds, that the witness is a run that satisfies each obligation, that
    a runtime can always keep the obligations, and that skipped events change nothing.

    Exit 0: it holds. 1: it fails. 2: corrupt, modified, or made for another
    specification. 3: unknown.
    """
    chosen = Solver(resolve(solver, list(Solver), what="solver"))
    text = output is Format.TEXT
    found = recheck(folder, chosen, progress=_print if text else lambda _: None)
    if text:
        typer.echo(_summary(found))
    else:
        print_json(found)
    if found.code is not Code.OK:
        raise typer.Exit(found.code)


def _print(answer: Answer) -> None:
    seconds = f"{answer.seconds:.2f} s"
    unsat = f"{answer.unsat} of {answer.asked} unsat"
    page = answer.page.removesuffix(".smt2")
    typer.echo(f"{answer.mode:<14} {page:<39} {unsat:>16} {seconds:>8}")
    for said, names in (("sat", answer.sat), ("unknown", answer.unknown)):
        for name in names:
            typer.echo(f"    {said}: {name}")


def _summary(found: Recheck) -> str:
    unsat = sum(answer.unsat for answer in found.answers)
    asked = sum(answer.asked for answer in found.answers)
    seconds = sum(answer.seconds for answer in found.answers)
    says = {
        "holds": "the certificate holds",
        "fails": "the certificate FAILS: where sat, what is written does not show it",
    }.get(found.result, "UNKNOWN: the work limit was reached")
    return (
        f"{unsat} of {asked} unsat by {found.solver} {found.version} in "
        f"{seconds:.1f} s, specification {short_digest()}:\n{says}"
    )
