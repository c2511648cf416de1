"""The page asks no network, runs its own script alone, and keeps the text of a trace text."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import unescape
from pathlib import Path

from monitor.page.document import ASSETS, SCRIPTS
from monitor.samples import sample
from tests.monitor.page.opened import opened, page_of

VICTIM = sample("hard_protected_victim")
HOSTILE = '</script><script>alert("claim")</script><img src=x onerror=alert(1)>'
POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]*)"')


def text() -> str:
    """The page of the broken sample."""
    return page_of(VICTIM).page.decode()


def hashed(content: str) -> str:
    """How a policy names a script or a style."""
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"


def test_allows_its_own_script_and_styles_alone() -> None:
    """The policy has the hash of each, and allows no other source, and no unsafe word."""
    page = text()
    (policy,) = POLICY.findall(page)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert [
        "default-src 'none'",
        f"script-src {hashed(script)}",
        f"style-src {hashed(style)}",
        "base-uri 'none'",
        "form-action 'none'",
    ] == unescape(policy).split("; ")


def test_has_no_style_or_listener_in_an_element() -> None:
    """The policy would refuse them."""
    assert [] == re.findall(r"<[a-z][^>]* (?:style|on[a-z]+)=", (ASSETS / "page.html").read_text())


def test_names_no_other_place() -> None:
    """No address is in the page but the name space of SVG, which is never fetched."""
    assert {"http://www.w3.org/2000/svg"} == set(re.findall(r"\bhttps?://[^\"'\s)]+", text()))


def test_makes_no_markup_of_texts() -> None:
    """No part of the script reads markup or code from a text."""
    for name in SCRIPTS:
        found = re.findall(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|srcdoc",
            (ASSETS / name).read_text(),
        )
        assert [] == found, name


def test_keeps_a_hostile_name_out_of_the_markup(tmp_path: Path) -> None:
    """A claim and a file named as a script are data, and escaped where they are words."""
    name = "</title><script>alert(2)</script>".replace("/", "\N{DIVISION SLASH}")
    trace = tmp_path / name
    escaped = HOSTILE.replace('"', '\\"')
    trace.write_text(VICTIM.read_text().replace("claim:system-prompt", escaped))
    page = page_of(trace).page
    assert b"<script>alert" not in page
    assert 2 == page.count(b"<script")
    assert HOSTILE in opened(page).verdicts()


def test_is_shipped_with_its_parts() -> None:
    """Each part of the script is there, and no other."""
    assert sorted(["theme.js", *SCRIPTS]) == sorted(each.name for each in ASSETS.glob("*.js"))
