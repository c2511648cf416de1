"""Is vLLM's entry point to the plugin: called in each of its processes, and arms if turned on."""

from __future__ import annotations

from runtime_hooks.settings.switch import switched_on

__all__ = ["register"]


def register() -> None:
    """Arm if the environment turns the plugin on; a failure is logged and never raised."""
    if switched_on():
        from runtime_hooks.plugin.arming import arm_or_log

        arm_or_log()
