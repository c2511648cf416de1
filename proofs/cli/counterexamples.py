"""`python -m proofs counterexamples`: makes and verifies the bad-lowering suite."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from models.registry import RUNTIMES, runtime
from proofs.cli.progress import progress
from proofs.counterexamples.folder import check_folder, read_index, write_folder
from proofs.counterexamples.refute import Refutation, refute
from proofs.counterexamples.suite import SCHEMA, Row, Suite, files, row_of
from proofs.counterexamples.verify import Change, compared, selection
from proofs.product.search import Answer
from spec.claims.states import Mode
from spec.cli.arguments import path_option
from spec.cli.common import Code, Format, FormatOption, print_json, print_text
from spec.cli.layout import page
from spec.digest import spec_digest
from spec.language.errors import SpecError
from spec.language.prose import counted, printable
from spec.language.suggest import resolve

if TYPE_CHECKING:
    from models.framework.inference import Inference
    from spec.cli.layout import Page

__all__ = ["register"]

_EXAMPLE = "Example: python -m proofs counterexamples -o build/suite"
Found = list[tuple[str, Refutation]]

_SHOWN = 60
"""Characters of a value that are shown of a change."""

_BEFORE = 20
"""Of them, those before the first that differs."""


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("counterexamples", epilog=_EXAMPLE)(_counterexamples)


def _counterexamples(
    output: Annotated[
        Path | None, path_option("--output", "-o", help="Write the suite to this folder.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--runtime", help=f"One of {', '.join(RUNTIMES)}.")
    ] = None,
    mode: Annotated[str | None, typer.Option(help=f"One of {', '.join(Mode)}.")] = None,
    check: Annotated[
        Path | None,
        path_option("--check", metavar="DIR", help="Verify a suite that was written before."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write over files that are of no suite.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print the stories.")] = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Refute naive inferences by runs of the runtimes' models.

    An inference takes a call of a feature for an accepted claim in a mode. Each is labelled by the
    lowering relation, its model is searched for a run that breaks each obligation of the mode, and
    the most telling of these runs is written as JSONL, for `monitor check`, and as ITF, with an
    index in JSON, Markdown and CSV.

    With --check a suite that was written before is made again, and each row, field, file and line
    that is another now is named, with both values.

    Exit 0: made, or unchanged. 1: --check found a change. 2: bad input. 3: interrupted, or a
    search reached its bound.
    """
    if check is not None:
        if output is not None or name is not None or mode is not None or force or verbose:
            raise SpecError("--check takes only --format", "omit the other options")
        _verify(check, form)
        return
    chosen = _chosen(name, mode)
    if output is not None:
        check_folder(output, force=force)
    found, whole = _refute_all(chosen)
    if form is Format.JSON:
        print_json(Suite(SCHEMA, spec_digest(), tuple(row_of(each, n) for n, each in found)))
    else:
        with page() as out:
            _put_rows(out, [row_of(each, n) for n, each in found], verbose=verbose)
            if not whole:
                out.put(f"interrupted after {len(found)} of {len(chosen)} inferences")
    if not whole:
        if form is Format.JSON:
            typer.echo(f"interrupted after {len(found)} of {len(chosen)} inferences", err=True)
        raise typer.Exit(Code.INCONCLUSIVE)
    if output is not None:
        written = write_folder(output, files(found))
        if form is Format.TEXT:
            typer.echo(f"written: {len(written)} files to {output}")
    if any(o.answer is Answer.BOUNDED for _, each in found for o in each.outcomes.values()):
        raise typer.Exit(Code.INCONCLUSIVE)


def _chosen(name: str | None, mode: str | None) -> list[tuple[str, Inference]]:
    names = (
        list(RUNTIMES)
        if name is None
        else [resolve(name, list(RUNTIMES), what="runtime", listed="models list")]
    )
    wanted = None if mode is None else resolve(mode, Mode, what="mode")
    found = [
        (each, inference)
        for each in names
        for inference in runtime(each).inferences
        if wanted in (None, inference.mode)
    ]
    if not found:
        raise SpecError(
            f"no feature of {', '.join(names)} tempts anyone to {mode or 'a mode'}",
            "omit --mode, or name another runtime",
        )
    return sorted(found, key=lambda each: each[1].row or len(found) + 99)


def _refute_all(chosen: list[tuple[str, Inference]]) -> tuple[Found, bool]:
    """The refutations, and whether all were made before an interrupt."""
    found: Found = []
    try:
        for name, inference in chosen:
            with progress(inference.name) as report:
                each = refute(inference, report)
            if any(o.answer is Answer.STOPPED for o in each.outcomes.values()):
                return found, False
            found.append((name, each))
    except KeyboardInterrupt:
        return found, False
    return found, True


def _put_rows(out: Page, rows: list[Row], *, verbose: bool) -> None:
    broken = sum(row.trace is not None for row in rows)
    out.put(f"{broken} of {len(rows)} inferences are refuted by a run of the runtime's model\n")
    for row in rows:
        out.put(row.inference, "bold", hanging=2)
        shown = "no run breaks it" if row.trace is None else f"{row.verdict} in {row.events} events"
        out.put(f"{row.result}; {row.runtime}: {shown}", indent=2)
        for who, named in (
            ("this run breaks", row.found),
            ("other runs break", tuple(n for n in row.broken if n not in row.found)),
        ):
            if named:
                out.put(f"{who} {', '.join(named)}", "bright_black", indent=2, hanging=4)
        if verbose or row.trace is None:
            out.put(row.story, indent=2)


def _verify(folder: Path, form: Format) -> None:
    index = read_index(folder)
    chosen = _chosen(*selection(folder, index))
    found, whole = _refute_all(chosen)
    changes = compared(folder, index, files(found)) if whole else []
    counts = {"checked": len(found) if whole else 0, "changes": changes}
    if form is Format.JSON:
        print_json({**counts, "complete": whole})
    elif whole:
        with page() as out:
            for each in changes:
                out.append(f"{_change_text(each)}\n")
            out.put(f"{len(found)} inferences checked, {counted(len(changes), 'change')}")
    else:
        print_text(f"interrupted after {len(found)} of {len(chosen)} inferences: not verified\n")
    if not whole:
        raise typer.Exit(Code.INCONCLUSIVE)
    if changes:
        raise typer.Exit(Code.VIOLATED)


def _change_text(change: Change) -> str:
    """One line, with both values from where they differ on."""
    who = f"{change.inference}: " if change.inference else ""
    was, now = _ends(change.was, change.now)
    return f"{who}{change.what} was {was}, is {now}"


def _ends(was: str | None, now: str | None) -> tuple[str, str]:
    """Two values, each shortened to where they differ."""
    both = (was, now)
    if was is None or now is None:
        at = 0
    else:
        pairs = enumerate(zip(was, now, strict=False))
        at = next((n for n, (one, other) in pairs if one != other), min(len(was), len(now)))
    start = max(0, at - _BEFORE) if any(len(each or "") > _SHOWN for each in both) else 0
    one, other = (_clipped(each, start) for each in both)
    return one, other


def _clipped(text: str | None, start: int) -> str:
    if text is None:
        return "nothing"
    shown = printable(text.rstrip("\r\n")[start : start + _SHOWN])
    return f"{'...' * (start > 0)}{shown}{'...' * (start + _SHOWN < len(text))}"
