"""The pages of proofs and labels: they can be read without a script, and filtered with one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from proofs.report.proof_page import proof_page
from spec.claims.states import Mode
from tests.proofs.shared import checked
from tests_browser.pages import faults

Write = Callable[..., Path]
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def proofs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of two modes; soft_priority is about two claims."""
    path = tmp_path_factory.mktemp("proofs") / "proofs.html"
    modes = (Mode.SOFT_PRIORITY, Mode.EXPIRING)
    path.write_bytes(proof_page([checked(mode) for mode in modes]))
    return path


@pytest.fixture(scope="module")
def labels(write: Write) -> Path:
    """The page of three runtimes, which have each label but native_sound."""
    named = ("vllm_plugin", "tensorrt_llm_1_3_0rc14", "vllm_upstream")
    return write(*named, by="proofs lower")


@pytest.fixture(scope="module")
def one_mode(write: Write) -> Path:
    """The page of two runtimes in one mode, which has each part that a page of labels can have."""
    named = ("vllm_patched", "tensorrt_llm_1_3_0rc14", "--mode", "hard_protected")
    return write(*named, by="proofs lower")


@pytest.fixture
def plain(browser: Browser) -> Open:
    """Opens a page where no script runs."""

    def opened(path: Path) -> Page:
        page = browser.new_page(java_script_enabled=False)
        page.goto(path.as_uri())
        return page

    return opened


class TestProofs:
    """The page of proofs."""

    def test_draws_each_run(self, open_page: Open, proofs: Path) -> None:
        """Each obligation has the run that is possible without it, and what that breaks."""
        page = open_page(proofs)
        assert "All 2 modes hold" in page.locator("#verdict").inner_text()
        mode = page.locator("article#expiring")
        assert 5 == mode.locator(".run .lanes").count()
        run = mode.locator(".run", has_text="claim expired boundary").inner_text()
        assert "Without it, 3 events can break responsibility." in run
        assert "duration elapsed" in run
        assert "breaks responsibility: the auditor believes" in run

    def test_leads_to_a_mode(self, open_page: Open, proofs: Path) -> None:
        """The table of modes leads to the card of each."""
        page = open_page(proofs)
        page.get_by_role("link", name="soft priority").click()
        assert page.locator("article#soft_priority h2").is_visible()
        assert page.url.endswith("#soft_priority")

    def test_is_read_without_a_script(self, plain: Open, proofs: Path) -> None:
        """The runs are tables, and the button that needs a script is not there."""
        page = plain(proofs)
        assert page.locator(".lanes").first.is_visible()
        assert not page.locator("#theme").is_visible()


class TestLabels:
    """The page of labels."""

    def test_filters(self, open_page: Open, labels: Path) -> None:
        """By mode, answer and depth: what is left out is neither in the matrix nor below."""
        page = open_page(labels)
        heads = page.locator(".matrix thead th:visible")
        assert 8 == heads.count()
        page.locator("select[name=mode]").select_option("hard_protected")
        assert ["runtime", "hard protected"] == heads.all_inner_texts()
        page.locator("select[name=answer]").select_option("sound_with_adapter")
        found = page.locator("details[data-row]:visible")
        assert 1 == found.count()
        assert "1 of " in page.locator("#match-count").inner_text()
        assert ["vllm_plugin"] == page.locator(".matrix tbody th a:visible").all_inner_texts()
        page.locator("select[name=depth]").select_option("none")
        assert 0 == found.count()

    def test_leads_to_what_a_label_rests_on(self, open_page: Open, labels: Path) -> None:
        """A link of the matrix opens what is supplied, by what evidence, and what is missing."""
        page = open_page(labels)
        page.locator("a[href='#vllm_plugin-hard_protected-0']").click()
        rests = page.locator("#vllm_plugin-hard_protected-0")
        assert rests.is_visible()
        assert "claim identity I\tbackend patch\tdeclared, conformance trace" in rests.inner_text()
        page.locator("a[href='#vllm_upstream-hard_protected-0']").click()
        lacks = page.locator("#vllm_upstream-hard_protected-0").inner_text()
        assert "a run of the claim that preserves exclusion_before_loss" in lacks
        assert "Rule 5" in lacks

    def test_is_read_without_a_script(self, plain: Open, labels: Path) -> None:
        """The matrix is a table whose links open what they lead to; there are no filters."""
        page = plain(labels)
        assert not page.locator("#filters").is_visible()
        assert page.locator(".matrix").is_visible()
        page.locator("a[href='#vllm_plugin-expiring-0']").click()
        assert page.locator("#vllm_plugin-expiring-0").is_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["proofs", "one_mode"])
def test_is_accessible(
    open_page: Open, request: pytest.FixtureRequest, name: str, width: int, theme: str
) -> None:
    """axe finds no fault with all details open, and no page is wider than its window."""
    path = request.getfixturevalue(name)
    page = open_page(path, color_scheme=theme, viewport={"width": width, "height": 900})
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = 1")
    assert [] == faults(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_changes_the_theme(open_page: Open, proofs: Path) -> None:
    """The button turns light into dark, and back."""
    page = open_page(proofs, color_scheme="light")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.locator("#theme").click()
    assert "rgb(16, 22, 28)" == page.evaluate(colour)
    page.locator("#theme").click()
    assert light == page.evaluate(colour)
