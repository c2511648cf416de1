"""Runs `monitor follow` as a process of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["command", "finish", "following", "wait_for"]

ROOT = Path(__file__).parents[3]
PATIENCE_S = 120.0  # the machine may be busy


def command(*args: object) -> list[str]:
    """The command line of `monitor follow`."""
    return [sys.executable, "-m", "monitor", "follow", *map(str, args)]


@contextmanager
def following(
    *args: object, stdin: int | None = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[str]]:
    """A process that follows, killed at the end of the block if it is still there."""
    process = subprocess.Popen(
        command(*args),
        cwd=ROOT,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def finish(process: subprocess.Popen[str], number: int = signal.SIGTERM) -> tuple[int, str, str]:
    """Send a signal; the exit code and what was printed."""
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out, err


def wait_for(there: Callable[[], bool]) -> None:
    """Wait until something is there."""
    end = time.monotonic() + PATIENCE_S
    while not there():
        assert time.monotonic() < end
        time.sleep(0.02)
