"""What would the plugin see and enforce in the engine that is installed? Hook by hook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import msgspec

from runtime_hooks.config import ENFORCED, Settings, SettingsError, load
from runtime_hooks.engines import adapter_of, installed
from runtime_hooks.entry import SWITCH, switched_on
from spec import __version__
from spec.claims import Mode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime_hooks.engines.hooks import Point

__all__ = ["SCHEMA", "Diagnosis", "HookReport", "as_text", "diagnose"]

SCHEMA: Final = "resident-claims/doctor/1"


class HookReport(msgspec.Struct, frozen=True):
    """One hook point: what it is for, and what is wrong with it, empty where nothing is."""

    name: str
    sees: str
    does: str
    fault: str


class Diagnosis(msgspec.Struct, frozen=True):
    """What the plugin found. `armed` says that it would arm; `why` says why not.

    `settings` are those that the environment asks for, None where it is off there.
    """

    schema: Literal["resident-claims/doctor/1"]
    tool: str
    engine: str
    adapter: str
    armed: bool
    why: str
    hooks: list[HookReport]
    keeps: list[Mode]
    settings: Settings | None


def diagnose() -> Diagnosis:
    """Look at the engine that is installed, which imports it, and at the environment."""
    version = installed()
    adapter, why = adapter_of(version)
    name, hooks = "", list[HookReport]()
    if adapter is not None:
        name, hooks = adapter.__name__, _look(adapter.HOOKS)
        bad = [hook for hook in hooks if hook.fault]
        why = f"vLLM {version}: {bad[0].name}: {bad[0].fault}" if bad else ""
    settings = None
    if switched_on():
        try:
            settings = load()
        except SettingsError as error:
            why = why or str(error)
    keeps = list(ENFORCED if settings is None else settings.enforce)
    return Diagnosis(
        SCHEMA, __version__, version, name, not why, why, hooks, [] if why else keeps, settings
    )


def as_text(found: Diagnosis) -> str:
    """The diagnosis for people."""
    lines = [f"engine     {f'vLLM {found.engine}' if found.engine else 'none'}"]
    if found.adapter:
        lines.append(f"adapter    {found.adapter}")
    lines.append(f"arms       {'yes' if found.armed else f'no: {found.why}'}")
    lines.append(f"switch     {SWITCH} is {'off' if found.settings is None else 'on'} here")
    if found.keeps:
        lines.append(f"keeps      {', '.join(found.keeps)}")
        lines.append(f"turns away {', '.join(mode for mode in Mode if mode not in ENFORCED)}")
    if found.hooks:
        lines.append("")
        for hook in found.hooks:
            lines.append(f"{'ok     ' if not hook.fault else 'missing'}    {hook.name}")
            for what, text in (("sees", hook.sees), ("does", hook.does)):
                if text:
                    lines.append(f"           {what} {'not: ' if hook.fault else ''}{text}")
            if hook.fault:
                lines.append(f"           because {hook.fault}")
    return "\n".join(lines) + "\n"


def _look(points: Sequence[Point]) -> list[HookReport]:
    return [HookReport(each.name, each.sees, each.does, each.fault()) for each in points]
