"""Runs a command in a process of its own, and measures the time and the memory that it takes."""

from __future__ import annotations

import subprocess
import sys
from typing import Final, NamedTuple

__all__ = ["Used", "used"]

_WATCHER: Final = """
import os, subprocess, sys, time
started = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(process.pid, 0)
taken = time.perf_counter() - started
print(status, taken, used.ru_utime + used.ru_stime, used.ru_maxrss >> 10)
"""
"""Linux counts the memory of who starts a process as its own, so a small one starts it."""


class Used(NamedTuple):
    """Seconds by the clock and of the processor, and MiB at most."""

    seconds: float
    processor: float
    mib: int


def used(*arguments: str) -> Used:
    """What `python ARGUMENTS` takes; it has to exit with 0 or 1."""
    command = [sys.executable, "-c", _WATCHER, sys.executable, *arguments]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    status, mib = int(found[0]), int(found[3])
    if status >> 8 not in (0, 1) or status & 0xFF:
        raise AssertionError(f"{' '.join(arguments)} ended with {status}")
    return Used(float(found[1]), float(found[2]), mib)
