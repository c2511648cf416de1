"""The entry point of vLLM's plugins, called in each of its processes: nothing while it is off."""

from __future__ import annotations

from runtime_hooks.settings.switch import switched_on

__all__ = ["register"]


def register() -> None:
    """Arm where that is asked for; what cannot be armed is logged, and nothing is raised."""
    if switched_on():
        from runtime_hooks.plugin.arming import arm_or_say

        arm_or_say()
