"""Connects a process that answers HTTP to the sockets of the server's engine, or of its ranks."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from runtime_hooks.control.client import find_own
from runtime_hooks.control.folder import default_folder, routes_of_server
from runtime_hooks.control.ranks import Reply, answered, ask_each
from runtime_hooks.control.server import WAIT_S
from runtime_hooks.front.metrics import EngineFigures
from runtime_hooks.front.owners import PATH, OwnClaims
from runtime_hooks.front.ready import PATH as READY
from runtime_hooks.front.ready import Readiness
from runtime_hooks.routing.router import Router
from runtime_hooks.routing.routes import RouteTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runtime_hooks.control.messages import Request
    from runtime_hooks.settings.config import Settings

__all__ = ["FrontEnd"]

_SCRAPE_S: Final = 5.0
_PATIENCE_S: Final = WAIT_S + 2.0  # the engine's own limit comes first, with a reason


class FrontEnd:
    """What a server adds to its answers (`runtime_hooks.engines.adapter.Front`)."""

    def __init__(self, settings: Settings) -> None:
        self._folder = Path(settings.control) if settings.control else default_folder()
        self.router: Router | None = None
        if settings.routing.by_claims:
            table = RouteTable(self._folder, routes_of_server())
            self.router = Router(table, settings.routing, qualified=bool(settings.scopes))
        routed: Mapping[str, int] = self.router.chosen if self.router else {}
        self.figures = EngineFigures(partial(self._ask, _SCRAPE_S), routed)
        self.apps: dict[str, Any] = {READY: Readiness(partial(self._ask, _SCRAPE_S))}
        if settings.scopes:
            self.apps[PATH] = OwnClaims(partial(self._ask, _PATIENCE_S))

    def _ask(self, patience_s: float, request: Request) -> list[Reply]:
        """Ask the engine of this server, or each of its ranks.

        Raises:
            SpecError: one did not do it, or there is none.
        """
        return answered(ask_each(find_own(self._folder), request, patience_s), request)
