"""However a stream is cut into chunks, its lines are the same."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.follow import buffer
from monitor.follow.buffer import Splitter

TEXTS = st.lists(st.sampled_from([b"", b"a", b"\r", b"\x00\xff", b"longer than most"]), max_size=9)


def pieces(text: bytes, cuts: list[int]) -> list[bytes]:
    ends = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[start:end] for start, end in pairwise(ends)]


@given(TEXTS, st.lists(st.integers(0, 200), max_size=6))
def test_any_cut(lines: list[bytes], cuts: list[int]) -> None:
    """The whole lines are those of the text, and what follows them is held."""
    text = b"\n".join(lines)
    splitter = Splitter()
    found = [line for piece in pieces(text, cuts) for line in splitter.feed(piece)]
    *whole, rest = text.split(b"\n")
    assert whole == found
    assert len(rest) == splitter.held
    assert ([rest] if rest else []) == list(splitter.flush())
    assert 0 == splitter.held


@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_too_long(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line over the limit is None, and memory holds no more of it than the limit."""
    monkeypatch.setattr(buffer, "LINE_LIMIT", 8)
    text = b"12345678\n123456789\nshort\n" + 50 * b"x" + b"\nend\n"
    splitter, found = Splitter(), []
    for start in range(0, len(text), chunk):
        found += splitter.feed(text[start : start + chunk])
        assert len(splitter._rest) <= 8
    assert [b"12345678", None, b"short", None, b"end"] == found


def test_held_counts_what_was_dropped() -> None:
    """A position is the start of the line in hand, though it is too long to be kept."""
    splitter = Splitter()
    splitter.feed(b"a\n" + (buffer.LINE_LIMIT + 5) * b"x")
    assert buffer.LINE_LIMIT + 5 == splitter.held
    assert [None] == list(splitter.flush())
