"""Arms and disarms the plugin in a process, and connects engines to traces and the monitor."""

from __future__ import annotations

import itertools
import os
import secrets
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from runtime_hooks.claims.api import opened
from runtime_hooks.claims.arrivals import Prompt
from runtime_hooks.claims.ownership import prepare
from runtime_hooks.control.folder import (
    default_folder,
    make_private,
    name_of_socket,
    routes_of_server,
)
from runtime_hooks.control.server import Server
from runtime_hooks.engines import adapter_of, installed
from runtime_hooks.engines.checks import faults
from runtime_hooks.front.end import FrontEnd
from runtime_hooks.routing.routes import RouteLog
from runtime_hooks.settings.config import (
    RESUME_BY_RANK,
    TAKEN,
    ArmingError,
    Drill,
    Settings,
    SettingsError,
    load,
    load_ahead,
    quotas_line,
)
from runtime_hooks.settings.switch import mark_server
from runtime_hooks.trace.faults import LOG, not_armed
from runtime_hooks.trace.file import TraceFile
from runtime_hooks.trace.inline import Inline
from runtime_hooks.trace.journal import Journal
from spec.language.called import called
from spec.language.errors import ClaimError, SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runtime_hooks.claims.preregistration import Preregistration
    from runtime_hooks.engines.adapter import Adapter, Attachment
    from runtime_hooks.settings.config import Waiting
    from runtime_hooks.trace.journal import Sink

__all__ = ["Armed", "ArmingError", "arm", "arm_or_log", "armed", "described", "disarm"]


@dataclass(slots=True)
class Armed:
    """The plugin in this process; `attachments` are the hooks on its schedulers."""

    settings: Settings
    adapter: Adapter
    end: Callable[[], None] = lambda: None
    attachments: list[Attachment] = field(default_factory=list)
    _servers: dict[int, Server] = field(default_factory=dict)  # by the scheduler's id
    _routes: dict[int, RouteLog] = field(default_factory=dict)  # by the scheduler's id
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def attach(self, scheduler: Any) -> None:
        """Hook a scheduler that was made; a failure is logged, and the engine runs without.

        Raises:
            NotArmed: it failed, and the environment lets no engine run without the plugin.
        """
        try:
            if why := self.adapter.unfit(scheduler):
                raise ArmingError(why, "run without RESIDENT_CLAIMS")
            attachment = self._attachment(scheduler)
            self.attachments.append(attachment)
            opened(attachment.controller.preregistration)
        except SettingsError as error:
            not_armed(str(error))
        except Exception:
            not_armed("it failed while it hooked the engine", traceback=True)

    def runs(self, scheduler: Any, wake: Callable[[Callable[[], None]], None]) -> None:
        """The engine of a scheduler has a loop of its own.

        Args:
            wake: has a function called on the engine's thread once it is idle.
        """
        for attachment in self.attachments:
            server = self._servers.get(id(scheduler))
            if attachment.scheduler is scheduler:
                if server is not None:
                    server.wake = partial(wake, attachment.operate)
                if self.settings.resume:
                    wake(attachment.operate)  # claims of the engine before need no request

    def leave(self, scheduler: Any) -> None:
        """The engine of a scheduler ends: end its hooks and its stream."""
        for attachment in self.attachments:
            if attachment.scheduler is scheduler:
                try:
                    # vLLM shuts an engine down while the error that ends it is on its way.
                    attachment.end(orderly=not isinstance(sys.exception(), Exception))
                except Exception:
                    LOG.exception("resident-claims: the stream could not be ended")
                self.unserve(scheduler)

    def _attachment(self, scheduler: Any) -> Attachment:
        number = next(self._numbers)
        rank = self.adapter.rank(scheduler)
        if path := self.settings.resume:
            if rank is not None:
                raise ArmingError(RESUME_BY_RANK, "leave it out: no claim outlives a rank")
            kept_in = os.path.dirname(os.path.abspath(path))
            if not os.access(kept_in, os.W_OK | os.X_OK):
                raise ArmingError(f"no file can be made in {kept_in}", "name another as `resume`")
        folder = Path(self.settings.control) if self.settings.control else default_folder()
        name = f"{os.getpid()}{f'-{number}' if number else ''}{'' if rank is None else rank}"
        path, epoch = self.settings.trace.replace("{pid}", name), secrets.token_hex(8)
        stream = f"vllm:{epoch}{'' if rank is None else rank}"  # a process id is not unique
        waiting = load_ahead(self.settings.ahead) if self.settings.ahead else []
        if waiting and rank is not None:  # each rank would accept each of the claims
            LOG.error("resident-claims: %s is not read by data-parallel ranks", self.settings.ahead)
            waiting = []
        trace = TraceFile(path)
        sinks: list[Sink] = [trace]
        inline, socket = None, ""
        if self.settings.monitor != "off":
            socket = self.settings.socket.replace("{pid}", name) or f"{path}.sock"
            inline = Inline(stream, f"{path}.verdicts.jsonl", socket)
            sinks.append(inline)

        def alarm() -> str:
            if trace.failed:
                return _LOST
            return inline.alarm if inline and self.settings.monitor == "enforce" else ""

        unobserved = self.adapter.unobserved(scheduler)
        journal = Journal(
            stream,
            sinks,
            self.settings.queue,
            groups=self.adapter.groups(scheduler),
            unobserved=unobserved,
            epoch=epoch,
        )
        routes = self._route_log(folder, name, scheduler) if rank is not None else None
        try:
            attachment = self.adapter.attach(scheduler, self.settings, journal, alarm, routes)
        except Exception:
            journal.close()
            if routes is not None:
                routes.close()
            raise
        if self.settings.without_trace == "end":
            trace.lost = partial(attachment.give_up, _LOST)
        control = self._serve(attachment, folder, name)
        if routes is not None:
            self._routes[id(scheduler)] = routes
        about = described(self.settings, path, socket, control, epoch)
        unseen = f"; not observed: {', '.join(unobserved)}" if unobserved else ""
        LOG.info("resident-claims is armed: %s%s", about, unseen)
        self._preregister(waiting, attachment.controller.preregistration)
        return attachment

    def _route_log(self, folder: Path, name: str, scheduler: Any) -> RouteLog | None:
        """The file of routes to the claims of a rank; None where routing is off."""
        if not self.settings.routing.by_claims:
            return None
        try:
            make_private(folder)
        except SpecError as error:
            LOG.error("resident-claims: no request is routed to this rank's claims: %s", error)
            return None
        return RouteLog(folder / f"{name}{routes_of_server()}", scheduler.block_size)

    def _serve(self, attachment: Attachment, folder: Path, name: str) -> str:
        """Open the socket of an engine for its operator; its path, or why there is none."""
        self.unserve(attachment.scheduler)
        try:
            make_private(folder)
            path = str(folder / name_of_socket(name))
            self._servers[id(attachment.scheduler)] = Server(path, attachment.controller)
        except SpecError as error:
            LOG.error("resident-claims: no operator can reach this engine: %s", error)
            return "none, see above"
        return os.path.abspath(path)

    def unserve(self, scheduler: Any) -> None:
        """Close the socket for the operator, and the routes to a rank's claims."""
        server = self._servers.pop(id(scheduler), None)
        if server is not None:
            server.close()
        routes = self._routes.pop(id(scheduler), None)
        if routes is not None:
            routes.close()

    def _preregister(self, waiting: list[Waiting], preregistration: Preregistration) -> None:
        """Register the claims of the file `ahead`; what is not a claim is logged and left out."""
        for number, each in enumerate(waiting):
            ids = each.prompt_token_ids
            try:
                prompt = None if ids is None else Prompt(tuple(ids), each.cache_salt)
                preregistration.register(each.claim, prompt)
            except ClaimError as error:
                LOG.error("resident-claims: %s[%d]: %s", self.settings.ahead, number, error)


def described(settings: Settings, trace: str, socket: str, control: str, epoch: str) -> str:
    """How an engine is armed, in one line with absolute paths.

    Args:
        socket: of the monitor; empty where that is off.
        control: the socket for the operator.
        epoch: names this life of the engine.
    """
    enforced = [mode.value for mode in TAKEN if mode in settings.enforce]
    reported = [mode.value for mode in TAKEN if mode not in settings.enforce]
    owners = sorted(set(settings.scopes.values()))
    parts = [f"events go to {os.path.abspath(trace)}"]
    if settings.monitor == "off":
        parts.append("monitor off")
    else:
        verdicts = os.path.abspath(f"{trace}.verdicts.jsonl")
        parts.append(f"monitor {settings.monitor}, with verdicts in {verdicts}")
        parts.append(f"listeners at {os.path.abspath(socket)}")
    parts += [f"control: {control}", f"epoch {epoch}"]
    parts.append(f"enforced: {', '.join(enforced) or 'no mode'}")
    parts.append(f"only reported on: {', '.join(reported) or 'no mode'}")
    parts.append(f"scopes: {', '.join(owners) or 'none, a request names its owner'}")
    parts.append(f"quotas: {quotas_line(settings)}")
    if settings.drill != Drill():
        parts.append("faults are injected (drill)")
    return "; ".join(parts)


_LOST: Final = "the trace can no longer be written"

_armed: Armed | None = None


def _supported() -> str:
    return f"{called('runtime_hooks doctor')} lists what is supported"


def arm_or_log() -> None:
    """Arm as the environment says; a failure is logged, and raised as NotArmed where required."""
    try:
        arm(load())
    except SettingsError as error:
        not_armed(str(error))
    except Exception:
        not_armed("it failed while it was loaded", traceback=True)


def arm(settings: Settings) -> Armed:
    """Hook every engine that this process makes from now on.

    Raises:
        ArmingError: the installed version was not tried, or is not as it was tried; or this
            process is armed with other settings.
    """
    global _armed
    if _armed is not None:
        if _armed.settings != settings:
            raise ArmingError("it is armed already, with other settings", "disarm it first")
        return _armed
    version = installed()
    adapter, why = adapter_of(version)
    if adapter is None:
        raise ArmingError(why, _supported())
    if wrong := faults(adapter.points):
        name, why = next(iter(wrong.items()))
        raise ArmingError(f"vLLM {version} is not as it was tried: {name}: {why}", _supported())
    prepare(settings)
    mark_server()
    _armed = Armed(settings, adapter)
    _armed.end = adapter.hook(
        settings, _armed.attach, _armed.leave, _armed.runs, FrontEnd(settings)
    )
    return _armed


def armed() -> Armed | None:
    """The plugin in this process; None where it is not armed."""
    return _armed


def disarm() -> None:
    """Leave every engine of this process as it was."""
    global _armed
    armed, _armed = _armed, None
    if armed is not None:
        armed.end()
        for attachment in armed.attachments:
            attachment.detach()
            armed.unserve(attachment.scheduler)
