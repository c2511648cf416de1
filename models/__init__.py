"""Descriptors of runtimes, from public sources, and executable models of what they do.

What is listed in `__all__` is the Python API (docs/python-api.md); it is imported when it is first
asked for.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING

# A package of another project may have the name of one of resident-claims: see spec/installed.py.
runpy.run_path(
    str(Path(__file__).parents[1] / "spec" / "installed.py"),
    {"ASKED": __name__, "ARGV": sys.argv[:1]},
)

if TYPE_CHECKING:
    from models.catalog import NAMES, descriptor
else:
    from spec.language.lazy import lazy

    __getattr__, __dir__ = lazy(__name__, {"models.catalog": ("NAMES", "descriptor")})
    del lazy

__all__ = ["NAMES", "descriptor"]
