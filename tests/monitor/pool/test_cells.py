"""Which positions may be one block, held against the definition, pair by pair."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from monitor.pool.cells import _merged, _Object


def made(cache: str | None, key: str | None, blocks: set[int]) -> _Object:
    """An object whose position 0 has this key, and is held in these blocks."""
    found = _Object(cache)
    if blocks:
        found.blocks[0] = blocks
        found.inside[0] = "block", min(blocks)
    if key is not None:
        found.inside[0] = "key", key
    return found


def may_be_one(one: _Object, other: _Object) -> bool:
    """Whether nothing that is stated of both keeps them apart."""
    if None not in (one.cache, other.cache) and one.cache != other.cache:
        return False
    inside = [of.inside.get(0) for of in (one, other)]
    if None in inside:
        return True
    if all(known is not None and known[0] == "key" for known in inside):
        return inside[0] == inside[1]
    here, there = one.blocks.get(0), other.blocks.get(0)
    return here is None or there is None or not here.isdisjoint(there)


def closed(objects: list[_Object]) -> set[frozenset[int]]:
    """The groups that the pairs come to."""
    groups = [{one} for one in range(len(objects))]
    for left, right in combinations(range(len(objects)), 2):
        if may_be_one(objects[left], objects[right]):
            apart = [group for group in groups if not group & {left, right}]
            groups = [*apart, set[int]().union(*(g for g in groups if g & {left, right}))]
    return {frozenset(group) for group in groups}


_objects = st.builds(
    made,
    st.sampled_from((None, "c", "d")),
    st.sampled_from((None, "k", "l")),
    st.sets(st.integers(0, 3), max_size=2),
)


@given(st.lists(_objects, max_size=7))
def test_merged(objects: list[_Object]) -> None:
    """The groups are those of the definition."""
    places: dict[int, Any] = {id(each): number for number, each in enumerate(objects)}
    found = {frozenset(places[id(each)] for each in group) for group in _merged(objects, 0)}
    assert closed(objects) == found
