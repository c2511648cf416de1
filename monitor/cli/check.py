"""`check`: judges traces by the modes of their claims."""

from __future__ import annotations

from contextlib import nullcontext
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.check.files import EXIT_CODES, check
from monitor.cli.progress import progress_of
from monitor.report import options
from monitor.report.verdict import ModeChoice
from spec.cli.arguments import claim_option
from spec.cli.common import print_json, print_text
from spec.cli.layout import paper
from spec.contract.modes import Bundle
from spec.contract.names import find_bundle

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from monitor.cli.timelines import Timelines

__all__ = ["register"]

_EXAMPLE = "Example: python -m monitor check monitor/samples/hard_protected_refusal.jsonl"


class CheckFormat(StrEnum):
    """What `check` prints."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    JUNIT = "junit"


_LIST_EVERY = (CheckFormat.JSON, CheckFormat.JUNIT)


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("check", epilog=_EXAMPLE)(check_traces)


def check_traces(
    traces: options.TracesArgument,
    mode: options.ModeOption = ModeChoice.AUTO,
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
    lenient: options.LenientOption = False,
    reorder: options.ReorderOption = None,
    strip: options.StripOption = False,
    others: options.OthersOption = options.Others.REFUSE,
    jobs: Annotated[
        int, typer.Option(min=1, max=256, help="Judge so many files at once, in processes.")
    ] = 1,
    live: options.LiveOption = None,
    requests: options.RequestsOption = None,
    ids: options.IdsOption = options.IDS,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            "-v",
            help="Show all claims that were not kept, a table of obligations, and facts by kind.",
        ),
    ] = False,
    perfetto: options.PerfettoOption = None,
    otlp_spans: options.SpansOption = None,
    start: options.StartOption = None,
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
    judged_by = options.mode_asked(mode)
    of_bundle = find_bundle(bundle)
    limits = options.limits_asked(live, requests, ids)
    window = options.window_asked(reorder)
    with (
        _timelines(perfetto, otlp_spans, start, traces) as timeline,
        progress_of(traces, progress) as step,
    ):
        report = check(
            traces,
            judged_by,
            of_bundle,
            claim=claim,
            strict=strict,
            lenient=lenient,
            window=window,
            jobs=jobs,
            every=form in _LIST_EVERY,
            limits=limits,
            how=options.extraction_asked(strip, others),
            progress=step,
            timeline=None if timeline is None else timeline.put,
        )
    match form:
        case CheckFormat.JSON:
            print_json(report)
        case CheckFormat.GITHUB:
            from monitor.report.github import as_github

            print_text(as_github(report))
        case CheckFormat.JUNIT:
            from monitor.report.junit import as_junit

            typer.echo(as_junit(report), nl=False)
        case CheckFormat.TEXT:
            from monitor.report.report_text import as_text

            print_text(as_text(report, paper(), verbose=verbose))
    if timeline is not None:
        timeline.check()
    raise typer.Exit(EXIT_CODES[report.verdict])


def _timelines(
    perfetto: Path | None, spans: str | None, start: str | None, traces: list[str]
) -> AbstractContextManager[Timelines | None]:
    """What is written beside the report, if anything is."""
    if perfetto is None and spans is None and start is None:
        return nullcontext()
    from monitor.cli.timelines import timelines

    return timelines(perfetto, spans, start, traces)
