"""Diagnoses the installed engine: what the plugin would observe and enforce, hook by hook."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from runtime_hooks.control.folder import default_folder
from runtime_hooks.engines import adapter_of, installed, package_of
from runtime_hooks.plugin.configuration import Configured, about, try_trace
from runtime_hooks.settings.config import (
    ENFORCED,
    TAKEN,
    Settings,
    SettingsError,
    quotas_line,
)
from runtime_hooks.settings.config import load as read_settings
from runtime_hooks.settings.switch import SWITCH, switched_on
from spec import __version__
from spec.claims.states import Mode
from spec.cli.layout import wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime_hooks.engines.checks import Point

__all__ = ["SCHEMA", "Diagnosis", "HookReport", "as_text", "diagnose"]

SCHEMA: Final = "resident-claims/doctor/1"

_INDENT: Final = 11  # columns before a value


class HookReport(msgspec.Struct, frozen=True):
    """One hook point: what it is for; `fault` is its difference from what was tried, or empty."""

    name: str
    sees: str
    does: str
    fault: str


class Diagnosis(msgspec.Struct, frozen=True):
    """The diagnosis. `armed` says that the plugin would arm; `why` says why not.

    `configuration` answers for the flags of a server, if there were any.
    `asked` says that the environment turns the plugin on. `settings` are those that the environment
    names, with the API keys of `scopes` left out; None where the plugin is off or they cannot be
    used.
    """

    schema: Literal["resident-claims/doctor/1"]
    tool: str
    engine: str
    adapter: str
    armed: bool
    why: str
    hooks: list[HookReport]
    keeps: list[Mode]
    asked: bool
    settings: Settings | None
    configuration: Configured | None = None


def diagnose(flags: Sequence[str] = (), *, load: bool = False) -> Diagnosis:
    """Diagnose the installed engine, which imports it, and the environment.

    Args:
        flags: a model and the flags of its server, to answer for them, too.
        load: load that model.

    Raises:
        SpecError: the engine does not take the flags, or cannot load the model.
    """
    os.environ.setdefault("VLLM_LOGGING_STREAM", "ext://sys.stderr")  # ours is for the diagnosis
    version = installed()
    adapter, why = adapter_of(version)
    name, hooks = "", list[HookReport]()
    if adapter is not None:
        name, hooks = package_of(version), _look(adapter.points)
        bad = [hook for hook in hooks if hook.fault]
        why = f"vLLM {version}: {bad[0].name}: {bad[0].fault}" if bad else ""
    settings, asked = None, switched_on()
    if asked:
        try:
            settings = read_settings()
            why = why or try_trace(settings)
        except SettingsError as error:
            why = why or str(error)
    configuration = None
    if flags and adapter is not None:
        configuration = about(adapter, settings, flags, load=load)
        why = why or configuration.why
    settings = None if settings is None else _without_keys(settings)
    keeps = list(ENFORCED if settings is None else settings.enforce)
    return Diagnosis(
        schema=SCHEMA,
        tool=__version__,
        engine=version,
        adapter=name,
        armed=not why,
        why=why,
        hooks=hooks,
        keeps=[] if why else keeps,
        asked=asked,
        settings=settings,
        configuration=configuration,
    )


def _without_keys(settings: Settings) -> Settings:
    """The settings as they may be shown: the owners of `scopes` stay, under the numbers of keys."""
    owners = {f"key {n}": owner for n, owner in enumerate(settings.scopes.values(), 1)}
    return msgspec.structs.replace(settings, scopes=owners)


def as_text(found: Diagnosis) -> str:
    """The diagnosis for people."""
    verdict = "The plugin would arm here." if found.armed else f"It would not arm: {found.why}."
    engine = f"vLLM {found.engine}" if found.engine else "none"
    lines = [wrap(verdict, 0, 0), "", f"engine     {engine}"]
    if found.adapter:
        lines.append(f"adapter    {found.adapter}")
    lines.append(f"switch     {SWITCH} is {'on' if found.asked else 'off'} here")
    if found.armed:
        watched = [mode for mode in TAKEN if mode not in found.keeps]
        away = [mode for mode in Mode if mode not in TAKEN]
        for what, modes in (("enforces", found.keeps), ("reports on", watched), ("rejects", away)):
            lines.append(_row(what, ", ".join(modes) or "none"))
        settings = found.settings or Settings()
        lines.append(_row("quotas", quotas_line(settings)))
        lines.append(_row("operator", f"socket in {settings.control or default_folder()}"))
        if found.settings is not None:
            lines.append(_row("trace", f"{settings.trace}, which can be made"))
    if found.configuration is not None:
        lines += _configuration_rows(found.configuration)
    if found.hooks:
        lines.append("")
        for hook in found.hooks:
            lines.append(f"{'ok     ' if not hook.fault else 'missing'}    {hook.name}")
            for what, text in (("observes", hook.sees), ("does", hook.does)):
                if text:
                    row = f"{what}{' not' if hook.fault else ''}: {text}"
                    lines.append(wrap(row, _INDENT, _INDENT + 5))
            if hook.fault:
                lines.append(wrap(f"because: {hook.fault}", _INDENT, _INDENT + 8))
    return "\n".join(lines) + "\n"


def _configuration_rows(found: Configured) -> list[str]:
    rows = [("model", found.model)]
    if found.usable is not None:
        rows.append(("loaded", f"{found.usable} blocks"))
    rows += [("unknown", f"{each}: only --load tells") for each in found.unknown if not found.why]
    rows += [("note", each) for each in found.notes]
    return [_row(what, text) for what, text in rows]


def _row(what: str, text: str) -> str:
    return wrap(f"{what:{_INDENT}}{text}", 0, _INDENT)


def _look(points: Sequence[Point]) -> list[HookReport]:
    return [HookReport(each.name, each.sees, each.does, each.fault()) for each in points]
