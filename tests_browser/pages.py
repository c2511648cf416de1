"""Opens pages of traces in Chromium, without a network."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, sync_playwright

__all__ = ["CHROMIUM", "NONE", "chromium", "ready", "write"]

CHROMIUM: Final = shutil.which("chromium")
NONE: Final = "there is no chromium: apt-get install chromium"

_FLAGS: Final = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
ready: Final = "html[data-ready]"
"""What is there once the page is drawn."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """A Chromium with an empty profile."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=_FLAGS)
        yield started
        started.close()


def write(page: Path, *arguments: str | Path) -> Path:
    """The page of some traces, as the command `report` writes it."""
    command = [sys.executable, "-m", "monitor", "report", *map(str, arguments), "-o", str(page)]
    folder = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode in (0, 1, 3), done.stderr
    return page
