"""Proves properties of the contract for every run: terms to Z3, engines, theorems.

`__all__` lists the Python API (docs/python-api.md); each name is imported on first use. Z3 is
imported only in this package.
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

import z3

if TYPE_CHECKING:
    from proofs.check import Check, check_mode
else:
    from spec.language.lazy import lazy

    __getattr__, __dir__ = lazy(__name__, {"proofs.check": ("Check", "check_mode")})
    del lazy

__all__ = ["Check", "check_mode"]

z3.set_param("ctrl_c", False)  # by default Z3 handles the interrupt itself, and answers unknown
