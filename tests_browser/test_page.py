"""The page alone answers five questions, by pointer and by keys, in each theme and width."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from monitor.samples import sample
from tests.monitor.page.lines import claim, event, trace
from tests_browser.pages import faults

VICTIM, REFUSAL = sample("hard_protected_victim"), sample("hard_protected_refusal")
UNJUDGED = sample("offloadable_failed_restore")
HOSTILE = "<script>document.title='owned'</script><img src=x onerror=alert(1)>"
Write = Callable[..., Path]
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def broken(write: Write) -> Path:
    """The page of the broken sample."""
    return write(VICTIM)


def card(page: Page, question: str) -> str:
    """The answer to one of the five questions."""
    return page.locator(".card", has_text=question).inner_text()


def region(page: Page) -> str:
    """The text of the details."""
    return page.locator("#detail").inner_text()


class TestAnswers:
    """The five questions, of a claim that was not kept."""

    def test_answers_five_questions(self, open_page: Open, broken: Path) -> None:
        """Kept or not, when lost, to whom, what was expected, and the pool at that moment."""
        page = open_page(broken)
        assert "No." in card(page, "Was it kept?")
        assert "hard protected promises: No block" in page.locator(".promise").inner_text()
        lost, taker = card(page, "Were blocks lost?"), card(page, "Who took the blocks?")
        assert "Yes: line 7, at 1.5 ms" in lost
        assert "the allocator chose cached blocks as victims" in lost
        assert "Reported at line 8, 250 µs later" in lost
        assert "Kept all the same" not in lost
        assert "request active-1" in taker
        assert "line 6, at 1.25 ms: needed 70 of 80 usable blocks, 60 of them reserved" in taker
        assert "short by 50." in taker
        page.locator(".card", has_text="Who took").get_by_role("button").click()
        assert "60 of them reserved for claims: short by 50." in region(page)
        assert "Another victim, or refusing or deferring" in card(
            page, "What should have happened?"
        )
        pool = card(page, "The pool then").split("\n")
        assert ["reserved for claims", "60"] == pool[1:3]
        assert ["short by", "50"] == pool[5:7]

    def test_shows_what_decided(self, open_page: Open, broken: Path) -> None:
        """The line, the rule, what was expected instead, and the path through the observer."""
        page = open_page(broken)
        page.locator("#detail").get_by_role("button", name="claim:system-prompt").click()
        page.locator("#detail").get_by_role("button", name="explicit conflict action").click()
        assert "conflict action not reported (overdue)" in region(page)
        assert "a refusal, a deferral or another explicit action" in region(page)
        assert VICTIM.read_text().splitlines()[8] in region(page)
        assert 2 == page.locator("#detail .badge").count()
        assert 1 == page.locator("#detail .state.violated.on.last").count()

    def test_counts_no_loss_after_the_end(self, open_page: Open, write: Write) -> None:
        """Blocks of a claim that has expired may go; that is no loss of the claim."""
        page = open_page(write("tests/recordings/expiring.jsonl"))
        assert "block evicted" in page.locator("#by-kind").inner_text()
        assert "No loss is stated." in card(page, "Were blocks lost?")

    def test_says_that_a_loss_breaks_no_promise(self, open_page: Open, write: Write) -> None:
        """Of a claim that lost blocks and is kept: what was lost, and that it is kept."""
        page = open_page(write(sample("hard_protected_refusal")))
        assert "Yes." in card(page, "Was it kept?")
        lost = card(page, "Were blocks lost?")
        assert "by block lost: cached blocks were lost to a reset or a failure." in lost
        assert "Kept all the same: what hard protected promises was done." in lost
        assert "they were not evicted" in card(page, "Who took the blocks?")
        assert "Nothing else." in card(page, "What should have happened?")
        assert "breaks no obligation" in card(page, "What should have happened?")

    def test_says_why_it_is_inconclusive(
        self, open_page: Open, write: Write, tmp_path: Path
    ) -> None:
        """The code, and the shortest thing to do about it."""
        lines = VICTIM.read_text().splitlines()
        trace = tmp_path / "gap.jsonl"
        trace.write_text("\n".join(lines[:3] + lines[4:6]) + "\n")
        page = open_page(write(trace))
        said = page.locator("#verdict").inner_text()
        assert "RC101 lines-missing" in said
        assert "What to do: record every line" in said
        kept, lost = card(page, "Was it kept?"), card(page, "Were blocks lost?")
        assert "Nothing is concluded." in kept
        assert "Lines are missing before sequence number 4: line 4, at 1 ms." in kept
        assert "No loss is stated before line 4." in lost
        assert "Later lines are not judged." in lost
        assert "reserved for claims\n60" in card(page, "The pool before line 4")
        assert "what is drawn later is pale, and not judged" in page.locator("#legend").inner_text()
        rows = page.locator("#table-verdicts tbody tr")
        assert "as above" not in rows.nth(0).inner_text()
        assert "as above" in rows.nth(1).inner_text()

    def test_counts_a_loss_at_the_time_of_the_end(
        self, open_page: Open, write: Write, tmp_path: Path
    ) -> None:
        """Lines of one time are in the order of the file."""
        released = event("claim_released", claim_id="A", by="runtime")
        report = event("claim_unmaterialized", claim_id="A")
        events = [
            *claim("A", 1, "best_effort"),
            event("block_lost", block_ids=[1]),
            report,
            released,
        ]
        page = open_page(write(trace(tmp_path / "t.jsonl", *events, step=0)))
        assert "Yes: line 6, at 0 ns." in card(page, "Were blocks lost?")

    def test_names_the_last_request_of_a_name(
        self, open_page: Open, write: Write, tmp_path: Path
    ) -> None:
        """Of two requests of one name, the one that was in hand at the loss; the pool then."""
        asked = [event("request_arrived", request_id="r", needed=n, usable=100) for n in (1, 99, 5)]
        over = event("request_finished", request_id="r")
        lost = event("block_evicted", request_id="r", block_ids=[1])
        harmed = event("claim_harmed", claim_id="A")
        events = [*claim("A", 1), asked[0], over, asked[1], lost, harmed, over, asked[2], over]
        page = open_page(write(trace(tmp_path / "t.jsonl", *events, step=0)))
        taker, pool = card(page, "Who took the blocks?"), card(page, "The pool then")
        assert "line 8, at 0 ns: needed 99 of 100 usable blocks, 2 of them reserved" in taker
        assert ["needed by requests", "99", "short by", "1"] == pool.split("\n")[3:7]

    def test_keeps_a_claim_beside_one_that_is_owed(
        self, open_page: Open, write: Write, tmp_path: Path
    ) -> None:
        """What is still owed to one claim leaves open no verdict on another."""
        events = [*claim("A", 1), *claim("B", 3), event("block_lost", block_ids=[3])]
        page = open_page(write(trace(tmp_path / "t.jsonl", *events)))
        assert "1 of 10 obligations still owed" in card(page, "Was it kept?")
        page.locator("#table-claims summary").click()
        page.locator("#table-claims").get_by_role("button", name="A", exact=True).click()
        assert "Yes." in card(page, "Was it kept?")

    def test_says_what_is_not_stated(self, open_page: Open, write: Write) -> None:
        """A trace that states neither a mode nor a pool."""
        page = open_page(write(UNJUDGED))
        assert "--mode offloadable" in page.locator("#verdict").inner_text()
        assert "not stated" in card(page, "The pool")
        assert "No loss is stated." in card(page, "Were blocks lost?")


def test_keeps_the_text_of_a_trace_text(open_page: Open, write: Write, tmp_path: Path) -> None:
    """A claim named as a script is shown by its name, and it does not run."""
    trace = tmp_path / "hostile.jsonl"
    named = VICTIM.read_text().replace('"claim:system-prompt"', json.dumps(HOSTILE))
    named = named.replace("tenant-a", "tenant\u202e-a")
    trace.write_text(named.replace('"active-1"', json.dumps(HOSTILE)))
    page = open_page(write(trace))
    assert HOSTILE in page.locator("#answers h2").inner_text()
    assert 0 == page.locator("img").count()
    page.locator("#answers h2 button").click()
    assert "tenant\\u{202e}-a" in region(page)
    assert "owned" != page.title()


class TestTimeline:
    """The canvas, by pointer and by keys."""

    def test_opens_what_is_clicked(self, open_page: Open, broken: Path) -> None:
        """The flag of a violation leads to its verdict, and its lane to the claim."""
        page = open_page(broken)
        box = page.locator("#scroll").bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + 60, box["y"] + 50)
        assert "What it stated" in region(page)
        width = box["width"] - 196 - 14
        at = box["x"] + 196 + width * (1.5 + 0.06) / 2.12  # 1.5 ms, of 2 ms and margins
        page.mouse.click(at + 5, box["y"] + 28 + 10)
        assert "victim exclusion before violation" in region(page)

    def test_moves_by_keys(self, open_page: Open, broken: Path) -> None:
        """Zoom, move, the next event and the one before."""
        page = open_page(broken)
        page.locator("#scroll").focus()
        before = page.locator("#lanes").screenshot()
        for key in ("+", "ArrowRight"):
            page.keyboard.press(key)
        page.wait_for_timeout(100)
        assert before != page.locator("#lanes").screenshot()
        page.keyboard.press("n")
        assert "block evicted" in region(page)
        page.keyboard.press("p")
        assert "request arrived" in region(page)

    def test_zooms_by_the_wheel_once_it_is_chosen(self, open_page: Open, broken: Path) -> None:
        """Before that, the wheel scrolls the page."""
        page = open_page(broken, viewport={"width": 1440, "height": 500})
        box = page.locator("#lanes").bounding_box()
        assert box is not None
        page.locator("#scroll").focus()
        page.locator("#lanes").hover(position={"x": 600, "y": 60})
        page.wait_for_timeout(100)
        before = page.locator("#lanes").screenshot()
        page.mouse.wheel(0, -300)
        page.wait_for_timeout(100)
        assert before != page.locator("#lanes").screenshot()


class TestFilters:
    """What is searched and filtered is in the tables."""

    def test_narrows_the_tables(self, open_page: Open, broken: Path) -> None:
        """By text, by kind of event, and by verdict."""
        page = open_page(broken)
        page.fill("#search", "evicted")
        page.wait_for_timeout(150)
        assert "1 event" in page.locator("#match-count").inner_text()
        page.fill("#search", "")
        page.select_option("#by-kind", label="losses")
        page.wait_for_timeout(150)
        assert "1 event" in page.locator("#match-count").inner_text()
        page.select_option("#by-kind", label="all")
        page.select_option("#by-verdict", "kept")
        assert "0 claims" in page.locator("#match-count").inner_text()

    def test_has_all_in_tables(self, open_page: Open, broken: Path) -> None:
        """What the canvas draws is in tables, too, and all of them are printed."""
        page = open_page(broken)
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        for name, rows in (("verdicts", 10), ("claims", 1), ("requests", 1), ("events", 9)):
            found = page.locator(f"#table-{name} tbody tr")
            assert rows == found.count()
            assert found.first.is_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_is_accessible(open_page: Open, broken: Path, theme: str, width: int) -> None:
    """axe finds no fault: contrast, names and roles, in both themes, on a desk and on a phone."""
    page = open_page(broken, color_scheme=theme, viewport={"width": width, "height": 900})
    assert [] == faults(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_changes_the_theme(open_page: Open, broken: Path) -> None:
    """The button changes the colours, of the canvas as well."""
    page = open_page(broken, color_scheme="light")
    light = page.locator("#lanes").screenshot()
    page.locator("#theme").click()
    page.wait_for_timeout(100)
    assert "rgb(16, 22, 28)" == page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert light != page.locator("#lanes").screenshot()


def test_compares_two_runs(open_page: Open, write: Write) -> None:
    """What changed stands beside each other."""
    page = open_page(write(VICTIM, "--against", REFUSAL))
    assert "violated\tkept" in page.locator("#difference").inner_text()
