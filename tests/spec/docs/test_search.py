"""Tests of spec.docs.search."""

from __future__ import annotations

import pytest

from spec.docs.search import WRITTEN, search
from spec.language.errors import SpecError
from spec.stream.codes import CODES


class TestSearch:
    """search"""

    @pytest.mark.parametrize(
        ("words", "page", "says"),
        [
            ("capacity proof", "glossary.md", "**capacity proof**"),
            ("RC114", "reasons.md", "lookup-contradicts"),
            ("Blocking IDs", "glossary.md", "the claims that an action on a conflicting request"),
            ("explicit_conflict_action", "obligations.md", "explicit_conflict_action"),
        ],
    )
    def test_finds(self, words: str, page: str, says: str) -> None:
        """Words are found in any case, in terms, codes and names."""
        found = search(words, 50).passages
        assert any(each.page == page and says in each.text for each in found)

    def test_each_has_the_words(self) -> None:
        """Each passage has every word, if some passage has, under its heading or in itself."""
        for each in search("loss harm report", 100).passages:
            text = f"{each.heading} {each.text}".casefold()
            assert all(word in text for word in ("loss", "harm", "report"))

    def test_most(self) -> None:
        """At most so many are listed, and the others are counted."""
        few, all_ = search("claim", 3), search("claim", 10_000)
        assert (3, 0) == (len(few.passages), all_.more)
        assert few.passages == all_.passages[:3]
        assert len(all_.passages) - 3 == few.more

    def test_none(self) -> None:
        """A word of no page finds no passage."""
        assert () == search("xyzzy", 5).passages

    @pytest.mark.parametrize("text", ["", " - ", " ".join(f"w{n}" for n in range(33))])
    def test_refused(self, text: str) -> None:
        """A search has 1 to 32 words."""
        with pytest.raises(SpecError, match="words to search for; give 1 to 32"):
            search(text, 5)

    def test_pages(self) -> None:
        """The pages written by hand are searched, and every reason is found by its code."""
        found = {each.page for each in search("the", 10_000).passages}
        assert set(WRITTEN) <= found
        assert all(search(code, 1).passages for code in CODES)
