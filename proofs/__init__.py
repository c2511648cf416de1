"""Is it so for every run? Terms to Z3, engines, theorems, counterexamples. Z3 lives only here."""

import runpy
import sys
from pathlib import Path

# A package of another project may have the name of one of resident-claims: see spec/installed.py.
runpy.run_path(
    str(Path(__file__).parents[1] / "spec" / "installed.py"),
    {"ASKED": __name__, "ARGV": sys.argv[:1]},
)

import z3

z3.set_param("ctrl_c", False)  # Z3 would take an interrupt for itself, and call the answer unknown
