"""The entry point of vLLM's plugins, called in each of its processes: nothing while it is off."""

from __future__ import annotations

from runtime_hooks import FAULT
from runtime_hooks.faults import LOG
from runtime_hooks.settings.switch import switched_on

__all__ = ["register"]

_OFF = "resident-claims is not armed: %s"


def register() -> None:
    """Arm where that is asked for; what cannot be armed is logged, and nothing is raised."""
    if not switched_on():
        return
    if FAULT:
        LOG.error(_OFF, FAULT)
        return
    try:
        from runtime_hooks.plugin.arming import arm_or_say
    except Exception as error:  # a dependency is missing, or is not what it is called
        LOG.error(_OFF, f"{type(error).__name__}: {error}")
        return
    arm_or_say()
