"""Posts what is decided to a web address, in a thread of its own, and never in the way."""

from __future__ import annotations

import queue
import threading
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from monitor.follow.verdict_line import VerdictLine

__all__ = ["TRIES", "WAITING", "Poster", "check_url"]

WAITING: Final = 1_000
"""Lines that wait to be posted; one more is dropped and counted."""

TRIES: Final = 4
_TIMEOUT_S: Final = 5.0
_FIRST_WAIT_S: Final = 0.5  # before the second try; each wait is twice the last
_MOST_ANSWER: Final = 1 << 16  # bytes of an answer that are read


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is a failure: what is posted goes where the person said."""

    def redirect_request(self, *_: object) -> None:
        return None


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
        self._queue: queue.Queue[VerdictLine] = queue.Queue(WAITING)
        self._opener = urllib.request.build_opener(_NoRedirect)
        self._closing = threading.Event()
        self.posted = self.failed = self.dropped = 0
        self._thread = threading.Thread(target=self._run, name=self.NAME, daemon=True)
        self._thread.start()

    def wants(self, line: VerdictLine) -> bool:
        """Whether a line is posted."""
        raise NotImplementedError

    def content(self, lines: Sequence[VerdictLine]) -> tuple[Mapping[str, str], bytes]:
        """The headers and the body of a post, besides what all have."""
        raise NotImplementedError

    def retries(self, code: int) -> bool:
        """Whether another try may help after an answer with this code."""
        raise NotImplementedError

    def refused(self, answer: bytes, lines: int) -> int:
        """How many of the lines were refused by an answer of success."""
        return 0

    def tell(self, lines: Iterable[VerdictLine]) -> None:
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

    def _post(self, lines: Sequence[VerdictLine]) -> None:
        own, body = self.content(lines)
        headers = {"Content-Type": "application/json", "User-Agent": "resident-claims", **own}
        wait, why = _FIRST_WAIT_S, ""
        for number in range(TRIES):
            if number and self._closing.wait(wait):
                break
            wait *= 2 if number else 1
            request = urllib.request.Request(self._url, body, headers, method="POST")
            try:
                with self._opener.open(request, timeout=_TIMEOUT_S) as answer:
                    refused = self.refused(answer.read(_MOST_ANSWER), len(lines))
                self.posted += len(lines) - refused
                if refused:
                    self._fail(refused, "the answer says so")
                return
            except urllib.error.HTTPError as error:
                error.close()
                why = f"HTTP {error.code}"
                if not self.retries(error.code):
                    break
            except (OSError, ValueError) as error:
                why = str(getattr(error, "reason", None) or error)
        self._fail(len(lines), why)

    def _fail(self, lines: int, why: str) -> None:
        first = not self.failed
        self.failed += lines
        if first:
            self._report(f"{self.NAME}: {self.POSTS} were not posted ({why}); more are counted")


def check_url(url: str, option: str) -> str:
    """The address, if something can be posted to it.

    Raises:
        SpecError: it is none; the error names the option.
    """
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole:
        raise SpecError(f"{option} {url}: no web address", "such as https://alerts.example/hook")
    return url
