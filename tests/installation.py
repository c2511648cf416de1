"""The installation that tests of commands run: this tree, or a wheel in an environment of its own.

`make test-wheel` names the Python of that environment. Commands then run in a folder outside the
tree, which has what the README's commands read and nothing that Python could import.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["CORE", "ROOT", "WHEEL", "call", "environment", "without", "workplace"]

ROOT = Path(__file__).parents[1]
WHEEL = os.environ.get("RESIDENT_CLAIMS_WHEEL_PYTHON", "")
"""The Python of an environment that has the wheel with every extra; empty for the tree itself."""

CORE = os.environ.get("RESIDENT_CLAIMS_CORE_PYTHON", "")
"""The Python of one that has the wheel without extras."""


def environment(*first: Path) -> dict[str, str]:
    """The environment of a call, with these folders first on Python's path, and then the tree."""
    path = [*map(str, first), *([] if WHEEL else [str(ROOT)])]
    rest = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**rest, "PYTHONPATH": os.pathsep.join(path)} if path else rest


def call(
    *words: str, cwd: Path, env: dict[str, str] | None = None, python: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run `-m MODULE ...` or `-c ...` by the Python of the installation, or its `resident-claims`.

    Args:
        python: the Python of another installation.
    """
    by = python or WHEEL or sys.executable
    line = (
        [by, *words]
        if words[0].startswith("-")
        else [str(Path(by).with_name(words[0])), *words[1:]]
    )
    return subprocess.run(
        line, cwd=cwd, env=env or environment(), capture_output=True, text=True, check=False
    )


def workplace(folder: Path) -> Path:
    """Where the README's commands find what they read: the tree, or `folder`, which is filled."""
    if not WHEEL:
        return ROOT
    for part, kind in (("monitor/samples", "*.jsonl"), ("docs/examples", "*.yaml")):
        (folder / part).mkdir(parents=True, exist_ok=True)
        for each in (ROOT / part).glob(kind):
            shutil.copy(each, folder / part)
    return folder


def without(folder: Path, *modules: str) -> Path:
    """A folder that, first on Python's path, makes these modules missing in every process."""
    lines = [f"sys.modules[{name!r}] = None" for name in modules]
    (folder / "sitecustomize.py").write_text("\n".join(["import sys", *lines, ""]))
    return folder
