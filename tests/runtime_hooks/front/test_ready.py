"""Tests of front.ready: when a server's claims are less than kept and traced, and what is said."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from runtime_hooks.control.client import ask
from runtime_hooks.control.ranks import Reply
from runtime_hooks.front import ready
from runtime_hooks.front.ready import PATH, SCHEMA, Readiness
from runtime_hooks.trace.inline import Inline
from spec.language.errors import SpecError
from tests.runtime_hooks.control.conftest import Operated, operate
from tests.runtime_hooks.tiny import claim

__all__ = ["operate"]

Make = Callable[..., Operated]


async def _called(app: Readiness, method: str) -> tuple[int, bytes]:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app({"type": "http", "method": method, "path": PATH}, None, send)
    return sent[0]["status"], sent[1]["body"]


def called(app: Readiness, method: str = "GET") -> tuple[int, dict[str, Any]]:
    """The status and the body of an answer."""
    status, body = asyncio.run(_called(app, method))
    return status, json.loads(body or b"{}")


def app_of(made: Operated) -> Readiness:
    return Readiness(lambda request: [Reply(None, ask(made.path, request))])


def test_ready(operate: Make) -> None:
    """All is well, and no claim is named."""
    made = operate()
    made.serve("a", 20, claim("claim:a", 20))
    expected = {"schema": SCHEMA, "ready": True, "why": []}
    assert (200, expected) == called(app_of(made))
    assert (200, {}) == called(app_of(made), "HEAD")


def test_noted(operate: Make) -> None:
    """A drain is the operator's will, and a fault that was met leaves the server in service."""
    made = operate()
    made.do(lambda engine: engine.controller.operator.drain())
    made.do(lambda engine: engine.controller.faults.note("schedule", ValueError("x")))
    made.engine.expected_faults = {("schedule", "ValueError"): 1}
    status, body = called(app_of(made))
    assert (200, True) == (status, body["ready"])
    drain, faults = body["why"]
    assert drain.startswith("the operator drains this engine")
    assert "exceptions in hooks: 1" == faults


@pytest.mark.parametrize(
    ("lost", "why"),
    [("TraceFile", "the trace cannot be written"), (Inline.__name__, "the monitor has failed")],
)
def test_lost(operate: Make, lost: str, why: str) -> None:
    """A sink that raised is a reason not to be ready."""
    made = operate()
    made.engine.journal.lost.append(lost)
    assert (503, False, [why]) == _short(called(app_of(made)))


def test_alarm(operate: Make) -> None:
    """No more claims are accepted, without the words of the alarm, which name a claim."""
    made = operate()
    made.engine.controller._admission._alarm = lambda: "claim:a is violated"
    figures = made.engine.controller.operator._figures.__self__  # type: ignore[attr-defined]
    figures._alarm = lambda: "claim:a is violated"
    assert (503, False, ["no more claims are accepted"]) == _short(called(app_of(made)))
    made.do(lambda engine: engine.controller.operator.drain())
    assert (503, False) == _short(called(app_of(made)))[:2]


def test_ranks(operate: Make) -> None:
    """A server is ready if each rank is; what is wrong or noted names its rank."""
    well, lost = operate("1"), operate("2")
    lost.engine.journal.lost.append("TraceFile")

    def both(request: Any) -> list[Reply]:
        return [Reply(rank, ask(made.path, request)) for rank, made in enumerate((well, lost))]

    status, body = called(Readiness(both))
    assert (503, False, ["rank 1: the trace cannot be written"]) == (
        status,
        body["ready"],
        body["why"],
    )


def test_silent() -> None:
    """Where nobody answers the server is not ready; a failure of our own is not shown."""

    def silent(request: object) -> object:
        raise SpecError("no engine", "")

    def wrong(request: object) -> object:
        raise ValueError("secret")

    assert "the engine does not answer" in called(Readiness(silent))[1]["why"][0]
    assert "secret" not in str(called(Readiness(wrong)))
    assert 405 == called(Readiness(silent), "POST")[0]


def test_one_question(operate: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many who ask at once, and within a second, share one question to the engine."""
    made, asked = operate(), list[object]()
    release = threading.Event()

    def slow(request: Any) -> object:
        asked.append(request)
        release.wait(30)
        return [Reply(None, ask(made.path, request))]

    async def many() -> list[tuple[int, bytes]]:
        app = Readiness(slow)
        calls = [asyncio.ensure_future(_called(app, "GET")) for _ in range(20)]
        await asyncio.sleep(0.1)
        release.set()
        return [*await asyncio.gather(*calls), await _called(app, "GET")]

    monkeypatch.setattr(ready, "_EVERY_S", 60.0)
    assert {200} == {status for status, _ in asyncio.run(many())}
    assert 1 == len(asked)


def _short(answer: tuple[int, dict[str, Any]]) -> tuple[int, bool, list[str]]:
    status, body = answer
    return status, body["ready"], body["why"]
