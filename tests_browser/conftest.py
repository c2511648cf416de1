"""Fixtures: a browser, pages of traces, and a page that is opened from disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests_browser import pages


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A Chromium for all tests; each page has a profile of its own."""
    if pages.CHROMIUM is None:
        pytest.skip(pages.NONE)
    with pages.chromium() as started:
        yield started


@pytest.fixture(scope="session")
def write(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Writes the page of some traces by `report`, or of something else by another command."""
    return lambda *arguments, by="report": pages.write(
        tmp_path_factory.mktemp("page") / "page.html", *arguments, by=by
    )


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens a page from disk; fails if it asks the network, or its console has an error."""
    contexts, wrong = [], list[str]()

    def opened(path: Path, **options: object) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 1000}, **options})
        contexts.append(context)
        page, own = context.new_page(), path.as_uri()
        page.on("request", lambda asked: wrong.append(asked.url) if asked.url != own else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.goto(own)
        page.wait_for_selector(pages.ready)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert [] == wrong
