"""Posts what is decided to a web address, in a thread of its own, without blocking the judge.

Violations and losses go to a webhook as JSON. All lines go to an OpenTelemetry collector as log
records, in the JSON form of OTLP/HTTP.
"""

from __future__ import annotations

import queue
import threading
import time
from typing import TYPE_CHECKING, Any, Final
from urllib.error import HTTPError

import msgspec

from monitor.follow.fetch import post, refused_in
from monitor.follow.verdict_line import LimitLine, LossLine, ViolationLine
from monitor.timeline.spans import attributes, export_request
from spec.stream.outcome import ModeVerdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from monitor.follow.verdict_line import PostedLine

__all__ = ["TRIES", "WAITING", "OtlpLogs", "Poster", "Webhook", "log_record"]

WAITING: Final = 1_000
"""Lines that wait to be posted; one more is dropped and counted."""

TRIES: Final = 4

CLAIM, VIOLATION = "resident_claims.claim", "resident_claims.violation"
LIMIT, LOSS = "resident_claims.limit", "resident_claims.loss"
"""The names of log records: the verdict on a claim, a violation, a limit that was reached, and a
loss that `watch` observed.
"""

_TIMEOUT_S: Final = 5.0
_FIRST_WAIT_S: Final = 0.5  # before the second try; each wait is twice the last

_SEVERITIES: Final = {
    ModeVerdict.KEPT: (9, "INFO"),
    ModeVerdict.INCONCLUSIVE: (13, "WARN"),
    ModeVerdict.VIOLATED: (17, "ERROR"),
}
_ATTRIBUTES: Final = (
    *("id", "source", "stream", "claim_id", "mode", "obligation", "verdict", "limit"),
)


class Poster:
    """Posts lines, some at a time. They are given up after `TRIES` tries, and counted.

    A subclass states the class variables, and what is posted.
    """

    NAME: str
    """What it is called in reports."""

    POSTS: str
    """What it posts, in the plural."""

    MOST: int
    """Lines in one post."""

    def __init__(self, url: str, report: Callable[[str], None]) -> None:
        self._url, self._report = url, report
        self._queue: queue.Queue[PostedLine] = queue.Queue(WAITING)
        self._closing = threading.Event()
        self.posted = self.failed = self.dropped = 0
        self._thread = threading.Thread(target=self._run, name=self.NAME, daemon=True)
        self._thread.start()

    MAY_HELP: tuple[int, ...]
    """Codes of answers after which another try may help."""

    def wants(self, line: PostedLine) -> bool:
        """Whether a line is posted."""
        return True

    def content(self, lines: Sequence[PostedLine]) -> tuple[Mapping[str, str], bytes]:
        """The headers and the body of a post, besides what all have."""
        raise NotImplementedError

    def refused(self, answer: bytes, lines: int) -> int:
        """How many of the lines were refused by an answer of success."""
        return 0

    def tell(self, lines: Iterable[PostedLine]) -> None:
        """Post those among these that are wanted, later."""
        for line in lines:
            if self.wants(line):
                try:
                    self._queue.put_nowait(line)
                except queue.Full:
                    self.dropped += 1

    def close(self, seconds: float) -> None:
        """Post what waits, for at most so many seconds."""
        end = time.monotonic() + seconds
        while self._queue.unfinished_tasks and time.monotonic() < end:
            time.sleep(0.02)
        self._closing.set()
        if left := self._queue.unfinished_tasks:
            self.dropped += left
            self._report(f"{self.NAME}: {left} {self.POSTS} were not posted")

    def _run(self) -> None:
        while True:
            lines = [self._queue.get()]
            while len(lines) < self.MOST:
                try:
                    lines.append(self._queue.get_nowait())
                except queue.Empty:
                    break
            self._post(lines)
            for _ in lines:
                self._queue.task_done()
            if self._closing.is_set():
                return

    def _post(self, lines: Sequence[PostedLine]) -> None:
        headers, body = self.content(lines)
        wait, why = _FIRST_WAIT_S, ""
        for number in range(TRIES):
            if number and self._closing.wait(wait):
                break
            wait *= 2 if number else 1
            try:
                answer = post(self._url, body, headers, _TIMEOUT_S)
                refused = self.refused(answer, len(lines))
                self.posted += len(lines) - refused
                if refused:
                    self._fail(refused, "the answer says so")
                return
            except HTTPError as error:
                error.close()
                why = f"HTTP {error.code}"
                if error.code not in self.MAY_HELP:
                    break
            except (OSError, ValueError) as error:
                why = str(getattr(error, "reason", None) or error)
        self._fail(len(lines), why)

    def _fail(self, lines: int, why: str) -> None:
        first = not self.failed
        self.failed += lines
        if first:
            self._report(f"{self.NAME}: {self.POSTS} were not posted ({why}); more are counted")


class Webhook(Poster):
    """Posts each violation as JSON, as it stands in the file of verdicts, and each loss.

    The header `Idempotency-Key` is the id of the line: what is posted again after a restart has the
    same.
    """

    NAME, POSTS, MOST = "webhook", "lines", 1
    MAY_HELP = (408, 429, *range(500, 600))

    def wants(self, line: PostedLine) -> bool:
        """Whether it is a violation or a loss."""
        return isinstance(line, ViolationLine | LossLine)

    def content(self, lines: Sequence[PostedLine]) -> tuple[Mapping[str, str], bytes]:
        """One line."""
        (line,) = lines
        return {"Idempotency-Key": line.id}, msgspec.json.encode(line)


class OtlpLogs(Poster):
    """Posts each line of the file of verdicts as a log record.

    Its body is the line. What is posted again, after a restart or because an answer was lost, has
    the same attribute `resident_claims.id`.

    Args:
        token: is sent as `Authorization: Bearer`; None for none.
    """

    NAME, POSTS, MOST = "otlp", "log records", 100
    MAY_HELP = (429, 502, 503, 504)  # the specification of OTLP lists these

    def __init__(self, url: str, token: str | None, report: Callable[[str], None]) -> None:
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        super().__init__(url, report)

    def content(self, lines: Sequence[PostedLine]) -> tuple[Mapping[str, str], bytes]:
        """A request to export these."""
        now = time.time_ns()
        records = [log_record(line, now) for line in lines]
        return self._headers, export_request("Logs", "logRecords", records)

    def refused(self, answer: bytes, lines: int) -> int:
        """How many records the collector says that it rejected."""
        return max(0, min(refused_in(answer, "LogRecords"), lines))


def log_record(line: PostedLine, now_ns: int) -> dict[str, Any]:
    """A line as a log record. When its event happened is unknown: events have no wall clock.

    Args:
        now_ns: when it is written, in ns since 1970.
    """
    kind, verdict, severity = _said(line)
    number, name = _SEVERITIES[severity]
    about = {
        field: str(value)
        for field in _ATTRIBUTES
        if (value := verdict if field == "verdict" else getattr(line, field, None)) is not None
    }
    return {
        "observedTimeUnixNano": str(now_ns),
        "severityNumber": number,
        "severityText": name,
        "eventName": kind,
        "body": {"stringValue": msgspec.json.encode(line).decode()},
        "attributes": attributes(about),
    }


def _said(line: PostedLine) -> tuple[str, ModeVerdict | None, ModeVerdict]:
    """What a line is called, its verdict if it has one, and the verdict that weighs as much."""
    if isinstance(line, ViolationLine):
        return VIOLATION, ModeVerdict.VIOLATED, ModeVerdict.VIOLATED
    if isinstance(line, LimitLine):
        return LIMIT, None, ModeVerdict.INCONCLUSIVE
    if isinstance(line, LossLine):
        return LOSS, None, ModeVerdict.INCONCLUSIVE
    return CLAIM, line.verdict, line.verdict if line.entered else ModeVerdict.KEPT
