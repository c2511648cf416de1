"""A browser without a network, and pages of traces made by the command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which(os.environ.get("RESIDENT_CLAIMS_CHROMIUM", "chromium"))
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
FOLDER = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A Chromium for all tests; each page has a profile of its own."""
    if CHROMIUM is None:
        pytest.skip("there is no chromium: apt-get install chromium, or RESIDENT_CLAIMS_CHROMIUM")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="session")
def write(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Writes the page of some traces by `report`."""

    def written(*arguments: str | Path) -> Path:
        page = tmp_path_factory.mktemp("page") / "report.html"
        command = [sys.executable, "-m", "monitor", "report", *map(str, arguments), "-o", str(page)]
        done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=300)
        assert done.returncode in (0, 1, 3), done.stderr
        return page

    return written


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens a page from disk; fails if it asks the network, or its console has an error."""
    contexts, wrong = [], list[str]()

    def opened(path: Path, **options: object) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 1000}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda asked: None if asked.url == path.as_uri() else wrong.append(asked.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert [] == wrong
