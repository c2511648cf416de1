"""The explorer of models: by keys alone, accessible, and asked by no page of another host."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests_browser.pages import REBOUND, ROOT, faults

Explore = Callable[..., Page]
HARM = "block-removed-claim-harm"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of an explorer of vllm_pool."""
    command = [sys.executable, "-m", "models", "explore", "vllm_pool", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as served:
        assert served.stdout is not None
        yield served.stdout.readline().split()[0]
        served.send_signal(signal.SIGINT)


@pytest.fixture
def explore(browser: Browser, address: str) -> Iterator[Explore]:
    """Opens a state; fails if another host is asked, or the console has an error."""
    contexts, wrong = [], list[str]()

    def opened(path: str, **options: object) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on(
            "request",
            lambda asked: None if asked.url.startswith(address) else wrong.append(asked.url),
        )
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.goto(f"{address}{path}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert [] == wrong


def press(page: Page, key: str) -> str:
    """The path of the page to which an access key leads."""
    session = page.context.new_cdp_session(page)
    with page.expect_navigation():
        for kind in ("rawKeyDown", "char", "keyUp"):
            event = {"type": kind, "modifiers": 1, "key": key, "unmodifiedText": key, "text": key}
            session.send("Input.dispatchKeyEvent", event)
    return "/".join(page.url.split("/")[3:])


def tabbed(page: Page, text: str) -> None:
    """Press Tab until the link of this text is focused, and Enter."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == text:
            break
    assert text == page.evaluate("document.activeElement.textContent")
    with page.expect_navigation():
        page.keyboard.press("Enter")


def test_walks_a_run_by_keys(explore: Explore) -> None:
    """Tab and Enter take a start and an action; access keys act, go back and to the start."""
    page = explore("")
    tabbed(page, "block_removed -> claim_harm")
    tabbed(page, "2. arrive(r1)")
    assert page.url.endswith(f"/{HARM}/1")
    assert f"{HARM}/1.0" == press(page, "1")
    assert f"{HARM}/1" == press(page, "b")
    assert f"{HARM}/" == press(page, "0")


def test_steps_through_a_counterexample_by_keys(explore: Explore) -> None:
    """N leads along the shortest run, whose last action violates what is named; P leads back."""
    page, violated = explore(f"{HARM}/"), "claim:a: claim_harm_attribution violated"
    for at in range(1, 6):
        assert violated not in page.locator("svg text.violated").all_text_contents()
        press(page, "n")
        assert f"action {at} of 5" in page.locator("main").inner_text()
    assert violated in page.locator("svg text.violated").all_text_contents()
    assert f"{HARM}/1.1.1.1" == press(page, "p")
    assert 0 == page.locator("svg text.violated").count()


def test_jumps_to_a_counterexample(explore: Explore) -> None:
    """The page of the starts has a link to the end of each shortest run."""
    page = explore("")
    page.get_by_role("link", name="breaks claim_harm_attribution in 5 actions").click()
    assert "action 5 of 5" in page.locator("main").inner_text()
    page.get_by_role("link", name="3. admit(r1)").click()
    assert "action 3 of 5" in page.locator("main").inner_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_is_accessible(explore: Explore, width: int, theme: str) -> None:
    """axe finds no fault with any kind of page, and none is wider than its window."""
    for path in ("", f"{HARM}/", f"{HARM}/1.1.1.1.1"):
        page = explore(path, color_scheme=theme, viewport={"width": width, "height": 900})
        for each in page.locator("details").all():
            each.evaluate("each => (each.open = true)")
        assert [] == faults(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_refuses_a_name_of_another_host(browser: Browser, address: str) -> None:
    """A page of another site that has its own name lead to this machine is refused."""
    port = address.rstrip("/").rpartition(":")[2]
    with browser.new_page() as page:
        answer = page.goto(f"http://{REBOUND}:{port}/")
        assert answer is not None
        assert 400 == answer.status
        assert "vllm_pool" not in page.content()
