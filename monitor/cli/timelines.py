"""Opens what `check` writes timelines to: a trace of Perfetto, a file of spans, a collector."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.error import HTTPError

from monitor.follow.addresses import endpoint
from monitor.follow.fetch import post, refused_in, within
from monitor.timeline.output import Output, opened
from monitor.timeline.perfetto import open_perfetto
from monitor.timeline.spans import SpansWriter
from spec.files.writing import check_apart
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from monitor.timeline.items import Item

__all__ = ["Timelines", "timelines"]

_TRACES: Final = "/v1/traces"
_TIMEOUT_S: Final = 10.0  # to connect, and for each piece of an answer
_WITHIN_S: Final = 20.0  # for a post and its answer
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = datetime(2200, 1, 1, tzinfo=UTC)  # 64 bits of ns end in 2262


class Timelines:
    """What is written beside a check."""

    def __init__(self, outputs: Sequence[Output]) -> None:
        self._outputs = outputs

    def put(self, item: Item) -> None:
        """Write an item of the timeline."""
        for output in self._outputs:
            output.put(item)

    def check(self) -> None:
        """Raise the SpecError that occurred, if any: by now the verdict is printed."""
        for output in self._outputs:
            if output.error is not None:
                raise output.error


@contextmanager
def timelines(
    perfetto: Path | None, spans: str | None, start: str | None, reads: Sequence[str]
) -> Iterator[Timelines]:
    """Open what was asked for, and close it at the end.

    Args:
        reads: files that are read, which must not be written over.

    Raises:
        SpecError: it cannot be written, or `start` is no time.
    """
    if start is not None and spans is None:
        raise SpecError("--start without --otlp-spans", "leave it out")
    is_url = spans is not None and _is_url(spans)
    check_apart(perfetto=perfetto, **{"otlp-spans": None if is_url or not spans else Path(spans)})
    since, outputs = None if start is None else _time(start), list[Output]()
    if spans is not None:
        outputs.append((_posted if is_url else _saved)(spans, since, reads))
    if perfetto is not None:
        outputs.append(open_perfetto(perfetto, reads=reads))
    try:
        yield Timelines(outputs)
    finally:
        for output in outputs:
            output.close()


def _is_url(spans: str) -> bool:
    """Whether spans are posted and not saved; raises SpecError where they can be neither."""
    if spans == "-":
        raise SpecError("--otlp-spans -: it is no file here", "for one of that name give ./-")
    scheme, is_address, _ = spans.partition("://")
    if is_address and scheme.lower() not in ("http", "https"):
        raise SpecError(f"--otlp-spans {spans}: no web address", "give http:// or https://")
    return bool(is_address)


def _saved(path: str, start: int | None, reads: Sequence[str]) -> Output:
    """What writes spans to a file."""
    file = opened(Path(path), reads)
    return Output(f"--otlp-spans {path}", SpansWriter(file.write, start), file)


def _posted(url: str, start: int | None, _: Sequence[str]) -> Output:
    """What posts spans to a collector."""
    to = endpoint(url, "--otlp-spans", _TRACES)
    return Output(f"--otlp-spans {url}", SpansWriter(lambda body: _post(to, body), start))


def _post(url: str, body: bytes) -> None:
    """Post spans; raises SpecError where they are not taken."""
    try:
        answer = within(_WITHIN_S, partial(post, url, body, {}, _TIMEOUT_S))
    except HTTPError as error:
        error.close()
        raise SpecError(f"HTTP {error.code}", "the spans were not taken") from None
    except (OSError, ValueError, HTTPException) as error:
        why = str(getattr(error, "reason", None) or error) or type(error).__name__
        raise SpecError(why, "the spans were not posted") from None
    if rejected := refused_in(answer, "Spans"):
        raise SpecError(f"{rejected} spans were rejected", "the log of the collector may say why")


def _time(text: str) -> int:
    """A time as ns since 1970; UTC, where it names no zone."""
    try:
        found = datetime.fromisoformat(text)
        at = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
        if not _EPOCH <= at < _LAST:
            raise ValueError
    except ValueError:
        raise SpecError(f"--start {text}: no time", "such as 2026-01-31T12:00:00Z") from None
    return (at - _EPOCH) // timedelta(microseconds=1) * 1000
