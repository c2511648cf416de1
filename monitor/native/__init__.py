"""The native core: the same judge as `spec.stream`, in Rust. This module says which judge runs.

`RESIDENT_CLAIMS_CORE` chooses: `python` or `native`. By default the native core runs where it was
built (`make native-core`).
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Final

from monitor.native.current import find
from spec.language.errors import SpecError

__all__ = ["CHOICE", "CoreError", "Refused", "core", "library"]

CHOICE: Final = "RESIDENT_CLAIMS_CORE"


class CoreError(SpecError):
    """The native core is absent, refuses what it was given, or failed."""


class Refused(CoreError):
    """The native core does not take a line: what it states is in no line that is read."""


@cache
def library() -> Path | None:
    """Where the library is that this process uses, if anywhere."""
    return find()


def core() -> str:
    """The judge that runs: `native` or `python`.

    Raises:
        CoreError: the environment asks for what there is not.
    """
    asked = os.environ.get(CHOICE, "")
    if asked not in ("", "native", "python"):
        raise CoreError(f"{CHOICE} is {asked!r}", "write native or python")
    if asked == "native" and library() is None:
        cause = f"{CHOICE} is native, and no core is built of these sources"
        raise CoreError(cause, "run make native-core")
    return asked or ("python" if library() is None else "native")
