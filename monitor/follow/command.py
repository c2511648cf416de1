"""Runs `follow`: sets everything up from what a person typed, and says how it ended."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import typer

from monitor.check.files import EXIT_CODES
from monitor.durable.checkpoints import Checkpoints
from monitor.follow.addresses import (
    address_of,
    check_endpoint,
    check_url,
    is_publisher,
    is_receiver,
    source_of,
    token_in,
)
from monitor.follow.buffer import WhenFull
from monitor.follow.checkpointing import RESTARTED, Recording, Restored, Terms
from monitor.follow.discovery import with_replays
from monitor.follow.engines import PREFIX, Engines
from monitor.follow.follower import Follower, verdict_of
from monitor.follow.judge import Judge
from monitor.follow.metrics import MetricsServer, registry_of
from monitor.follow.poster import OtlpLogs, Webhook
from monitor.follow.verdict_line import ClaimLine, Counts, line_text
from monitor.follow.verdicts_file import VerdictsFile
from monitor.input.logs import PLAIN
from monitor.report.options import USUAL_WAIT
from monitor.report.report_text import order_text
from monitor.results import USUAL
from spec.cli.common import Code, print_text
from spec.files.writing import check_apart
from spec.language.errors import SpecError
from spec.language.prose import printable
from spec.stream.codes import Code as Reasons

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from monitor.follow.metrics import Samples
    from monitor.follow.poster import Poster
    from monitor.follow.verdict_line import PostedLine, VerdictLine
    from monitor.input.dialects import Reader
    from monitor.input.errors import InputError
    from monitor.input.logs import Extraction
    from monitor.input.reorder_window import Window
    from monitor.report.verdict import Report
    from monitor.timeline import Written
    from monitor.timeline.output import Output
    from spec.claims.states import Mode
    from spec.stream.breaks import Limits
    from spec.stream.outcome import ModeVerdict

__all__ = ["Asked", "Display", "Followed", "follow_events", "followed"]

_SHOWN_BREAKS: Final = 5  # of a source
_DISORDER: Final = ("duplicates", "reordered", "late", "contradicting")
SOURCES: Final = 64
LAST_POSTS_S: Final = 10.0
"""So long what waits is still posted at the end, by each who posts."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person asked for, as the options of `follow` and `watch` have it."""

    sources: Sequence[str]
    replays: Sequence[str]
    until_eof: bool
    verdicts: Path | None
    checkpoint: Path | None
    checkpoint_every: float
    webhook: str | None
    otlp: str | None
    otlp_token: Path | None
    metrics: str | None
    metrics_token: Path | None
    json: bool
    mode: Mode | None = None
    reorder: Window | None = None
    ranks: Window = USUAL_WAIT
    limits: Limits = USUAL
    how: Extraction = PLAIN
    when_full: WhenFull = WhenFull.BLOCK
    listen_token: Path | None = None
    perfetto: Path | None = None


class Display:
    """Shows what is decided. A subclass may read the lines of sources in a way of its own.

    Attributes:
        post: posts what is no verdict.
    """

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self.post: Callable[[Sequence[PostedLine]], None] = lambda _: None

    def reader(self, source: str) -> Reader | None:
        """The reader of a source; None for that of lines of events."""
        return None

    def show(self, lines: Sequence[VerdictLine]) -> None:
        """Show violations and limits, and all verdicts where there is no file for them."""
        for line in lines:
            if self._asked.verdicts is None or not isinstance(line, ClaimLine):
                if self._asked.json:
                    _write_json(line)
                else:
                    print_text(line_text(line))
        sys.stdout.flush()

    def look(self) -> None:
        """Called several times a second, between lines."""

    def samples(self) -> Samples:
        """Metrics of its own, by their keys."""
        return {}


class Followed(NamedTuple):
    """What was followed, after its end."""

    reports: list[Report]
    judges: dict[str, Judge]
    unreplayed: list[str]
    """Sockets of KV events without one that replays, so that a last batch may be missing."""

    @property
    def verdict(self) -> ModeVerdict:
        """The verdict over all sources."""
        return verdict_of(self.reports, dropped=any(j.dropped for j in self.judges.values()))

    def breaks(self) -> list[str]:
        """The first breaks of each source, as its report names them, but for runs that begin."""
        new_run, found = Reasons.NEW_RUN.number, []
        for report in self.reports:
            texts = [
                f"{'' if each.at is None else f'{each.at.file}:{each.at.line}: '}"
                f"{each.why} ({each.code} {each.reason})"
                for each in report.breaks
                if each.code != new_run
            ]
            found += texts[:_SHOWN_BREAKS]
        return found


def follow_events(asked: Asked) -> int:
    """Follow the sources, and return the exit code; raises as `followed` does."""
    return _conclude(followed(asked, Display(asked)), asked)


def followed(asked: Asked, display: Display) -> Followed:
    """Follow the sources to their end, or to a signal.

    Raises:
        InputError: a source is not there, or cannot be followed.
        SpecError: an option cannot be served.
    """
    replays = with_replays(asked.sources, asked.replays)
    if len(replays) > SOURCES:
        raise SpecError(f"{len(replays)} sources", f"follow at most {SOURCES} at once")
    listen_token = _listen_token(asked, replays)
    sources = {
        name: source_of(
            name,
            until_eof=asked.until_eof,
            replay=replay or None,
            token=listen_token,
            how=asked.how,
        )
        for name, replay in replays.items()
    }
    token = None if asked.metrics_token is None else token_in(asked.metrics_token)
    address = None if asked.metrics is None else address_of(asked.metrics, token)
    url = None if asked.webhook is None else check_url(asked.webhook, "--webhook")
    collector = _collector(asked)
    if strange := next((name for name in sources if name.startswith(PREFIX)), ""):
        raise SpecError(f"{strange} is how an engine is called", f"write ./{strange}")
    counts, complain = Counts(), _Complaints()
    trace, timeline = _timeline(asked)
    engines = Engines(
        asked.ranks,
        lambda name: Judge(name, asked.mode, counts, limits=asked.limits, timeline=timeline),
        _report,
        time.monotonic,
    )
    judges = {
        name: Judge(
            name,
            asked.mode,
            counts,
            lossy=source.lossy,
            window=asked.reorder,
            limits=asked.limits,
            how=asked.how,
            on_reject=complain,
            engines=engines,
            reader=display.reader(name),
            timeline=timeline,
        )
        for name, source in sources.items()
    }
    recording, restored = None, Restored({}, {}, [])
    if asked.checkpoint is not None:
        folder = Checkpoints(asked.checkpoint)
        window = "" if asked.reorder is None else str(asked.reorder)
        terms = Terms(asked.mode or "", window, asked.limits)
        recording = Recording(folder, asked.checkpoint_every, terms, _report)
        restored = recording.restore(judges, sources, engines)
    verdicts = None
    if asked.verdicts is not None:
        replayed = {name: source.replays for name, source in sources.items()}
        verdicts = VerdictsFile(str(asked.verdicts), restored.emitted, replayed)
        # Ids must differ from those of lines that came after the checkpoint and never come again.
        for name in restored.interrupted:
            judges[name].count_from(verdicts.cited.get(name, 0))
    webhook = None if url is None else Webhook(url, _report)
    otlp = None if collector is None else OtlpLogs(*collector, _report)
    posters: list[Poster] = [each for each in (webhook, otlp) if each is not None]

    def post(lines: Sequence[PostedLine]) -> None:
        for poster in posters:
            poster.tell(lines)

    def tell(lines: Sequence[VerdictLine]) -> None:
        display.show(lines)
        post(lines)

    display.post = post
    follower = Follower(
        sources,
        judges,
        counts,
        asked.when_full,
        engines,
        report=_report,
        tell=tell,
        verdicts=verdicts,
        recorder=recording,
        positions=restored.positions,
        interrupted=dict.fromkeys(restored.interrupted, RESTARTED),
        look=display.look,
    )
    server = None
    if address is not None:
        registry = registry_of(follower, recording, webhook, otlp, display.samples)
        server = MetricsServer(address, token, registry, follower.healthy, follower.ready)
        host = f"[{address.host}]" if ":" in address.host else address.host
        _report(f"metrics: http://{host}:{server.port}/metrics")
    try:
        reports = follower.run()
    finally:
        if server is not None:
            server.close()
        for poster in posters:
            poster.close(LAST_POSTS_S)
        if trace is not None:
            trace.close()
    unreplayed = [name for name in sources if is_publisher(name) and not replays[name]]
    return Followed(reports, judges, unreplayed)


def _timeline(asked: Asked) -> tuple[Output, Written] | tuple[None, None]:
    """What writes the timeline, if that is asked for, and what judges give its items to.

    Raises:
        SpecError: it cannot be written, or would not go on.
    """
    if asked.perfetto is None:
        return None, None
    if asked.checkpoint is not None:
        cause = "--perfetto with --checkpoint: a timeline does not go on after a restart"
        raise SpecError(cause, "leave one of them out")
    check_apart(perfetto=asked.perfetto, verdicts=asked.verdicts)
    from monitor.timeline import Written
    from monitor.timeline.perfetto import FOLLOWED, open_perfetto

    trace = open_perfetto(
        asked.perfetto,
        reads=asked.sources,
        most=FOLLOWED,
        failed=lambda error: _report(str(error)),
    )
    return trace, Written(trace.put)


def _listen_token(asked: Asked, names: Iterable[str]) -> str | None:
    """The token that those ask for who post log records."""
    if asked.listen_token is None:
        return None
    if not any(map(is_receiver, names)):
        raise SpecError("--listen-token without otlp:HOST:PORT", "name that source, too")
    return token_in(asked.listen_token, "--listen-token")


def _collector(asked: Asked) -> tuple[str, str | None] | None:
    """Where log records are posted, and the token; None where that is not asked for."""
    if asked.otlp is None:
        if asked.otlp_token is not None:
            raise SpecError("--otlp-token without --otlp", "name the collector, too")
        return None
    token = None if asked.otlp_token is None else token_in(asked.otlp_token, "--otlp-token")
    return check_endpoint(asked.otlp, token), token


class _Complaints:
    """Reports the first line of each source that cannot be read."""

    def __init__(self) -> None:
        self._of: set[str] = set()

    def __call__(self, error: InputError) -> None:
        if error.file not in self._of:
            self._of.add(error.file)
            _report(f"{error}; more of them are counted")


def _conclude(found: Followed, asked: Asked) -> int:
    """Say how it ended; the exit code."""
    reports, verdict = found.reports, found.verdict
    events = [report.events for report in reports]
    read = sum(each.read for each in events)
    whys = dict.fromkeys(f"{report.inputs[0].file}: {report.why}" for report in reports)
    if asked.json:
        end: dict[str, object] = {"schema": "resident-claims/followed-end/1"}
        end |= {"verdict": verdict, "read": read}
        if breaks := found.breaks():
            end["breaks"] = breaks
        if forms := {each.file: each.form for r in reports for each in r.inputs if each.form}:
            end["forms"] = forms
        if asked.reorder is not None or any(each.late for each in events):
            end |= {name: sum(getattr(each, name) for each in events) for name in _DISORDER}
        _write_json(end)
    else:
        print_text(printable(f"{verdict}  {read} lines read") + "\n")
        for report in reports:
            for text in (report.inputs[0].form, order_text(report.events)):
                if text:
                    print_text(f"  {printable(f'{report.inputs[0].file}: {text}')}\n")
        for text in (*found.breaks(), *whys):
            print_text(f"  {printable(text)}\n")
    if not read and any(report.inputs[0].rejected for report in reports):
        return Code.BAD_INPUT
    return EXIT_CODES[verdict]


def _write_json(value: object) -> None:
    typer.echo(msgspec.json.encode(value))


def _report(text: str) -> None:
    typer.echo(printable(text), err=True)
