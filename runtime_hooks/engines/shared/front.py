"""Adds to what vLLM's HTTP server answers: owners' claims, readiness, and metrics of claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prometheus_fastapi_instrumentator import instrumentation
from starlette.routing import BaseRoute, Match
from vllm.entrypoints.launchers import app as launched
from vllm.entrypoints.serve.instrumentator import metrics

from runtime_hooks.trace.faults import Faults

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime_hooks.engines.adapter import Front

__all__ = ["add_to_server"]


class _Below(BaseRoute):
    """The path of an application and all below it, whatever characters come there.

    `path` stands for all of them in vLLM's metrics, so that no label has the id of a claim.
    """

    def __init__(self, path: str, app: Any) -> None:
        self.path, self._app = path, app

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
    """Hook every server that is made from now on; returns a function that ends this.

    With several API processes the instrumentator makes a registry for each scrape.
    """
    made = instrumentation.CollectorRegistry
    register, registry_of = launched.register_api_routers, metrics.get_prometheus_registry
    registries: list[Any] = []
    faults = Faults()

    # vLLM's interface for routes, `vllm.endpoint_plugins`, loads none unless VLLM_PLUGINS names it.
    def register_api_routers(args: Any, app: Any, *more: Any, **named: Any) -> None:
        register(args, app, *more, **named)
        try:
            app.routes.extend(_Below(path, each) for path, each in front.apps.items())
        except Exception as fault:
            faults.note(
                "register_api_routers", fault, effect="claims cannot be asked for over HTTP"
            )

    def get_prometheus_registry() -> Any:
        registry = registry_of()
        if not any(known is registry for known in registries) and with_figures(registry):
            registries.append(registry)
        return registry

    def registry_of_scrape() -> Any:
        registry = made()
        with_figures(registry)
        return registry

    def with_figures(registry: Any) -> bool:
        try:
            registry.register(front.figures)
        except Exception as fault:
            faults.note("get_prometheus_registry", fault, effect="it shows no metrics of claims")
            return False
        return True

    launched.register_api_routers = register_api_routers
    metrics.get_prometheus_registry = get_prometheus_registry
    instrumentation.CollectorRegistry = registry_of_scrape

    def end() -> None:
        launched.register_api_routers = register
        metrics.get_prometheus_registry = registry_of
        instrumentation.CollectorRegistry = made
        while registries:
            registries.pop().unregister(front.figures)

    return end
