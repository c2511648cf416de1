"""`python -m monitor`: judge traces by a mode."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

from monitor.check.evidence import NoModeStated, as_yaml, exit_code, take_evidence
from monitor.check.files import EXIT_CODES, check
from monitor.check.reference import MOST_BYTES, MOST_LINES, check_by_reference
from monitor.evaluate.listing import as_json, as_source
from monitor.follow.cli import follow_sources
from monitor.follow.pages import pages
from monitor.input.errors import InputError
from monitor.report.evidence_text import evidence_text
from monitor.report.github import as_github
from monitor.report.junit import as_junit
from monitor.report.mode_option import ModeOption, mode_asked
from monitor.report.reorder_option import ReorderOption, window_asked
from monitor.report.report_text import as_text
from monitor.report.verdict import ModeChoice, verdict_schema
from spec.cli.arguments import claim_option, file_name, path_option
from spec.cli.common import (
    Code,
    Format,
    FormatOption,
    add_docs,
    add_schema,
    console,
    new_app,
    print_json,
    print_text,
    run,
)
from spec.contract.modes import MODES, Bundle
from spec.contract.names import find_bundle, find_kind, find_mode
from spec.events.alphabet import Kind
from spec.files.writing import check_target, write_bytes
from spec.language.errors import SpecError
from spec.language.prose import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["app", "main"]

LONG_BYTES = 32 << 20  # from this size on a terminal is shown how far the reading is


class CheckFormat(StrEnum):
    """What `check` prints."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    JUNIT = "junit"


app = new_app(
    "monitor", "Check recorded events against the modes of the claims that the runtime accepted."
)


@app.command(
    "check",
    epilog="Example: python -m monitor check monitor/samples/hard_protected_refusal.jsonl",
)
def check_traces(
    traces: Annotated[
        list[str],
        typer.Argument(
            parser=file_name, metavar="TRACE", help="Files, plain or gzip; - is standard input."
        ),
    ],
    mode: ModeOption = ModeChoice.AUTO,
    bundle: Annotated[str, typer.Option(help=f"One of {', '.join(Bundle)}.")] = Bundle.CONTRACT,
    claim: Annotated[str | None, claim_option("Judge only this claim.")] = None,
    form: Annotated[
        CheckFormat,
        typer.Option(
            "--format",
            help="Output format; github: annotations of GitHub Actions.",
        ),
    ] = CheckFormat.TEXT,
    strict: Annotated[
        bool, typer.Option("--strict", help="Inconclusive if some obligation was not exercised.")
    ] = False,
    lenient: Annotated[
        bool,
        typer.Option(
            "--lenient", help="Skip bad lines and count them; the verdict is then never kept."
        ),
    ] = False,
    reorder: ReorderOption = None,
    jobs: Annotated[
        int, typer.Option(min=1, max=256, help="Judge so many files at once, in processes.")
    ] = 1,
    reference: Annotated[
        bool,
        typer.Option(
            "--reference",
            help=(
                "Use the naive projection, an independent and slow implementation, for traces of "
                f"at most {MOST_LINES} lines or {MOST_BYTES >> 20} MiB, with few blocks and "
                "requests."
            ),
        ),
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            "-v",
            help="Show all claims that were not kept, a table of obligations, and facts by kind.",
        ),
    ] = False,
    progress: Annotated[
        bool | None,
        typer.Option(help="Show progress; by default for long files on a terminal."),
    ] = None,
) -> None:
    """Judge traces, each claim by its own mode.

    That is the mode that the claim states; where a claim states none the verdict is inconclusive.
    With --mode the claims of that mode are judged, and those that state none.

    Exit 0: kept. 1: violated. 2: bad input. 3: inconclusive.
    """
    judged_by = mode_asked(mode)
    of_bundle = find_bundle(bundle)
    if reference and lenient:
        raise SpecError("--reference reads every line", "leave out --lenient")
    if reference and reorder is not None:
        raise SpecError("--reference takes the lines as they come", "leave out --reorder")
    window = window_asked(reorder)
    try:
        with _progress(traces, progress) as step:
            report = (
                check_by_reference(traces, judged_by, of_bundle, claim=claim, strict=strict)
                if reference
                else check(
                    traces,
                    judged_by,
                    of_bundle,
                    claim=claim,
                    strict=strict,
                    lenient=lenient,
                    window=window,
                    jobs=jobs,
                    progress=step,
                )
            )
    except InputError as error:
        raise SpecError(str(error)) from error
    match form:
        case CheckFormat.JSON:
            print_json(report)
        case CheckFormat.GITHUB:
            print_text(as_github(report))
        case CheckFormat.JUNIT:
            typer.echo(as_junit(report), nl=False)
        case CheckFormat.TEXT:
            print_text(as_text(report, console(), verbose=verbose))
    raise typer.Exit(EXIT_CODES[report.verdict])


@app.command(
    epilog="Example: python -m monitor evidence monitor/samples/offloadable_restore.jsonl "
    "--mode offloadable -o build/evidence.yaml",
)
def evidence(
    traces: Annotated[
        list[str],
        typer.Argument(parser=file_name, metavar="TRACE", help="Files, plain or gzip."),
    ],
    mode: ModeOption = ModeChoice.AUTO,
    output: Annotated[
        Path | None,
        path_option("--output", "-o", help="Write the evidence to this file, in YAML."),
    ] = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """Extract evidence for a mode's obligations from traces.

    `label --evidence` (`python -m proofs lower`) reads it. Each obligation that a claim exercised
    and kept is listed with its file, the file's digest and the numbers of the events. What is
    violated, inconclusive, pending or unexercised is no evidence. If one claim violates an
    obligation, its file is no evidence for that obligation. The paths of the traces are written
    relative to the evidence file.

    Evidence is of one mode: by default the one that every claim states. Where the claims state
    several, or some claim states none, name it with --mode.

    Exit 0: some evidence, nothing violated. 1: something violated. 2: bad input. 3: no
    evidence, or a claim states no mode.
    """
    judged_by = mode_asked(mode)
    check_target(output, reads=traces)
    try:
        with _progress(traces, None) as step:
            found = take_evidence(
                traces, judged_by, Path() if output is None else output.parent, progress=step
            )
    except InputError as error:
        raise SpecError(str(error)) from error
    except NoModeStated as error:
        typer.echo(f"inconclusive: {printable(str(error))}", err=True)
        raise typer.Exit(Code.INCONCLUSIVE) from None
    if output is not None:
        write_bytes(output, as_yaml(found))
    if form is Format.JSON:
        print_json(found.model_dump(mode="json", by_alias=True))
    else:
        print_text(evidence_text(found, console()))
    raise typer.Exit(exit_code(found))


app.command(
    "follow",
    epilog="Example: python -m monitor follow monitor/samples/hard_protected_refusal.jsonl "
    "--until-eof --verdicts build/verdicts.jsonl",
)(follow_sources)


@app.command(
    "compile",
    epilog="Example: python -m monitor compile hard_protected --kind block_evicted",
)
def compile_functions(
    mode: Annotated[str, typer.Argument(metavar="MODE", help=f"One of {', '.join(MODES)}.")],
    kind: Annotated[
        list[str] | None, typer.Option(help="Only for this kind of event; may be repeated.")
    ] = None,
    bundle: Annotated[str, typer.Option(help=f"One of {', '.join(Bundle)}.")] = Bundle.CONTRACT,
    form: FormatOption = Format.TEXT,
) -> None:
    """Print the Python that moves a claim, by kind of event.

    `python -m proofs check frame` proves that it does what the specification says. `run` is a
    claim, `e` an event as the claim sees it, `was` and `now` the registers before and after it.

    Exit 0: printed. 2: bad input.
    """
    kinds = [find_kind(each) for each in kind or Kind]
    asked = find_mode(mode).mode, find_bundle(bundle), kinds
    if form is Format.JSON:
        print_json(as_json(*asked))
    else:
        print_text(as_source(*asked))


add_docs(app, pages, of="verdicts")
add_schema(app, verdict_schema, of="a verdict", example="-o docs/schema/verdict.json")


@contextmanager
def _progress(paths: list[str], asked: bool | None) -> Iterator[Callable[[int], None] | None]:
    """A bar on standard error, or nothing where that is no terminal."""
    total = sum(map(_size, set(paths)))
    wanted = total >= LONG_BYTES if asked is None else asked
    if not (wanted and sys.stderr.isatty()):
        yield None
        return
    columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total or None)
        yield lambda read: bar.update(task, completed=read)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return 0


def main(argv: list[str] | None = None) -> int:
    """Run the command line on `argv` and return its exit code."""
    return run(app, argv)


if __name__ == "__main__":
    sys.exit(main())
