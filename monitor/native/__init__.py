"""Finds the native core, the same judge as `spec.stream` in Rust, and says which judge runs.

`RESIDENT_CLAIMS_CORE` chooses: `python` or `native`. By default the native core runs where it was
built (`make native-core`).
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Final

from spec.language.errors import SpecError

__all__ = ["BUILT", "CHOICE", "LIBRARY", "CoreError", "core", "library"]

CHOICE: Final = "RESIDENT_CLAIMS_CORE"
LIBRARY: Final = "libresident_claims_core.so"
_HERE: Final = Path(__file__).parent
BUILT: Final = Path(__file__).parents[2] / "build" / "native-core" / "release"


class CoreError(SpecError):
    """The native core is absent, refuses what it was given, or failed."""


@cache
def library() -> Path | None:
    """Where the library lies: in the package, or in the folder in which a checkout builds it. One
    that is older than its sources does not count.
    """
    changed = [each.stat().st_mtime for each in (_HERE / "src").glob("*.rs")]
    for place in (_HERE / LIBRARY, BUILT / LIBRARY):
        if place.exists() and place.stat().st_mtime >= max(changed, default=0):
            return place
    return None


def core() -> str:
    """The judge that runs: `native` or `python`.

    Raises:
        CoreError: the environment asks for what there is not.
    """
    asked = os.environ.get(CHOICE, "")
    if asked not in ("", "native", "python"):
        raise CoreError(f"{CHOICE} is {asked!r}", "write native or python")
    if asked == "native" and library() is None:
        raise CoreError(f"{CHOICE} is native, and no native core is built", "run make native-core")
    return asked or ("python" if library() is None else "native")
