"""Finds the native core. The build of the wheel runs this file alone, so it imports no other."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

__all__ = ["BUILT", "LIBRARY", "STAMP", "find"]

LIBRARY: Final = f"libresident_claims_core.{'dylib' if sys.platform == 'darwin' else 'so'}"
STAMP: Final = "built"
"""A file beside a library that was built here: what is newer was not built."""

_HERE: Final = Path(__file__).parent
_ROOT: Final = _HERE.parents[1]
BUILT: Final = _ROOT / "build" / "native-core" / "release"


def find() -> Path | None:
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
