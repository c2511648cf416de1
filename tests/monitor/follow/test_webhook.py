"""Violations are posted, tried again, given up, and never in the way."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message

import msgspec
import pytest

from monitor.follow import poster as module
from monitor.follow.addresses import check_url
from monitor.follow.poster import Webhook
from spec.language.errors import SpecError
from tests.monitor.follow.processes import wait_for
from tests.monitor.follow.receiver import receiving
from tests.monitor.follow.test_verdicts_file import LINES


@contextmanager
def answering(*codes: int) -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """A server that answers with these codes, the last one again and again; what was posted."""

    def keep(_: str, headers: Message, body: bytes) -> tuple[str, bytes]:
        return headers["Idempotency-Key"], body

    with receiving(keep, codes) as (url, posted):
        yield f"{url}/hook", posted


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FIRST_WAIT_S", 0.01)


def test_posted() -> None:
    """Each is posted as it stands in the file, with its id."""
    with answering(200) as (url, posted):
        webhook = Webhook(url, pytest.fail)
        webhook.tell(LINES)
        webhook.close(30.0)
    assert [(line.id, msgspec.json.encode(line)) for line in LINES] == posted
    assert (len(LINES), 0, 0) == (webhook.posted, webhook.failed, webhook.dropped)


@pytest.mark.parametrize(
    ("codes", "tries", "outcome"),
    [
        ((503, 429, 204), 3, (1, 0)),
        ((500,), 4, (0, 1)),
        ((404, 200), 1, (0, 1)),
        ((302, 200), 1, (0, 1)),
    ],
)
def test_tries(codes: tuple[int, ...], tries: int, outcome: tuple[int, int]) -> None:
    """It is tried a few times, unless the answer is no for good; no redirect is followed."""
    told: list[str] = []
    with answering(*codes) as (url, posted):
        webhook = Webhook(url, told.append)
        webhook.tell(LINES[:1])
        webhook.close(30.0)
    assert (tries, outcome) == (len(posted), (webhook.posted, webhook.failed))
    assert outcome[1] == len(told)


def test_never_in_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody answers, what waits is bounded, the rest is counted, and nothing waits."""
    monkeypatch.setattr(module, "WAITING", 2)
    held = threading.Event()
    monkeypatch.setattr(Webhook, "_post", lambda self, lines: held.wait(30.0))
    told: list[str] = []
    webhook = Webhook("http://127.0.0.1:9/", told.append)
    webhook.tell(LINES[:1])
    wait_for(webhook._queue.empty)
    began = time.monotonic()
    webhook.tell(LINES)
    assert len(LINES) - 2 == webhook.dropped
    webhook.close(0.05)
    assert time.monotonic() - began < 5.0
    assert ["webhook: 3 lines were not posted"] == told
    held.set()


@pytest.mark.parametrize("url", ["", "ftp://a/b", "http://", "file:///etc/passwd", "http://[", "x"])
def test_no_web_address(url: str) -> None:
    """What is no web address is refused before anything starts."""
    with pytest.raises(SpecError, match="no web address"):
        check_url(url, "--webhook")
    assert "https://a.example/b" == check_url("https://a.example/b", "--webhook")
