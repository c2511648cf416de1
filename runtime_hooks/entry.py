"""Is vLLM's entry point to the plugin: called in each of its processes, and arms if turned on."""

from __future__ import annotations

from runtime_hooks import FAULT
from runtime_hooks.settings.switch import switched_on
from runtime_hooks.trace.faults import LOG

__all__ = ["register"]

_OFF = "resident-claims is not armed: %s"


def register() -> None:
    """Arm if the environment turns the plugin on; a failure is logged and never raised."""
    if not switched_on():
        return
    if FAULT:
        LOG.error(_OFF, FAULT)
        return
    try:
        from runtime_hooks.plugin.arming import arm_or_log
    except Exception as error:  # a dependency is missing, or is not what it is called
        LOG.error(_OFF, f"{type(error).__name__}: {error}")
        return
    arm_or_log()
