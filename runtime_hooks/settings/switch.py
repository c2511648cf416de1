"""Reads from the environment whether the plugin is turned on, and whether it must be armed."""

from __future__ import annotations

import os
from typing import Final

__all__ = ["REQUIRE", "SWITCH", "required", "switched_on"]

SWITCH: Final = "RESIDENT_CLAIMS"
REQUIRE: Final = "RESIDENT_CLAIMS_REQUIRE"
_OFF: Final = frozenset({"", "0", "off", "false", "no"})


def switched_on() -> bool:
    """Whether the environment turns the plugin on."""
    return _is_on(SWITCH)


def required() -> bool:
    """Whether the environment lets no engine start without the plugin."""
    return _is_on(REQUIRE)


def _is_on(name: str) -> bool:
    return os.environ.get(name, "").strip().lower() not in _OFF
