"""Defines what an adapter of one engine version must supply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from runtime_hooks.controller.controller import Controller
    from runtime_hooks.engines.checks import Point
    from runtime_hooks.routing.rank import Rank
    from runtime_hooks.routing.router import Router
    from runtime_hooks.routing.routes import RouteLog
    from runtime_hooks.settings.config import Settings
    from runtime_hooks.trace.journal import Journal
    from spec.events.canonical import CacheGroup

__all__ = ["Adapter", "Attachment", "Configuration", "Front"]


class Attachment(Protocol):
    """The hooks on one scheduler, from `Adapter.attach` to `detach` or `end`."""

    @property
    def scheduler(self) -> Any:
        """The engine's scheduler."""

    @property
    def controller(self) -> Controller:
        """The controller that the hooks call."""

    @property
    def journal(self) -> Journal:
        """The stream of events."""

    @property
    def faults(self) -> dict[tuple[str, str], int]:
        """How often a hook failed, by hook and exception class."""

    def operate(self) -> None:
        """Carry out the calls of other threads, on the engine's thread between two steps."""

    def give_up(self, why: str) -> None:
        """Have the engine's thread detach the hooks with its next step; any thread may ask."""

    def detach(self) -> None:
        """Leave the engine as it was, and end the stream."""

    def end(self, *, orderly: bool = True) -> None:
        """The engine ends, by an error or in order, and the stream with it."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """What an engine makes of the flags of its server.

    `unfit` says why it cannot be hooked, or is empty; `unobserved` what is not observed then.
    `unknown` are the checks that need the model
    loaded; if it was, `usable` is the number of blocks of its pool. `flags` are all flags by their
    names, with defaults.
    """

    model: str
    unfit: str
    unobserved: tuple[str, ...]
    unknown: tuple[str, ...]
    usable: int | None
    flags: Mapping[str, Any]


class Front(Protocol):
    """What every process of the server that answers HTTP adds to it."""

    @property
    def apps(self) -> Mapping[str, Callable[[Any, Any, Any], Awaitable[None]]]:
        """The ASGI applications, each by the path at which and below which it answers."""

    @property
    def figures(self) -> Any:
        """A collector of metrics, for a registry of prometheus_client."""

    @property
    def router(self) -> Router | None:
        """What chooses the rank of a request by its claims; None where that is turned off."""


class Adapter(Protocol):
    """An engine version: what the plugin hooks in it, and how.

    A package below `runtime_hooks.engines` supplies it as `ADAPTER`, and `GENERATIONS` names the
    package. Importing the package imports the engine.
    """

    @property
    def points(self) -> Sequence[Point]:
        """The parts of the engine that must be as they were when the adapter was tried."""

    def unfit(self, scheduler: Any) -> str:
        """Why the engine of a scheduler cannot be hooked as configured; empty where it can be."""

    def unobserved(self, scheduler: Any) -> tuple[str, ...]:
        """What is not observed of the engine as it is configured, in words."""

    def configured(self, flags: Sequence[str], *, load: bool) -> Configuration:
        """What the engine makes of a model and the flags of its server; the process is used up.

        Args:
            load: load the model, too, and look at the engine.

        Raises:
            SpecError: the engine does not take the flags, or cannot load the model.
        """

    def rank(self, scheduler: Any) -> Rank | None:
        """The data-parallel rank of an engine; None where it is the only one of its server."""

    def groups(self, scheduler: Any) -> tuple[CacheGroup, ...]:
        """The groups of caches of an engine, if it has several."""

    def attach(
        self,
        scheduler: Any,
        settings: Settings,
        journal: Journal,
        alarm: Callable[[], str],
        routes: RouteLog | None,
    ) -> Attachment:
        """Hook a scheduler: wrap methods of its objects, so that they call a controller.

        Args:
            journal: the stream that events go to.
            alarm: the reason why no more claims are accepted; empty while they are.
            routes: where a data-parallel rank notes its claims; None where nobody routes by them.

        Raises:
            Exception: it cannot be hooked; then nothing is wrapped.
        """

    def hook(
        self,
        settings: Settings,
        made: Callable[[Any], None],
        ended: Callable[[Any], None],
        runs: Callable[[Any, Callable[[Callable[[], None]], None]], None],
        front: Front,
    ) -> Callable[[], None]:
        """Hook the engines, workers and servers that this process makes from now on.

        Args:
            made: called with every scheduler that is made.
            ended: called with the scheduler of an engine that ends, before its workers are stopped.
            runs: called with the scheduler of an engine whose loop begins, and with a function for
                any thread that has another one called on the engine's thread once it is idle.
            front: what a server adds to its answers.

        Returns:
            A function that ends this.
        """
