"""Numbers and texts come out of the columns as they went in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from monitor.page.columns import ABSENT, Columns, Texts
from monitor.page.document import document
from tests.monitor.page.opened import opened

SMALL = st.integers(ABSENT, 2**31 - 2)
LARGE = st.integers(-(2**53), 2**53)


@given(st.lists(st.tuples(SMALL, LARGE)))
def test_returns_what_was_added(rows: list[tuple[int, int]]) -> None:
    """Whole numbers of four bytes, from ABSENT on, and of eight bytes, in any order."""
    columns = Columns(each={"small": "i", "large": "q"})
    for row in rows:
        columns.add("each", *row)
    found = opened(document("", "", columns.packed({"texts": []}))).tables["each"]
    assert rows == [(row["small"], row["large"]) for row in found]


def test_bounds_a_number_that_a_script_cannot_hold() -> None:
    """A number beyond 2**53 is stored as that, on both sides, and one beyond a small column."""
    columns = Columns(each={"small": "i", "large": "q"})
    columns.add("each", 2**31, 2**70)
    columns.add("each", -2, -(2**70))
    found = opened(document("", "", columns.packed({"texts": []}))).tables["each"]
    assert [(2**31 - 2, 2**53), (ABSENT, -(2**53))] == [(r["small"], r["large"]) for r in found]


def test_numbers_a_text_once() -> None:
    """Equal texts have one number, None has none, and what is no UTF-8 is replaced."""
    texts = Texts()
    assert [0, 1, 0, ABSENT] == [texts.number(each) for each in ("a", "\udcff", "a", None)]
    assert ["a", "?"] == texts.listed
