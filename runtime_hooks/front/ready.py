"""Answers over HTTP whether the claims of the server's engine are kept and traced.

vLLM's own `/health` stays as it is: a server whose trace is lost still serves.
"""

from __future__ import annotations

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from runtime_hooks.control.messages import Figures
from runtime_hooks.trace.faults import LOG
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from runtime_hooks.control.ranks import Reply
    from runtime_hooks.controller.views import FiguresPage

__all__ = ["PATH", "SCHEMA", "Readiness"]

PATH: Final = "/health/resident_claims"
"""The path of the answer; like `/health` it needs no API key, and names no claim."""

SCHEMA: Final = "resident-claims/ready/1"

_EVERY_S: Final = 1.0
_SILENT: Final = "the engine does not answer: it ended, is busy, or runs without the plugin"


class Readiness:
    """The ASGI application; asks the engine at most once a second.

    Args:
        ask: asks the engine, or each of its ranks, and waits for the answers for a limited time;
            raises SpecError.
    """

    def __init__(self, ask: Callable[[Figures], list[Reply]]) -> None:
        self._ask = ask
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="claims-ready")
        self._asking: asyncio.Future[Any] | None = None
        self._asked_at = float("-inf")
        self._found: tuple[HTTPStatus, dict[str, Any]] = (HTTPStatus.SERVICE_UNAVAILABLE, {})

    async def __call__(
        self, scope: Any, receive: Any, send: Callable[[dict[str, Any]], Awaitable[None]]
    ) -> None:
        """Answer with 200, or with 503 and why."""
        if scope["method"] not in ("GET", "HEAD"):
            status, body = HTTPStatus.METHOD_NOT_ALLOWED, _body(False, "only GET is answered")
        else:
            status, body = await self._latest()
        content = json.dumps(body).encode()
        headers = [(b"content-type", b"application/json")]
        headers.append((b"content-length", str(len(content)).encode()))
        await send({"type": "http.response.start", "status": status.value, "headers": headers})
        shown = b"" if scope["method"] == "HEAD" else content
        await send({"type": "http.response.body", "body": shown})

    async def _latest(self) -> tuple[HTTPStatus, dict[str, Any]]:
        if self._asking is None and time.monotonic() - self._asked_at >= _EVERY_S:
            self._asking = asyncio.ensure_future(self._refresh())
        if self._asking is not None:
            await asyncio.shield(self._asking)
        return self._found

    async def _refresh(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            replies = await loop.run_in_executor(self._threads, self._ask, Figures())
            ready, why = _judged_all(replies)
        except SpecError:
            ready, why = False, [_SILENT]
        except Exception as fault:
            LOG.error("resident-claims: a question for readiness failed", exc_info=fault)
            ready, why = False, ["the plugin failed; see the server's log"]
        status = HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE
        self._found = status, _body(ready, *why)
        self._asked_at, self._asking = time.monotonic(), None


def _judged_all(replies: list[Reply]) -> tuple[bool, list[str]]:
    """Whether all ranks keep and trace their claims, and what is wrong or noted, by rank."""
    ready, whys = True, []
    for each in replies:
        page: Any = each.page
        kept, why = _judged(page)
        ready = ready and kept
        whys += why if each.rank is None else [f"rank {each.rank}: {one}" for one in why]
    return ready, whys


def _judged(page: FiguresPage) -> tuple[bool, list[str]]:
    """Whether claims are kept and traced, and everything that is less than it should be."""
    wrong, noted = [], []
    if not page.trace_alive:
        wrong.append("the trace cannot be written")
    if page.monitor == "failed":
        wrong.append("the monitor has failed")
    if page.alarmed:
        wrong.append("no more claims are accepted")
    if page.drains:
        noted.append("the operator drains this engine: no more claims are accepted")
    if faults := sum(page.faults.values()):
        noted.append(f"exceptions in hooks: {faults}")
    if page.dropped:
        noted.append(f"events that were not written: {page.dropped}")
    return not wrong, [*wrong, *noted]


def _body(ready: bool, *why: str) -> dict[str, Any]:
    return {"schema": SCHEMA, "ready": ready, "why": [*why]}
