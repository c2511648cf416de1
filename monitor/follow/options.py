"""Defines the options that the commands which follow live sources share."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from monitor.follow.buffer import WhenFull
from spec.cli.arguments import path_option

__all__ = [
    "CheckpointOption",
    "EveryOption",
    "ListenTokenOption",
    "MetricsOption",
    "MetricsTokenOption",
    "OtlpOption",
    "OtlpTokenOption",
    "ReplayOption",
    "UntilEofOption",
    "VerdictsOption",
    "WebhookOption",
    "WhenFullOption",
]

ReplayOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ADDRESS",
        help="Where the engine replays KV events, such as tcp://HOST:5558; one for each "
        "tcp://HOST:PORT, in their order.",
    ),
]
UntilEofOption: TypeAlias = Annotated[
    bool, typer.Option("--until-eof", help="End where the sources end; wait for no more.")
]
WhenFullOption: TypeAlias = Annotated[
    WhenFull,
    typer.Option(
        help="Where lines come faster than they are judged: block lets the source wait; gap "
        "drops lines, counts them, and claims that live then are inconclusive.",
    ),
]
VerdictsOption: TypeAlias = Annotated[
    Path | None,
    path_option(
        "--verdicts",
        help="Append violations and the verdicts on claims that ended to this file, as lines "
        "of JSON.",
    ),
]
CheckpointOption: TypeAlias = Annotated[
    Path | None,
    path_option(
        "--checkpoint",
        metavar="DIR",
        help="Keep checkpoints in this folder, and go on from the last one.",
    ),
]
EveryOption: TypeAlias = Annotated[
    float, typer.Option(min=0.0, help="Seconds between two checkpoints.")
]
WebhookOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Post each violation, and each loss that watch observes, to this address, as JSON.",
    ),
]
OtlpOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Post each verdict to this OpenTelemetry collector, as log records (OTLP/HTTP, JSON).",
    ),
]
OtlpTokenOption: TypeAlias = Annotated[
    Path | None,
    path_option(
        "--otlp-token",
        metavar="FILE",
        help="A file with the token that the collector asks for.",
    ),
]
ListenTokenOption: TypeAlias = Annotated[
    Path | None,
    path_option(
        "--listen-token",
        metavar="FILE",
        help="A file with the token that otlp:HOST:PORT asks for.",
    ),
]
MetricsOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Serve metrics for Prometheus, /healthz and /readyz at PORT of this machine, or "
        "at HOST:PORT with a token.",
    ),
]
MetricsTokenOption: TypeAlias = Annotated[
    Path | None,
    path_option(
        "--metrics-token",
        metavar="FILE",
        help="A file with the token that /metrics asks for.",
    ),
]
