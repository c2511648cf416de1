"""Reads from the environment whether the plugin is turned on."""

from __future__ import annotations

import os
from typing import Final

__all__ = ["SWITCH", "switched_on"]

SWITCH: Final = "RESIDENT_CLAIMS"
_OFF: Final = frozenset({"", "0", "off", "false", "no"})


def switched_on() -> bool:
    """Whether the environment turns the plugin on."""
    return os.environ.get(SWITCH, "").strip().lower() not in _OFF
