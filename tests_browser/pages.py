"""Opens pages in Chromium, without a network."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

__all__ = ["CHROMIUM", "NONE", "REBOUND", "ROOT", "chromium", "faults", "ready", "write"]

ROOT: Final = Path(__file__).parents[1]

CHROMIUM: Final = shutil.which("chromium")
NONE: Final = "there is no chromium: apt-get install chromium"

REBOUND: Final = "rebound.example"
"""A name of another host that leads to this machine."""

_FLAGS: Final = [
    f"--host-resolver-rules=MAP {REBOUND} 127.0.0.1",
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


def faults(page: Page) -> list[tuple[str, list[str]]]:
    """What axe finds wrong with a page: the rule, and the first elements that break it."""
    found = Axe().run(page).response["violations"]
    return [(each["id"], [node["html"] for node in each["nodes"]][:3]) for each in found]


def write(page: Path, *arguments: str | Path, by: str = "report") -> Path:
    """The page that a command writes, as `report` does of some traces.

    Args:
        by: `report`, or the package and command that take `--html`.
    """
    module, *command = ["monitor", "report"] if by == "report" else by.split()
    output = "-o" if by == "report" else "--html"
    call = [sys.executable, "-m", module, *command, *map(str, arguments), output, str(page)]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode in (0, 1, 3), done.stderr
    return page
