"""Posts violations to a web address, in a thread of its own, and never in the way."""

from __future__ import annotations

import queue
import threading
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import msgspec

from monitor.follow.verdict_line import ViolationLine
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from monitor.follow.verdict_line import VerdictLine

__all__ = ["Webhook", "check_url"]

WAITING: Final = 1_000
"""Violations that wait to be posted; one more is dropped and counted."""

TRIES: Final = 4
_TIMEOUT_S: Final = 5.0
_FIRST_WAIT_S: Final = 0.5  # before the second try; each wait is twice the last


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is a failure: what is posted goes where the person said."""

    def redirect_request(self, *_: object) -> None:
        return None


class Webhook:
    """Posts each violation as JSON, as it stands in the file of verdicts.

    The header `Idempotency-Key` is the id of the line: what is posted again after a restart has the
    same. It is given up after `TRIES` tries, and counted.
    """

    def __init__(self, url: str, report: Callable[[str], None]) -> None:
        self._url, self._report = url, report
        self._queue: queue.Queue[ViolationLine | None] = queue.Queue(WAITING)
        self._opener = urllib.request.build_opener(_NoRedirect)
        self._closing = threading.Event()
        self.posted = self.failed = self.dropped = 0
        self._thread = threading.Thread(target=self._run, name="webhook", daemon=True)
        self._thread.start()

    def tell(self, lines: Iterable[VerdictLine]) -> None:
        """Post the violations among these, later."""
        for line in lines:
            if isinstance(line, ViolationLine):
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
            self._report(f"webhook: {left} violations were not posted")

    def _run(self) -> None:
        while (line := self._queue.get()) is not None:
            self._post(line)
            self._queue.task_done()
            if self._closing.is_set():
                return

    def _post(self, line: ViolationLine) -> None:
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": line.id,
            "User-Agent": "resident-claims",
        }
        body = msgspec.json.encode(line)
        wait, why = _FIRST_WAIT_S, ""
        for number in range(TRIES):
            if number and self._closing.wait(wait):
                break
            wait *= 2 if number else 1
            request = urllib.request.Request(self._url, body, headers, method="POST")
            try:
                with self._opener.open(request, timeout=_TIMEOUT_S):
                    self.posted += 1
                    return
            except urllib.error.HTTPError as error:
                error.close()
                why = f"HTTP {error.code}"
                if error.code < 500 and error.code not in (408, 429):
                    break
            except (OSError, ValueError) as error:
                why = str(getattr(error, "reason", None) or error)
        self.failed += 1
        if self.failed == 1:
            self._report(f"webhook: a violation was not posted ({why}); more are counted")


def check_url(url: str) -> str:
    """The address, if violations can be posted to it; raises SpecError."""
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole:
        raise SpecError(f"--webhook {url}: no web address", "such as https://alerts.example/hook")
    return url
