"""Tests of runtime_hooks.claims.used_ids: which ids are remembered, and in how much memory."""

from __future__ import annotations

import sys

from hypothesis import given
from hypothesis import strategies as st

from runtime_hooks.claims.used_ids import UsedIds
from tests.runtime_hooks.tiny import TinyEngine, claim


@given(st.lists(st.text(st.characters(codec=None)), unique=True, max_size=300), st.data())
def test_as_a_set(ids: list[str], data: st.DataObject) -> None:
    """It contains what was added, as a set does."""
    used, as_set = UsedIds(), set(ids[: len(ids) // 2])
    for each in as_set:
        used.add(each)
    assert len(used) == len(as_set)
    assert [each in as_set for each in ids] == [each in used for each in ids]


def test_across() -> None:
    """Bytes that stand across two digests of a bucket are none."""
    used, bucket = UsedIds(), bytearray(b"abcdefghij" + b"cdefg")
    for kept, found in {b"cdefg": True, b"bcdef": False, b"abcde": True, b"ghijc": False}.items():
        used._digest = lambda _, kept=kept: (bucket, kept)  # type: ignore[method-assign, misc]
        assert found == ("any" in used)


def test_memory() -> None:
    """From 10,000 to 100,000 ids it grows by less than 8 bytes an id."""
    used = UsedIds()

    def size() -> int:
        return sum(map(sys.getsizeof, used._buckets))

    for n in range(10_000):
        used.add(f"tenant/c{n}")
    before = size()
    for n in range(10_000, 100_000):
        used.add(f"tenant/c{n}")
    assert size() - before < 8 * 90_000


def test_collision() -> None:
    """A new id with the digest of a used one is rejected as used, and the used one stays."""
    engine = TinyEngine()
    used = engine.controller._registry._used_ids
    engine.serve("resident", 10, claim("first", blocks=10))
    place = used._digest("first")
    used._digest = lambda _: place  # type: ignore[method-assign]
    engine.serve("other", 10, claim("second", blocks=10))
    assert "claim id second was used before" in engine.answers[-1]["claim"]
    assert ["first"] == [*engine.controller._registry.live]
