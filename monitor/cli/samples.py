"""`samples`: lists the sample traces of each mode and obligation, or writes them to a folder."""

from __future__ import annotations

import os
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.input.errors import utf8
from monitor.samples.pairs import Listed, Listing, chosen
from spec.cli.arguments import path_option
from spec.cli.common import Format, FormatOption
from spec.cli.layout import STYLES, Styled, print_as
from spec.files.writing import check_target, write_bytes
from spec.language.errors import OutputError
from spec.language.prose import counted, printable

if TYPE_CHECKING:
    from monitor.samples.pairs import Sample
    from spec.cli.layout import Page

__all__ = ["register"]

_EXAMPLE = "Example: python -m monitor samples hard_protected victim_exclusion_before_violation"
_STYLE = {"kept": STYLES["satisfied"], "broken": STYLES["violated"]}


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("samples", epilog=_EXAMPLE)(samples)


def samples(
    mode: Annotated[str | None, typer.Argument(metavar="MODE", help="Of this mode.")] = None,
    obligation: Annotated[
        str | None,
        typer.Argument(metavar="OBLIGATION", help="Of this obligation of the mode, or its code."),
    ] = None,
    write: Annotated[
        Path | None,
        path_option("--write", metavar="FOLDER", help="Write them to this new folder."),
    ] = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """List a kept and a broken trace for each obligation.

    The kept trace puts its obligation to the test, and `check` exits with 0. The broken trace
    violates that obligation and no other: `check` exits with 1. All are made, not recorded.

    Exit 0: listed or written. 2: bad input.
    """
    found = chosen(mode, obligation)
    if write is not None:
        _write(found, write)
    listing = Listing(
        tuple(
            Listed(*each[:4], _shown(each.path if write is None else write / each.name))
            for each in found
        ),
        None if write is None else utf8(str(write)),
    )
    print_as(form, listing, lambda out: _put(out, listing))


def _write(found: tuple[Sample, ...], folder: Path) -> None:
    """Write the samples below a folder that is not there yet; raises OutputError."""
    if os.path.lexists(folder):
        raise OutputError(f"cannot write {folder}: it exists", "name a new folder")
    check_target(folder, folder=True)
    for each in found:
        write_bytes(folder / each.name, each.path.read_bytes())


def _shown(path: Path) -> str:
    """The path as a command here takes it: relative where it lies below the working folder."""
    here = Path.cwd()
    return utf8(str(path.relative_to(here) if path.is_relative_to(here) else path))


def _put(out: Page, listing: Listing) -> None:
    for (mode, obligation), pair in groupby(listing.samples, lambda s: (s.mode, s.obligation)):
        out.put(f"{mode}: {obligation}", "bold")
        for each in pair:
            out.grid(
                [(Styled(each.ending, _STYLE[each.ending]), each.says), ("", printable(each.path))],
                indent=2,
                gap=2,
                first=len("broken"),
            )
        out.put()
    if listing.folder is not None:
        out.put(f"written: {counted(len(listing.samples), 'file')} to {printable(listing.folder)}")
