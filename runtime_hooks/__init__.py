"""How a real runtime is seen and steered: the vLLM plugin, its hooks, and what they enforce."""

import runpy
import sys
from pathlib import Path
from typing import Final

# A package of another project may have the name of one of resident-claims: see spec/installed.py.
_LOOKED = runpy.run_path(
    str(Path(__file__).parents[1] / "spec" / "installed.py"),
    {"ASKED": __name__, "ARGV": sys.argv[:1], "RAISES": False},
)

FAULT: Final[str] = _LOOKED["FAULT"]
"""What is wrong with the installation, empty where nothing is; the plugin is off where it is."""
