"""What is publicly known of runtimes; how they behave is not built yet."""

import runpy
import sys
from pathlib import Path

# A package of another project may have the name of one of resident-claims: see spec/installed.py.
runpy.run_path(
    str(Path(__file__).parents[1] / "spec" / "installed.py"),
    {"ASKED": __name__, "ARGV": sys.argv[:1]},
)
