"""`python -m proofs check MODE --runtime NAME` and `python -m proofs compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from models.registry import RUNTIMES, runtime
from proofs.cli.progress import progress
from proofs.product.check import (
    COMPARE,
    NOT_SUPPLIED,
    SCHEMA,
    Checked,
    Compared,
    check_runtime,
    code_of,
    compare,
)
from proofs.product.search import Answer
from proofs.product.subject import subjects
from spec.claims.states import Mode
from spec.cli.common import Code, Format, FormatOption, print_json, print_text
from spec.cli.layout import Styled, page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spec.cli.layout import Page

__all__ = ["register", "run_runtime_check"]

_STYLES: Final = {
    Answer.KEPT: "green",
    Answer.BROKEN: "red",
    NOT_SUPPLIED: "yellow",
    Answer.UNTESTED: "bright_black",
}


def register(app: typer.Typer) -> None:
    """Add `compare` to an application."""
    epilog = "Example: python -m proofs compare vllm_pool"
    app.command("compare", epilog=epilog)(_compare)


def run_runtime_check(mode: Mode, name: str, form: Format, *, verbose: bool) -> Code:
    """Check a runtime's model in a mode, print what was found, and return the exit code."""
    checked = []
    for subject in subjects(name, mode):
        with progress(subject.inference or subject.runtime) as report:
            found, _ = check_runtime(subject, progress=report)
        checked.append(found)
        if form is Format.TEXT:
            with page() as out:
                _put_checked(out, found, verbose=verbose)
        if not found.complete:
            break
    if form is Format.JSON:
        print_json({"schema": SCHEMA, "checks": checked})
    codes = [code_of(each) for each in checked]
    if not checked[-1].complete:
        return Code.INCONCLUSIVE
    return next((c for c in (Code.VIOLATED, Code.INCONCLUSIVE) if c in codes), Code.OK)


def _put_checked(out: Page, found: Checked, *, verbose: bool) -> None:
    broken = [each for each in found.obligations if each.answer == Answer.BROKEN]
    about = f"{found.runtime}, {found.inference}" if found.inference else found.runtime
    total = len(found.obligations)
    says = f"breaks {len(broken)} of {total} obligations of {found.mode}"
    if not broken:
        kept = sum(each.answer == Answer.KEPT for each in found.obligations)
        says = f"keeps {kept} of {total} obligations of {found.mode} in every reachable state"
    says += f"; the label by this is {found.label}"
    if not found.complete:
        says = f"interrupted; {len(broken)} obligations of {found.mode} are broken so far"
    out.put(f"{about}: {says}", "bold")
    for each in found.obligations:
        line = Styled(f"  {each.obligation:<36}").append(each.answer, _STYLES.get(each.answer, ""))
        if verbose:
            line.append(f"; {each.states} states, {each.transitions} transitions")
        out.put(line, hanging=6)
        if each.run and (each.answer == Answer.BROKEN or verbose):
            out.put(", ".join(each.run), "bright_black", indent=6)
    if found.complete:
        out.put("Bound: the size of the model's instance; runs of any length.")


def _compare(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Models; all of them by default."),
    ] = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """Compare labels that models show with curated ones.

    Both are without an adapter, or at the depth of the adapter by which a runtime takes claims. The
    derived label follows by the relation of lowering from what the searches found; the curated
    one from the shipped descriptor of the same runtime.

    Exit 0: they agree. 1: some differ. 2: bad input. 3: interrupted, or nothing to compare.
    """
    chosen = [runtime(each).name for each in names or RUNTIMES]
    found: list[Compared] = []
    whole = True
    try:
        with progress("compare") as report:
            for each in compare(dict.fromkeys(chosen), report):
                found.append(each)
                if form is Format.TEXT:
                    with page() as out:
                        _put_compared(out, each)
    except KeyboardInterrupt:
        whole = False
    if form is Format.JSON:
        print_json({"schema": COMPARE, "rows": found, "complete": whole})
    elif whole:
        _put_total(found, chosen)
    else:
        print_text(f"interrupted after {len(found)} labels\n")
    if not found or not whole:
        raise typer.Exit(Code.INCONCLUSIVE)
    if not all(each.agree for each in found):
        raise typer.Exit(Code.VIOLATED)


def _put_compared(out: Page, each: Compared) -> None:
    sign = "agree " if each.agree else "differ"
    line = Styled(f"{sign}  {each.runtime}, {each.mode}: ", "green" if each.agree else "yellow")
    out.put(line.append(f"derived {each.derived}, curated {each.curated}"))
    if each.inference:
        out.put(each.inference, indent=8, hanging=10)
    if not each.agree:
        out.put(f"the model breaks {', '.join(each.broken) or 'nothing'}", indent=8, hanging=10)
        out.put(f"the descriptor lacks {', '.join(each.lacks) or 'nothing'}", indent=8, hanging=10)


def _put_total(found: Sequence[Compared], chosen: Sequence[str]) -> None:
    without = [name for name in dict.fromkeys(chosen) if runtime(name).descriptor is None]
    agree = sum(each.agree for each in found)
    with page() as out:
        out.put(f"{agree} of {len(found)} labels agree")
        if without:
            out.put(f"without a curated descriptor: {', '.join(without)}")
