"""The entry point of vLLM's plugins, called in each of its processes: nothing while it is off."""

from __future__ import annotations

import os
from typing import Final

__all__ = ["SWITCH", "register", "switched_on"]

SWITCH: Final = "RESIDENT_CLAIMS"
_OFF: Final = frozenset({"", "0", "off", "false", "no"})


def switched_on() -> bool:
    """Whether the environment turns the plugin on."""
    return os.environ.get(SWITCH, "").strip().lower() not in _OFF


def register() -> None:
    """Arm where that is asked for; what cannot be armed is logged, and nothing is raised."""
    if switched_on():
        from runtime_hooks.plugin import arm_or_say

        arm_or_say()
