"""Opens what `check` writes timelines to: a trace of Perfetto, a file of spans, a collector."""

from __future__ import annotations

import time
from contextlib import contextmanager
from datetime import UTC, datetime
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, build_opener

import msgspec

from monitor.follow.addresses import check_url
from monitor.follow.fetch import NoRedirect
from monitor.timeline.output import Output
from monitor.timeline.perfetto import open_perfetto
from monitor.timeline.spans import SpansWriter
from spec.files.writing import check_apart, check_target
from spec.language.errors import OutputError, SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from monitor.timeline.items import Item

__all__ = ["Timelines", "timelines"]

_TRACES: Final = "/v1/traces"
_TIMEOUT_S: Final = 10.0
_MOST_ANSWER: Final = 1 << 16  # bytes of an answer that are read


class Timelines:
    """What is written beside a check."""

    def __init__(self, outputs: Sequence[Output]) -> None:
        self._outputs = outputs

    @property
    def put(self) -> Callable[[Item], None] | None:
        """Takes each item of the timeline; None where nothing is written."""
        return self._put if self._outputs else None

    def _put(self, item: Item) -> None:
        for output in self._outputs:
            output.put(item)

    def close(self) -> None:
        """There are no more items."""
        for output in self._outputs:
            output.close()

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
    is_url = spans is not None and spans.startswith(("http://", "https://"))
    path = None if spans is None or is_url else Path(spans)
    check_apart(perfetto=perfetto, **{"otlp-spans": path})
    from_ns = None if start is None else _time(start)
    outputs = []
    if spans is not None:
        outputs.append(_open_spans(spans, path, from_ns, reads))
    if perfetto is not None:
        outputs.append(open_perfetto(perfetto, reads=reads))
    found = Timelines(outputs)
    try:
        yield found
    finally:
        found.close()


def _open_spans(spans: str, path: Path | None, start: int | None, reads: Sequence[str]) -> Output:
    name = f"--otlp-spans {spans}"
    if path is None:
        check_url(spans, "--otlp-spans")
        parts = urlsplit(spans)
        url = spans if parts.path not in ("", "/") else parts._replace(path=_TRACES).geturl()
        return Output(name, SpansWriter(lambda body: _post(url, body), start))
    check_target(path, reads=reads)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("wb")
    except OSError as problem:
        raise OutputError(f"cannot write {path}: {problem.strerror}", "name another") from None

    def write(line: bytes) -> None:
        file.write(line)

    return Output(name, SpansWriter(write, start), file)


def _post(url: str, body: bytes) -> None:
    """Post spans; raises SpecError where they are not taken."""
    headers = {"Content-Type": "application/json", "User-Agent": "resident-claims"}
    request = Request(url, body, headers, method="POST")
    try:
        with build_opener(NoRedirect).open(request, timeout=_TIMEOUT_S) as answer:
            rejected = _rejected(answer.read(_MOST_ANSWER))
    except HTTPError as error:
        error.close()
        raise SpecError(f"HTTP {error.code}", "the spans were not taken") from None
    except (OSError, ValueError, HTTPException) as error:
        why = str(getattr(error, "reason", None) or error) or type(error).__name__
        raise SpecError(why, "the spans were not posted") from None
    if rejected:
        raise SpecError(f"{rejected} spans were rejected", "the log of the collector may say why")


def _rejected(answer: bytes) -> int:
    """How many spans an answer of success says that were rejected."""
    try:
        return int(msgspec.json.decode(answer)["partialSuccess"]["rejectedSpans"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return 0


def _time(text: str) -> int:
    """A time as ns since 1970; UTC, where it names no zone."""
    try:
        found = datetime.fromisoformat(text)
        at = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
        seconds = (at - datetime.fromtimestamp(0, UTC)).total_seconds()
    except (ValueError, OverflowError):
        raise SpecError(f"--start {text}: no time", "such as 2026-01-31T12:00:00Z") from None
    if not 0 <= seconds <= time.time() * 2:
        raise SpecError(f"--start {text}: before 1970, or too late", "give the time of the trace")
    return round(seconds * 1_000_000) * 1000
