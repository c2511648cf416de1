"""Defines the options of `follow`, and prints the live verdicts of a process that judges itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from monitor.follow.addresses import is_socket
from monitor.follow.buffer import WhenFull
from monitor.follow.command import Asked, follow_events
from monitor.live.follow import Followed, follow, live_line
from monitor.live.lines import LiveEnd
from monitor.report import options
from monitor.report.verdict import ModeChoice
from spec.cli.arguments import file_name, path_option
from spec.cli.common import Format, FormatOption, print_text
from spec.language.errors import SpecError
from spec.language.prose import printable

__all__ = ["register"]

_EXAMPLE = (
    "Example: python -m monitor follow monitor/samples/hard_protected_refusal.jsonl "
    "--until-eof --verdicts build/verdicts.jsonl"
)

_NOT_REFUSED: Final = ("sources", "until_eof", "checkpoint_every", "form")
"""Parameters that may be given with the socket of a process that judges by itself."""


def register(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("follow", epilog=_EXAMPLE)(follow_sources)


def follow_sources(
    context: typer.Context,
    sources: Annotated[
        list[str],
        typer.Argument(
            parser=file_name,
            metavar="SOURCE",
            help="PATH of a file that grows or of a named pipe, file:PATH to wait for the file, -, "
            "unix:PATH, tcp:HOST:PORT, zmq:ADDRESS; otlp:HOST:PORT, to which a collector posts log "
            "records; tcp://HOST:PORT, where an engine publishes KV events; http://HOST:PORT, an "
            "SGLang server that lists such sockets; or PATH of the socket of a serving process.",
        ),
    ],
    replay: options.ReplayOption = None,
    mode: options.ModeOption = ModeChoice.AUTO,
    until_eof: options.UntilEofOption = False,
    reorder: options.ReorderOption = None,
    strip: options.StripOption = False,
    others: options.OthersOption = options.Others.REFUSE,
    rank_wait: options.RankWaitOption = options.RANK_WAIT,
    live: options.LiveOption = None,
    requests: options.RequestsOption = None,
    ids: options.IdsOption = options.IDS,
    when_full: Annotated[
        WhenFull,
        typer.Option(
            help="Where lines come faster than they are judged: block lets the source wait; gap "
            "drops lines, counts them, and claims that live then are inconclusive.",
        ),
    ] = WhenFull.BLOCK,
    verdicts: options.VerdictsOption = None,
    checkpoint: options.CheckpointOption = None,
    checkpoint_every: options.EveryOption = 10.0,
    webhook: options.WebhookOption = None,
    otlp: options.OtlpOption = None,
    otlp_token: options.OtlpTokenOption = None,
    listen_token: Annotated[
        Path | None,
        path_option(
            "--listen-token",
            metavar="FILE",
            help="A file with the token that otlp:HOST:PORT asks for.",
        ),
    ] = None,
    metrics: options.MetricsOption = None,
    metrics_token: options.MetricsTokenOption = None,
    perfetto: options.PerfettoOption = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """Judge events as they come, until a signal.

    Each claim is judged by the mode that it states.

    SIGTERM or SIGINT: what was received is judged, and it ends by the verdict. SIGHUP: files are
    opened again.

    Of the socket of a process that judges by itself, the live verdicts are printed until it ends;
    options about what is judged or where it is written are refused then.

    Exit 0: kept. 1: violated. 2: bad input. 3: inconclusive, no claim, or the process broke off.
    """
    if len(sources) == 1 and is_socket(sources[0]):
        _refuse_options(sources[0], context)
        raise typer.Exit(_follow_verdicts(sources[0], form))
    asked = Asked(
        sources,
        replay or (),
        until_eof,
        verdicts,
        checkpoint,
        checkpoint_every,
        webhook,
        otlp,
        otlp_token,
        metrics,
        metrics_token,
        form is Format.JSON,
        options.mode_asked(mode),
        options.window_asked(reorder),
        options.wait_asked(rank_wait),
        options.limits_asked(live, requests, ids),
        options.extraction_asked(strip, others),
        when_full,
        listen_token,
        perfetto,
    )
    code = follow_events(asked)
    raise typer.Exit(code)


def _refuse_options(socket: str, context: typer.Context) -> None:
    """Refuse options that mean nothing where another process judges; raises SpecError."""
    values = context.params
    refused = (each for each in context.command.params if each.name not in _NOT_REFUSED)
    given = [e.opts[0] for e in refused if (v := values[e.name or ""]) and v != e.default]
    if given:
        what = "that option" if len(given) == 1 else "those options"
        cause = f"{', '.join(given)} with the socket of a process that judges by itself: its "
        cause += "verdicts are printed, and nothing is judged here"
        hint = f"leave {what} out, or follow the trace that the process writes, by its path; "
        raise SpecError(cause, f"{hint}where lines of events come from the socket, unix:{socket}")


def _follow_verdicts(socket: str, form: Format) -> int:
    """Print the live verdicts of a serving process; the exit code."""
    followed = Followed()
    for line in follow(socket):
        followed.take(line)
        if form is Format.JSON:
            typer.echo(msgspec.json.encode(line))
        elif not isinstance(line, LiveEnd):
            print_text(live_line(line))
    if not followed.ended:
        typer.echo(f"interrupted: {printable(socket)} closed before the last verdicts", err=True)
    return followed.code
