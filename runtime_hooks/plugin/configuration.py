"""Answers for a configuration of `vllm serve`: would the plugin arm, and what would be missing."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from runtime_hooks.settings.config import RESUME_BY_RANK
from runtime_hooks.settings.switch import SWITCH
from spec.files.plain import open_new

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runtime_hooks.engines.adapter import Adapter
    from runtime_hooks.settings.config import Settings

__all__ = ["Configured", "about", "try_trace"]

_MIDDLEWARE: Final = "runtime_hooks.scopes.OwnerScopes"
_PLUGIN: Final = "resident-claims"
_QUIET: Final = frozenset({"WARNING", "ERROR", "CRITICAL"})


class Configured(msgspec.Struct, frozen=True):
    """What a configuration means for the plugin.

    `why` says why it would not arm, or is empty. `unknown` are the checks that need the model
    loaded; with it, `usable` is the number of blocks of the pool. `notes` are what the operator
    may want to change.
    """

    model: str
    why: str
    unknown: tuple[str, ...]
    usable: int | None
    notes: list[str]


def about(
    adapter: Adapter, settings: Settings | None, flags: Sequence[str], *, load: bool
) -> Configured:
    """Ask the engine about a configuration.

    Args:
        settings: of the plugin; None where they cannot be used, or where it is off.

    Raises:
        SpecError: the engine does not take the flags, or cannot load the model.
    """
    before = os.environ.pop(SWITCH, None)  # the engine that looks at them is not to be armed
    try:
        found = adapter.configured(flags, load=load)
    finally:
        if before is not None:
            os.environ[SWITCH] = before
    notes = _notes(found.flags, settings)
    if found.unobserved and not found.unfit:
        notes.append(f"not observed: {', '.join(found.unobserved)}")
    why = found.unfit
    if settings is not None and settings.resume and found.flags.get("data_parallel_size", 1) != 1:
        why = why or RESUME_BY_RANK
    return Configured(found.model, why, found.unknown, found.usable, notes)


def try_trace(settings: Settings) -> str:
    """Why the trace of an engine that starts now could not be written; empty where it could be.

    A file of that name is made, and removed.
    """
    path = settings.trace.replace("{pid}", str(os.getpid()))
    try:
        with open_new(path) as file:
            try:
                file.write(b"{}\n")
                os.fsync(file.fileno())
            finally:
                with suppress(OSError):
                    os.unlink(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return f"the trace {os.path.abspath(path)} cannot be made: {reason}"
    return ""


def _notes(flags: Mapping[str, object], settings: Settings | None) -> list[str]:
    """What would surprise the operator of such a server."""
    notes = []
    if not flags.get("shutdown_timeout"):
        notes.append("--shutdown-timeout is 0: a stop kills the engine, and cuts the trace off")
        if settings is not None and settings.resume:
            notes.append("--shutdown-timeout is 0: no claim outlives the engine")
    if settings is not None and settings.scopes:
        middleware, keys = flags.get("middleware"), flags.get("api_key")
        if not isinstance(middleware, list) or _MIDDLEWARE not in middleware:
            notes.append(f"there are scopes, and no --middleware {_MIDDLEWARE}: nobody can claim")
        if not keys and not os.environ.get("VLLM_API_KEY"):
            notes.append("there are scopes, and no --api-key: who has no key may use the server")
        given = set(keys) if isinstance(keys, list) else set()
        if unknown := len(settings.scopes.keys() - given) if given else 0:
            notes.append(f"{unknown} of the keys of `scopes` are not given with --api-key")
    if (chosen := os.environ.get("VLLM_PLUGINS")) and _PLUGIN not in chosen.split(","):
        notes.append(f"VLLM_PLUGINS leaves {_PLUGIN} out: the plugin is not loaded")
    if os.environ.get("VLLM_LOGGING_LEVEL", "").upper() in _QUIET:
        notes.append("the log level hides the line that says how the plugin is armed")
    return notes
