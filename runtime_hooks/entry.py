"""Is vLLM's entry point to the plugin: called in each of its processes, and arms if turned on."""

from __future__ import annotations

from runtime_hooks import FAULT
from runtime_hooks.settings.switch import SWITCH, required, switched_on
from runtime_hooks.trace.faults import not_armed

__all__ = ["register"]


def register() -> None:
    """Arm if the environment turns the plugin on; a failure is logged.

    Raises:
        NotArmed: it failed, and the environment lets no engine start without the plugin.
    """
    if not switched_on():
        if required():
            not_armed(f"{SWITCH} does not turn it on")
        return
    if FAULT:
        not_armed(FAULT)
        return
    try:
        from runtime_hooks.plugin.arming import arm_or_log
    except Exception as error:  # a dependency is missing, or is not what it is called
        not_armed(f"{type(error).__name__}: {error}")
        return
    arm_or_log()
