"""Tests of spec.cli.layout: one module lays out the texts of all printers."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from spec.cli.layout import GLUE, Page, Plain, Styled, rendered, wrap

WORDS = st.lists(st.text("abc-/.", min_size=1, max_size=12), max_size=12)
STYLES = st.sampled_from(["", "bold", "red"])


class TestWrap:
    @given(WORDS, st.integers(0, 8), st.none() | st.integers(0, 8))
    def test_words(self, words: list[str], indent: int, hanging: int | None) -> None:
        """No word is broken or lost, and lines keep within the width unless a word is longer."""
        lines = wrap(" ".join(words), indent, hanging, width=20).split("\n")
        assert words == " ".join(lines).split()
        assert all(len(line) <= 20 for line in lines)


class TestStyled:
    @given(st.lists(st.tuples(WORDS, STYLES), max_size=5))
    def test_wrapped(self, parts: list[tuple[list[str], str]]) -> None:
        """Each character keeps its style when a text is wrapped, and the text is that of `wrap`."""
        text = Styled()
        for words, style in parts:
            text.append(" ".join(words) + " ", style)
        made = text.wrapped(2, 4, 20)
        assert wrap(str(text), 2, 4, 20) == str(made)
        before, after = (
            [(c, style) for part, style in each.parts for c in part if not c.isspace()]
            for each in (text, made)
        )
        assert before == after


class TestPage:
    def test_grid(self) -> None:
        """Columns are as wide as their cells, and the words of the last one go on below."""
        page = Page(width=24)
        page.grid(
            [("a", "one two three four"), (Styled("bcd", "red"), "five")],
            head=("", "words"),
            indent=2,
            gap=2,
        )
        due = ["       words", "  a    one two three", "       four", "  bcd  five"]
        assert due == [line.rstrip() for line in str(page).splitlines()]
        assert ("bcd", "red") in page.parts

    def test_lines_of_a_cell(self) -> None:
        """A cell of several lines goes on in its column."""
        page = Page().grid([("a", "one\n-> two")], gap=2, first=4)
        assert "a     one\n      -> two\n" == str(page)

    def test_empty(self) -> None:
        """A grid without rows prints no line, and an empty paragraph is a blank one."""
        assert "\n" == str(Page().grid([]).put())


class TestRendered:
    def test_glue(self) -> None:
        """A space at which no line is broken is a space in the output."""
        page = Page(width=12).put(f"judged --mode{GLUE}MODE")
        assert "judged\n--mode MODE\n" == rendered(page, Plain(12))

    def test_terminal(self) -> None:
        """A terminal shows the same words, in their styles."""
        page = Page().put(Styled("kept", "green").append(" and more"))
        out = Console(file=io.StringIO(), force_terminal=True, color_system="standard", width=80)
        text = rendered(page, out)
        assert "\x1b[32mkept\x1b[0m and more\n" == text
