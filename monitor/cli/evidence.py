"""`evidence`: extracts from traces what they show of a mode."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from monitor.cli.progress import progress_of
from monitor.evidence.joined import take_joined_evidence
from monitor.evidence.take import NoModeStated, as_yaml, exit_code, take_evidence
from monitor.report.evidence_text import put_evidence
from monitor.report.options import ModeOption, mode_asked
from monitor.report.verdict import ModeChoice
from spec.cli.arguments import file_name, path_option
from spec.cli.common import (
    Code,
    Format,
    FormatOption,
    write_output,
)
from spec.cli.layout import print_as
from spec.files.writing import check_target
from spec.language.prose import printable

__all__ = ["register"]

_EXAMPLE = (
    "Example: python -m monitor evidence monitor/samples/offloadable_restore.jsonl "
    "--mode offloadable -o build/evidence.yaml"
)


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("evidence", epilog=_EXAMPLE)(evidence)


def evidence(
    traces: Annotated[
        list[str],
        typer.Argument(
            parser=file_name, metavar="TRACE", help="Files, plain or compressed (gzip, xz, zstd)."
        ),
    ],
    mode: ModeOption = ModeChoice.AUTO,
    registry: Annotated[
        str | None,
        typer.Option(
            "--registry",
            parser=file_name,
            metavar="FILE",
            help="Claims on an engine without the plugin; the traces are captures of KV events.",
        ),
    ] = None,
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
    obligation, its file is no evidence for that obligation. No single trace shows
    priority_influence: give the runs of its experiment together (see pressure). The paths of the
    traces are written relative to the evidence file.

    With --registry the claims are joined with KV events, and the preconditions of the join are
    listed. What such a join shows is never evidence of enforcement.

    Evidence is of one mode: by default the one that every claim states. Where the claims state
    several, or some claim states none, name it with --mode.

    Exit 0: some evidence, nothing violated. 1: something violated. 2: bad input. 3: no
    evidence, or a claim states no mode.
    """
    judged_by = mode_asked(mode)
    check_target(output, reads=[*traces, *filter(None, [registry])])
    try:
        with progress_of(traces, None) as step:
            beside = Path() if output is None else output.parent
            if registry is None:
                found = take_evidence(traces, judged_by, beside, progress=step)
            else:
                found = take_joined_evidence(registry, traces, judged_by, beside, progress=step)
    except NoModeStated as error:
        typer.echo(f"inconclusive: {printable(str(error))}", err=True)
        raise typer.Exit(Code.INCONCLUSIVE) from None
    if output is not None:
        write_output(output, as_yaml(found))
    print_as(
        form, found.model_dump(mode="json", by_alias=True), lambda out: put_evidence(out, found)
    )
    raise typer.Exit(exit_code(found))
