"""Adds to what vLLM 0.32's HTTP server answers: owners' claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.routing import BaseRoute, Match
from vllm.entrypoints.launchers import app as launched

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime_hooks.engines.adapter import Front

__all__ = ["add_to_server"]


class _Below(BaseRoute):
    """The path of an application and all below it, whatever characters come there.

    `path` stands for all of them in vLLM's metrics, so that no label has the id of a claim.
    """

    def __init__(self, front: Front) -> None:
        self.path, self._app = front.owns, front.app

    def matches(self, scope: Any) -> tuple[Match, Any]:
        """Whether a request is for it, as vLLM's authentication reads the path."""
        if scope["type"] != "http":
            return Match.NONE, {}
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        ours = path == self.path or path.startswith(f"{self.path}/")
        return (Match.FULL if ours else Match.NONE), {}

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer it."""
        await self._app(scope, receive, send)


def add_to_server(front: Front) -> Callable[[], None]:
    """Hook every server that is made from now on; returns a function that ends this."""
    register = launched.register_api_routers

    def register_api_routers(args: Any, app: Any, *more: Any, **named: Any) -> None:
        register(args, app, *more, **named)
        if front.owns:
            app.routes.append(_Below(front))

    launched.register_api_routers = register_api_routers

    def end() -> None:
        launched.register_api_routers = register

    return end
