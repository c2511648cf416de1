"""Serves the pages on loopback: GET alone, for loopback names, and no state is kept.

A page of another site could have a name of its own lead to this machine (DNS rebinding), and read
what is served here. So a request whose Host header has another name than a loopback one is refused.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from models.explorer.links import numbers_of
from models.explorer.pages import index_page, problem_page, state_page
from models.explorer.walk import Lost, Walk, replay
from spec.events.canonical import as_jsonl
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from models.explorer.starts import Start

__all__ = ["HEADERS", "app_of", "serve"]

_HOST: Final = "127.0.0.1"

HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}
"""The headers of every answer: no script, and only this host."""

_RAW: Final = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

_STYLE: Final = (Path(__file__).parent / "style.css").read_text()


class _WithHeaders:
    """Adds HEADERS to each answer of an application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *_RAW]}
            await send(message)

        await self._app(scope, receive, sending)


def app_of(name: str, starts: Mapping[str, Start]) -> Starlette:
    """The application that shows the model of this name from its starts."""

    def walk_of(request: Request) -> Walk:
        start = starts.get(request.path_params["start"])
        if start is None:
            raise Lost("there is no such start")
        return replay(start, numbers_of(request.path_params.get("taken", "")))

    async def index(request: Request) -> Response:
        return HTMLResponse(index_page(name, starts))

    async def style(request: Request) -> Response:
        return Response(_STYLE, media_type="text/css")

    async def state(request: Request) -> Response:
        return HTMLResponse(state_page(name, walk_of(request)))

    async def trace(request: Request) -> Response:
        lines = as_jsonl(walk_of(request).events)
        return Response(lines, media_type="application/x-ndjson")

    async def lost(request: Request, problem: Exception) -> Response:
        return HTMLResponse(problem_page("There is no such page", str(problem)), 404)

    async def fault(request: Request, problem: Exception) -> Response:
        return HTMLResponse(problem_page("The model fails", str(problem)), 500)

    return Starlette(
        routes=[
            Route("/", index),
            Route("/style.css", style),
            Route("/{start}/", state),
            Route("/{start}/{taken}", state),
            Route("/{start}/{taken}/trace.jsonl", trace),
        ],
        middleware=[
            Middleware(_WithHeaders),
            Middleware(TrustedHostMiddleware, allowed_hosts=[_HOST, "localhost"]),
        ],
        exception_handlers={Lost: lost, SpecError: fault},
    )


def serve(app: Starlette, port: int, ready: Callable[[str], None]) -> None:
    """Serve on loopback until it is interrupted.

    Args:
        port: 0 takes any that is free.
        ready: called with the address when it can be asked.

    Raises:
        SpecError: the port cannot be taken.
    """
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind((_HOST, port))
            taken.listen()
        except OSError as problem:
            cause = f"port {port} of {_HOST} cannot be taken: {problem.strerror}"
            raise SpecError(cause, "name another with --port") from None
        config = uvicorn.Config(app, log_level="warning", lifespan="off")
        ready(f"http://{_HOST}:{taken.getsockname()[1]}/")
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[taken])
