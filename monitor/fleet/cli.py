"""`fleet`: judges the streams of a fleet on Apache Spark."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Final

import typer

from monitor.check.files import EXIT_CODES
from monitor.fleet.keyed import Asked
from monitor.report.options import ModeOption, ReorderOption, mode_asked, window_asked
from monitor.report.verdict import ModeChoice
from spec.cli.arguments import file_name
from spec.cli.common import Format, FormatOption
from spec.cli.layout import print_as
from spec.installed import how_to_install
from spec.language.errors import SpecError
from spec.language.prose import counted, printable

if TYPE_CHECKING:
    from monitor.fleet.command import Found
    from spec.cli.layout import Page

__all__ = ["register"]

_EXAMPLE: Final = (
    "Example: python -m monitor fleet monitor/samples --checkpoint build/fleet-state "
    "--out build/fleet-out"
)
_NEEDS: Final = ("pyspark", "pandas", "pyarrow", "google.protobuf")
_MIB: Final = 1 << 20


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("fleet", epilog=_EXAMPLE)(fleet)


def fleet(
    source: Annotated[
        str,
        typer.Argument(
            parser=file_name,
            metavar="SOURCE",
            help="A folder of traces, or a place that Spark reads, such as s3a://BUCKET/FOLDER. A "
            "file in it is a source; so is each folder in it, whose files are in the order of "
            "their names.",
        ),
    ],
    checkpoint: Annotated[
        str,
        typer.Option(parser=file_name, metavar="DIR", help="Where to keep what is judged so far."),
    ],
    out: Annotated[
        str, typer.Option(parser=file_name, metavar="DIR", help="Where to write the rows.")
    ],
    stream: Annotated[
        bool,
        typer.Option("--stream", help="Go on until a signal, with a batch every ten seconds."),
    ] = False,
    tables: Annotated[
        bool,
        typer.Option(
            "--tables",
            help="Only make the tables again, also beside a run with --stream.",
        ),
    ] = False,
    mode: ModeOption = ModeChoice.AUTO,
    reorder: ReorderOption = None,
    master: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The master of Spark; by default all cores here."),
    ] = None,
    partitions: Annotated[
        int,
        typer.Option(
            min=1,
            max=100_000,
            help="Divide the streams into so many parts; what a checkpoint begins with stays.",
        ),
    ] = 8,
    batch_mib: Annotated[
        int,
        typer.Option(min=1, max=1 << 20, help="Judge about so many MiB of files in a batch."),
    ] = 256,
    form: FormatOption = Format.TEXT,
) -> None:
    """Judge the streams of a fleet on Spark.

    Each stream of each source is judged as by `follow`: the rows go to OUT/rows, each once by
    its id, also after a crash. By default the run ends when all files that are there are judged.

    Exit 0: kept. 1: violated. 2: bad input. 3: inconclusive.
    """
    asked = Asked(mode_asked(mode), window_asked(reorder))
    if missing := next((name for name in _NEEDS if not _is_there(name)), None):
        raise SpecError(f"{missing} is not installed", how_to_install("fleet"))
    from monitor.fleet.command import Job, run_fleet

    job = Job(source, checkpoint, out, asked, master, partitions, batch_mib * _MIB, stream, tables)
    found = run_fleet(job)
    print_as(form, found, lambda page: _put(page, found))
    raise typer.Exit(EXIT_CODES[found.verdict])


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _put(page: Page, found: Found) -> None:
    claims = found.kept + found.violated + found.inconclusive
    page.put(
        f"{found.verdict}: {found.kept} of {counted(claims, 'claim')} kept, "
        f"{found.violated} violated, {found.inconclusive} inconclusive",
        "bold",
    )
    page.put(f"{counted(found.alerts, 'alert')}").put()
    page.put(printable(f"verdicts: {found.out}/rows    tables: {found.out}/fleet"))
