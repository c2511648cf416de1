"""Defines the options of `watch`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from monitor.follow.command import Asked
from monitor.report import options
from monitor.watch.command import watch_events
from monitor.watch.registry import load_registry
from spec.cli.arguments import file_name
from spec.cli.common import Format, FormatOption
from spec.files.writing import check_target

__all__ = ["register"]

_EXAMPLE = (
    "Example: python -m monitor watch monitor/samples/watch/registry.yaml "
    "monitor/samples/watch/capture.jsonl --until-eof"
)


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("watch", epilog=_EXAMPLE)(watch_claims)


def watch_claims(
    registry: Annotated[
        str,
        typer.Argument(
            parser=file_name, metavar="REGISTRY", help="A file of claims, in YAML or JSON."
        ),
    ],
    sources: Annotated[
        list[str],
        typer.Argument(
            parser=file_name,
            metavar="SOURCE",
            help="tcp://HOST:PORT, where an engine publishes KV events; http://HOST:PORT, an "
            "SGLang server that lists such sockets; or PATH of a capture.",
        ),
    ],
    compare: Annotated[
        list[str] | None,
        typer.Option(
            parser=file_name,
            metavar="OBSERVER",
            help="Another observer of the engine, which is compared: PATH or tcp://HOST:PORT with "
            "KV events, such as those of a store, or dynamo:http://HOST:PORT, a KV indexer. Repeat "
            "it for several. Name --replay for its socket after those of the sources.",
        ),
    ] = None,
    replay: options.ReplayOption = None,
    until_eof: options.UntilEofOption = False,
    verdicts: options.VerdictsOption = None,
    checkpoint: options.CheckpointOption = None,
    checkpoint_every: options.EveryOption = 10.0,
    webhook: options.WebhookOption = None,
    otlp: options.OtlpOption = None,
    otlp_token: options.OtlpTokenOption = None,
    metrics: options.MetricsOption = None,
    metrics_token: options.MetricsTokenOption = None,
    by_claim: Annotated[
        bool,
        typer.Option(
            "--metrics-by-claim",
            help="Serve metrics of each claim, too, with its id, for at most 1,000 claims.",
        ),
    ] = False,
    perfetto: options.PerfettoOption = None,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="Show the preconditions that are met, too."),
    ] = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Watch claims on an engine without the plugin.

    The registry names prefixes of prompts. KV events show how many of their blocks the engine
    holds, since when, and what the last loss was: on a terminal as a table, else as a line for
    each change. What an observer named by --compare states is shown where it differs, and changes
    no exit code.

    Exit 0: each change of every claim was observed. 2: bad input. 3: inconclusive.
    """
    check_target(perfetto, reads=[registry])
    asked = Asked(
        sources=sources,
        replays=replay or (),
        until_eof=until_eof,
        verdicts=verdicts,
        checkpoint=checkpoint,
        checkpoint_every=checkpoint_every,
        webhook=webhook,
        otlp=otlp,
        otlp_token=otlp_token,
        metrics=metrics,
        metrics_token=metrics_token,
        json=form is Format.JSON,
        perfetto=perfetto,
    )
    code = watch_events(
        load_registry(Path(registry)),
        asked,
        verbose=verbose,
        by_claim=by_claim,
        compare=compare or (),
    )
    raise typer.Exit(code)
