"""Turning the plugin on and off in a process: what it hooks, and why it does not."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from runtime_hooks.engines import adapter_of, installed
from runtime_hooks.engines.hooks import faults
from runtime_hooks.faults import LOG
from runtime_hooks.requests.ahead import Prompt
from runtime_hooks.requests.callers import prepare
from runtime_hooks.settings.config import Settings, SettingsError, load, load_ahead
from runtime_hooks.trace.inline import Inline
from runtime_hooks.trace.journal import Journal
from runtime_hooks.trace.tracefile import TraceFile
from spec.language.errors import ClaimError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from runtime_hooks.requests.ahead import Ahead
    from runtime_hooks.settings.config import Waiting
    from runtime_hooks.trace.journal import Sink

__all__ = ["Armed", "ArmingError", "arm", "arm_or_say", "armed", "disarm"]


class ArmingError(SettingsError):
    """The engine that is installed cannot be hooked; nothing has changed."""


@dataclass(slots=True)
class Armed:
    """What the plugin does in this process; `attachments` are the schedulers that are hooked."""

    settings: Settings
    adapter: ModuleType
    end: Callable[[], None] = lambda: None
    attachments: list[Any] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def attach(self, scheduler: Any) -> None:
        """Hook a scheduler; where that cannot be it is said, and the engine runs without."""
        try:
            if why := self.adapter.unfit(scheduler):
                raise ArmingError(why, "run without RESIDENT_CLAIMS")
            self.attachments.append(self._attachment(scheduler))
        except SettingsError as error:
            LOG.error("resident-claims is not armed: %s", error)
        except Exception:
            LOG.exception("resident-claims is not armed: it failed while it hooked the engine")

    def leave(self, scheduler: Any) -> None:
        """The engine of a scheduler ends."""
        for attachment in self.attachments:
            if attachment.scheduler is scheduler:
                try:
                    attachment.end()
                except Exception:
                    LOG.exception("resident-claims: the stream could not be ended")

    def _attachment(self, scheduler: Any) -> Any:
        number = next(self._numbers)
        name = f"{os.getpid()}-{number}" if number else str(os.getpid())
        path, stream = self.settings.trace.replace("{pid}", name), f"vllm:{name}"
        waiting = load_ahead(self.settings.ahead) if self.settings.ahead else []
        sinks: list[Sink] = [TraceFile(path)]
        inline = None
        if self.settings.monitor != "off":
            socket = self.settings.socket.replace("{pid}", name) or f"{path}.sock"
            inline = Inline(stream, f"{path}.verdicts.jsonl", socket)
            sinks.append(inline)

        def alarm() -> str:
            return inline.alarm if inline and self.settings.monitor == "enforce" else ""

        journal = Journal(stream, sinks, self.settings.queue)
        try:
            attachment = self.adapter.Attachment(scheduler, self.settings, journal, alarm)
        except Exception:
            journal.close()
            raise
        LOG.info("resident-claims is armed; events go to %s", path)
        self._register(waiting, attachment.keeper.ahead)
        return attachment

    def _register(self, waiting: list[Waiting], ahead: Ahead) -> None:
        """Have the claims of a file wait; one that cannot be used is named, and left out."""
        for number, each in enumerate(waiting):
            ids = each.prompt_token_ids
            try:
                prompt = None if ids is None else Prompt(tuple(ids), each.cache_salt)
                ahead.register(each.claim, prompt)
            except ClaimError as error:
                LOG.error("resident-claims: %s[%d]: %s", self.settings.ahead, number, error)


_armed: Armed | None = None
_SUPPORTED: Final = "python -m runtime_hooks doctor lists what is supported"


def arm_or_say() -> None:
    """Arm as the environment asks; where that cannot be it is logged, and nothing is raised."""
    try:
        arm(load())
    except SettingsError as error:
        LOG.error("resident-claims is not armed: %s", error)
    except Exception:
        LOG.exception("resident-claims is not armed: it failed while it was loaded")


def arm(settings: Settings) -> Armed:
    """Hook every engine that this process makes from now on.

    Raises:
        ArmingError: the installed version is not known, or is not as it was when it was tried; or
            this process is armed with other settings.
    """
    global _armed
    if _armed is not None:
        if _armed.settings != settings:
            raise ArmingError("it is armed already, with other settings", "disarm it first")
        return _armed
    version = installed()
    adapter, why = adapter_of(version)
    if adapter is None:
        raise ArmingError(why, _SUPPORTED)
    if wrong := faults(adapter.HOOKS):
        name, why = next(iter(wrong.items()))
        raise ArmingError(f"vLLM {version} is not as it was tried: {name}: {why}", _SUPPORTED)
    prepare(settings)
    _armed = Armed(settings, adapter)
    _armed.end = adapter.hook(settings, _armed.attach, _armed.leave)
    return _armed


def armed() -> Armed | None:
    """What the plugin does in this process; None where it is off."""
    return _armed


def disarm() -> None:
    """Leave every engine of this process as it was."""
    global _armed
    armed, _armed = _armed, None
    if armed is not None:
        armed.end()
        for attachment in armed.attachments:
            attachment.detach()
