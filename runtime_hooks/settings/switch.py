"""Reads from the environment whether the plugin is on, must be armed, and the server's mark."""

from __future__ import annotations

import multiprocessing
import os
import secrets
from typing import Final

__all__ = ["REQUIRE", "SWITCH", "mark_server", "required", "switched_on"]

SWITCH: Final = "RESIDENT_CLAIMS"
REQUIRE: Final = "RESIDENT_CLAIMS_REQUIRE"
_SERVER: Final = "RESIDENT_CLAIMS_SERVER"
_OFF: Final = frozenset({"", "0", "off", "false", "no"})

_marked = ""


def switched_on() -> bool:
    """Whether the environment turns the plugin on."""
    return _is_on(SWITCH)


def required() -> bool:
    """Whether the environment lets no engine start without the plugin."""
    return _is_on(REQUIRE)


def mark_server() -> str:
    """The mark of this server, which the processes inherit that it starts.

    The first process of a server makes it, also where it was itself started by a marked one.
    """
    global _marked
    if not _marked:
        inherited = os.environ.get(_SERVER, "") if multiprocessing.parent_process() else ""
        _marked = inherited if inherited.isalnum() else secrets.token_hex(4)
        os.environ[_SERVER] = _marked
    return _marked


def _is_on(name: str) -> bool:
    return os.environ.get(name, "").strip().lower() not in _OFF
