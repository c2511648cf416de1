"""Defines the options that commands which judge traces or follow sources share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import msgspec
import typer

from monitor.input.logs import Extraction
from monitor.input.reorder_window import Window
from monitor.report.verdict import ModeChoice
from monitor.results import IDS, limits_asked
from spec.claims.states import Mode
from spec.cli.arguments import file_name, path_option
from spec.language.suggest import resolve

__all__ = [
    "IDS",
    "MOST_IDS",
    "RANK_WAIT",
    "USUAL_WAIT",
    "CheckpointOption",
    "EveryOption",
    "IdsOption",
    "LenientOption",
    "LiveOption",
    "MetricsOption",
    "MetricsTokenOption",
    "ModeOption",
    "Others",
    "OthersOption",
    "OtlpOption",
    "OtlpTokenOption",
    "PerfettoOption",
    "RankWaitOption",
    "ReorderOption",
    "ReplayOption",
    "RequestsOption",
    "SpansOption",
    "StartOption",
    "StripOption",
    "TracesArgument",
    "UntilEofOption",
    "VerdictsOption",
    "WebhookOption",
    "extraction_asked",
    "limits_asked",
    "mode_asked",
    "wait_asked",
    "window_asked",
]

TracesArgument: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        parser=file_name,
        metavar="TRACE",
        help="Files, plain or compressed (gzip, xz, zstd); - is standard input.",
    ),
]

LenientOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--lenient", help="Skip bad lines and count them; the verdict is then never kept."
    ),
]

ModeOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--mode",
        help=f"{ModeChoice.AUTO}: each claim by the mode that it states; or one of "
        f"{', '.join(Mode)}.",
    ),
]

PerfettoOption: TypeAlias = Annotated[
    Path | None,
    path_option(
        "--perfetto", help="Write a timeline that ui.perfetto.dev opens; extra [perfetto]."
    ),
]

SpansOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--otlp-spans",
        parser=file_name,
        metavar="PATH|URL",
        help="Write each claim and request as a span of OpenTelemetry, or post them to a "
        "collector: /v1/traces, if the address has no path.",
    ),
]

StartOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--start",
        metavar="TIME",
        help="With --otlp-spans: when the first event of each file happened, such as "
        "2026-01-31T12:00:00Z. Needed where time_ns is no wall time.",
    ),
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


def mode_asked(text: str) -> Mode | None:
    """The mode that the option names, None for `auto`; raises UnknownName."""
    choice = resolve(text, ModeChoice, what="mode")
    return None if choice == ModeChoice.AUTO else Mode(choice)


_MOST: Final = 1_000_000_000
MOST_IDS: Final = 100_000_000
"""Ids that can be remembered: they take 1 GiB in the native core."""

_BEYOND: Final = "One more breaks the stream, and claims that are alive are inconclusive."

LiveOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--max-live",
        metavar="N",
        min=1,
        max=_MOST,
        help=f"Follow at most N claims of a stream that have not ended. {_BEYOND}",
    ),
]
RequestsOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--max-requests",
        metavar="N",
        min=1,
        max=_MOST,
        help="The same of requests that have not ended, or on which reports may still come.",
    ),
]
IdsOption: TypeAlias = Annotated[
    int,
    typer.Option(
        "--max-ids",
        metavar="N",
        min=1,
        max=MOST_IDS,
        help="Remember the ids of N claims that ended and are no longer tracked, some 9 bytes "
        "each in the native core, 160 without. Then older ids are forgotten: that a claim of such "
        "an id begins again is not noticed, and the theorem does not apply.",
    ),
]

USUAL_WAIT: Final = Window(100_000, 10_000_000_000)
"""How long a rank that is silent is waited for, by default."""

RANK_WAIT: Final = str(USUAL_WAIT)

ReorderOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--reorder",
        metavar="WINDOW",
        help="Put the lines of each stream into the order of their numbers, and drop repeated "
        "ones; wait for a missing line until so many others came, or so long by their "
        "time_ns: 100, 5s, or 100,5s.",
    ),
]

RankWaitOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--rank-wait",
        metavar="WINDOW",
        help="Merge the ranks of an engine, and hold so many of their lines back for a rank that "
        "is silent, or so long: 100000, 10s, or 100000,10s.",
    ),
]


StripOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--strip",
        help="Remove the prefix of log lines: of journald, docker's json-file, CRI and kubectl "
        "--timestamps.",
    ),
]


class Others(StrEnum):
    """What is done with lines of other programs."""

    REFUSE = "refuse"
    SKIP = "skip"


OthersOption: TypeAlias = Annotated[
    Others,
    typer.Option(
        "--others",
        help="Lines of other programs; skip: count those that have no object in them, and count "
        "the rest as bad lines. Streams need sequence numbers.",
    ),
]


def extraction_asked(strip: bool, others: Others) -> Extraction:
    """How lines of events are taken out of a log."""
    return Extraction(strip, others is Others.SKIP)


def window_asked(text: str | None) -> Window | None:
    """The window that the option states; raises SpecError."""
    return None if text is None else Window.parse(text)


def wait_asked(text: str) -> Window:
    """How long a rank is waited for: so many lines, and so long; raises SpecError."""
    window = Window.parse(text)
    if window.nanoseconds is not None:
        return window
    return msgspec.structs.replace(window, nanoseconds=USUAL_WAIT.nanoseconds)
