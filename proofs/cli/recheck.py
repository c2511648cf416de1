"""`python -m proofs recheck`: checks a certificate against this specification."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from proofs.certificates.recheck import Recheck, Solver, recheck
from spec.cli.arguments import path
from spec.cli.common import Code, Format, FormatOption
from spec.cli.layout import Page, print_as
from spec.cli.working import Working
from spec.digest import short_digest
from spec.language.prose import printable
from spec.language.suggest import resolve

__all__ = ["register"]


_EXAMPLE = "Example: python -m proofs recheck build/certificate"
_SHOWN: Final = 7  # names, of many


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
    chosen = resolve(solver, Solver, what="solver")
    with Working("recheck") as status:
        found = recheck(
            folder, chosen, progress=lambda a: status.update(f"recheck: {a.mode} {a.page}")
        )
    print_as(output, found, lambda out: _put(out, found))
    if found.code is not Code.OK:
        raise typer.Exit(found.code)


def _put(out: Page, found: Recheck) -> None:
    """The answer in a sentence, what it took, what was not asked, and each page."""
    asked = sum(answer.asked for answer in found.answers)
    unsat = sum(answer.unsat for answer in found.answers)
    seconds = sum(answer.seconds for answer in found.answers)
    modes = list(dict.fromkeys(answer.mode for answer in found.answers))
    several = "theorems" if modes[1:] else "theorem"
    of = f"the {several} of {_and(modes) if found.lacks else 'all seven modes'}"
    says = {
        "holds": f"holds: the certificate proves {of}.",
        "fails": f"fails: the certificate does not prove {of}.",
    }
    out.put(says.get(found.result, f"unknown: a work limit was reached before {of}."))
    rows = [("questions", f"{unsat} of {asked} unsat, in {seconds:.1f} s of the solver")]
    rows += [("not in it", _and(found.lacks))] if found.lacks else []
    rows += [("not asked", _and(found.unasked))] if found.unasked else []
    by = f"{found.solver} {found.version}, of specification {short_digest()}"
    out.grid([*rows, ("answered by", by)], indent=2, gap=2).put()
    for answer in found.answers:
        page = answer.page.removesuffix(".smt2")
        said = f"{answer.unsat} of {answer.asked} unsat"
        out.append(f"{answer.mode:<14} {page:<39} {said:>16} {answer.seconds:>6.2f} s\n")
        for answered, names in (("sat", answer.sat), ("unknown", answer.unknown)):
            for name in names:
                out.append(f"    {answered}: {name}\n")


def _and(names: Sequence[str]) -> str:
    """Names as a list, at most seven of them."""
    some = [*names[:_SHOWN], *(["others"] if len(names) > _SHOWN else [])]
    return printable(", ".join(some[:-1]) + (" and " if some[1:] else "") + some[-1])
