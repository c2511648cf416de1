"""The site has all that the pages have, and asks no other host for anything."""

import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

import pytest
from markdown_it import MarkdownIt

from docs_site.pages import LISTED, LIVE, ROOT, pages

SITE: Final = ROOT / "build" / "site" / "html"
PAGES: Final = [str(page) for page in pages()]
COUNTED: Final = frozenset({"h1", "h2", "h3", "h4", "ol", "ul", "li", "table", "tr", "td", "pre"})


class Elements(HTMLParser):
    """Counts the elements of the article of a page, or of all where it has no article."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count an element, and note what a browser loads for it."""
        self.counts[tag] += tag in COUNTED
        self.loaded += [
            value
            for name, value in attrs
            if value and (name == "src" or (tag == "link" and name == "href"))
        ]


def built(page: str) -> str:
    """The HTML that the site has for a page."""
    path = Path(page)
    name = "index.html" if path.name == "README.md" else f"{path.stem}.html"
    return (SITE / path.parent / name).read_text()


class TestPages:
    """The pages, one by one."""

    @pytest.mark.parametrize("page", PAGES)
    def test_structure(self, page: str) -> None:
        """A page has the headings, lists, tables and blocks that CommonMark sees in it."""
        text = (ROOT / page).read_text()
        expected = Elements(MarkdownIt("commonmark").enable("table").render(text)).counts
        article = re.search(r"<article.*?>(.*)</article>", built(page), re.DOTALL)
        assert article
        assert +expected == +Elements(article[1]).counts

    @pytest.mark.parametrize("page", [*PAGES, *(f"{name}/README.md" for name in LISTED)])
    def test_own_host(self, page: str) -> None:
        """What a page loads is in the site, and its policy forbids all other hosts."""
        html = built(page)
        assert "default-src 'self' 'unsafe-inline' data: blob:\"" in html
        loaded = Elements(html).loaded
        assert loaded
        for each in loaded:
            assert each.startswith("data:") or (SITE / page).parent.joinpath(each).exists(), each

    def test_styles(self) -> None:
        """No style sheet loads anything from another host."""
        sheets = list(SITE.rglob("*.css"))
        assert sheets
        assert not [
            s for s in sheets if re.search(r"(url\(|@import)\W*(https?:)?//", s.read_text())
        ]


class TestSite:
    """The site as a whole."""

    def test_search(self) -> None:
        """Each page can be found by the search, but for the changelog."""
        index = json.loads((SITE / "search" / "search_index.json").read_text())
        found = {entry["location"].partition("#")[0] for entry in index["docs"]}
        assert len(PAGES) + len(LISTED) - 1 == len(found)
        assert "CHANGELOG.html" not in found

    def test_live(self) -> None:
        """The first page leads to a report, the proofs and the labels, each of which is there."""
        found = re.findall(r'href="live/(\w+)\.html"', built("README.md"))
        assert list(LIVE) == found
        for name in LIVE:
            page = (SITE / "live" / f"{name}.html").read_text()
            assert "default-src 'none'" in page

    def test_schemas(self) -> None:
        """Each JSON Schema is there, and is listed."""
        names = sorted(path.name for path in (ROOT / "docs" / "schema").glob("*.json"))
        assert names == sorted(path.name for path in (SITE / "docs" / "schema").glob("*.json"))
        assert names == re.findall(r'<li><a href="([\w-]+\.json)"', built("docs/schema/README.md"))
