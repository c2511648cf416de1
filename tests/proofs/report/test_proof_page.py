"""The page of a proof: clauses, what they rest on, and each shortest run as a table of lanes."""

from __future__ import annotations

import re
from functools import cache

import msgspec
import pytest
from msgspec.structs import replace

from proofs.check import Check
from proofs.report.proof_page import proof_page
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from tests.models.explorer.asking import Page
from tests.proofs.shared import checked

HOSTILE = "</td><script>alert(1)</script>"


@cache
def text(*checks: tuple[Mode, Bundle]) -> str:
    """The page of these modes and bundles."""
    return proof_page([checked(*each) for each in checks]).decode()


EXPIRING = (Mode.EXPIRING, Bundle.CONTRACT)
PAPER = (Mode.EXPIRING, Bundle.PAPER)
BEST_EFFORT = (Mode.BEST_EFFORT, Bundle.CONTRACT)


def rows(page: str) -> list[str]:
    """The rows of its tables, each as one text."""
    return [" | ".join(row) for row in Page(page).rows]


class TestMode:
    """The card of a mode."""

    def test_says_what_is_proved(self) -> None:
        """The sentence, the promise, and each clause with its result."""
        page = text(EXPIRING)
        assert "Its 5 obligations imply all 3 clauses of the theorem" in page
        assert MODES[Mode.EXPIRING].promise.replace("'", "&#x27;") in page
        proved = [row for row in rows(page) if row.count(" | ") == 2 and "✓ proved" in row]
        assert ["harm", "promise", "responsibility"] == sorted(r.split(" | ")[0] for r in proved)

    def test_draws_the_run_of_each_obligation(self) -> None:
        """Each event of each run is a line; blocks and the reported state are lanes of it."""
        check = checked(*EXPIRING)
        events = [line for each in check.necessary.values() for line in each.story]
        found = [row for row in rows(text(EXPIRING)) if re.search("▲fact|▼report", row)]
        assert len(events) + len(check.consistent.story) == len(found)
        first = r"0 of \d, responsible \| submitted \| ▲fact: claim committed: the claim,"
        assert any(re.match(first, row) for row in found)
        broken = [row for row in rows(text(EXPIRING)) if row.startswith("breaks ")]
        assert len(check.necessary) == len(broken)

    def test_shows_the_run_that_refutes(self) -> None:
        """The paper's bundle of expiring is refuted, and the page begins with that."""
        page = text(PAPER)
        assert '<section id="verdict" class="violated">' in page
        assert "The run that breaks it" in page
        assert "✕ refuted" in " ".join(rows(page))

    def test_says_why_an_obligation_is_redundant(self) -> None:
        """Of a redundant obligation there is no run, and a reason."""
        page = text((Mode.ROUTED_REUSE, Bundle.CONTRACT))
        assert 2 == page.count('chip some"')
        assert "The promise is about cost, placement and reuse" in page

    def test_shows_what_is_undecided(self) -> None:
        """A check that was cut short is undecided."""
        check = checked(*BEST_EFFORT)
        sound = replace(check.sound, result="unknown", reason="cut")
        page = proof_page([replace(check, sound=sound)]).decode()
        assert '<section id="verdict" class="inconclusive">' in page


def test_lists_several_modes() -> None:
    """A table leads to the card of each mode."""
    page = text(BEST_EFFORT, EXPIRING)
    assert "All 2 modes hold (contract bundle)" in page
    links = dict(Page(page).links)
    assert "best effort" == links["#best_effort"]
    ids = {given["id"] for tag, given in Page(page).tags if tag == "article"}
    assert {"best_effort", "expiring"} == ids


def test_keeps_text_text() -> None:
    """Whatever a result says is escaped, and one script runs: that of the page."""
    hostile = msgspec.json.encode(checked(*EXPIRING)).replace(b"the claim", HOSTILE.encode())
    page = proof_page([msgspec.json.decode(hostile, type=Check)]).decode()
    assert 1 == page.count("<script")
    assert "&lt;script&gt;alert(1)" in page


@pytest.mark.parametrize("page", [EXPIRING, PAPER])
def test_has_no_style_or_listener_in_an_element(page: tuple[Mode, Bundle]) -> None:
    """The policy would refuse them; and no address is in the page."""
    found = text(page)
    given = [name for _, attributes in Page(found).tags for name in attributes]
    assert [] == [name for name in given if name == "style" or name.startswith("on")]
    assert "://" not in found.partition("<body>")[2]
