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

__all__ = ["BUILT", "CHOICE", "LIBRARY", "STAMP", "CoreError", "core", "library"]

CHOICE: Final = "RESIDENT_CLAIMS_CORE"
LIBRARY: Final = "libresident_claims_core.so"
STAMP: Final = "built"
"""A file beside a library that was built here: what is newer was not built."""

_HERE: Final = Path(__file__).parent
_ROOT: Final = _HERE.parents[1]
BUILT: Final = _ROOT / "build" / "native-core" / "release"


class CoreError(SpecError):
    """The native core is absent, refuses what it was given, or failed."""


@cache
def library() -> Path | None:
    """Where the library lies: in the package, or in the folder in which a checkout builds it. It
    does not count if the specification or its own sources changed since it was built.
    """
    if (_HERE / LIBRARY).exists():
        return _HERE / LIBRARY
    if not (BUILT / LIBRARY).exists() or not (BUILT / STAMP).exists():
        return None
    sources = (*(_ROOT / "spec").rglob("*.py"), *_HERE.glob("*.py"), *_HERE.glob("src/*.rs"))
    built = (BUILT / STAMP).stat().st_mtime
    return BUILT / LIBRARY if all(s.stat().st_mtime <= built for s in sources) else None


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
