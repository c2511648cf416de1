"""Tests of the rule for a hit in several groups of caches."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spec.stream.pool import Group, Object, Pool, longest_hit

GROUPS = st.lists(
    st.builds(
        Group, st.sampled_from(["full", "window", "state"]), st.integers(1, 3), st.integers(1, 3)
    ),
    min_size=1,
    max_size=3,
).map(lambda groups: dict(enumerate(groups)))


class TestLongestHit:
    @given(GROUPS, st.integers(0, 7), st.data())
    def test_as_defined(self, groups: dict[int, Group], end: int, data: st.DataObject) -> None:
        """It is the longest prefix that ends with whole blocks of every group, all of whose needed
        blocks are there."""
        places = [(number, at) for number in groups for at in range(end)]
        there = data.draw(st.sets(st.sampled_from(places))) if places else set()
        lengths = [
            length
            for length in range(1, end + 1)
            if all(group.ends(length) for group in groups.values())
            if all((n, at) in there for n, g in groups.items() for at in g.needs(0, length))
        ]
        assert max(lengths, default=0) == longest_hit(
            groups, 0, end, lambda group, at: (group, at) in there
        )

    def test_within_a_block(self) -> None:
        """A hit does not end within a block that covers two positions."""
        pool, obj = Pool(), Object(identity="cache", contents=("k0", "k1", "k2"))
        pool.groups = {0: Group(), 1: Group("window", 1, 2)}
        for block, (group, at) in enumerate([(0, 0), (0, 1), (0, 2), (1, 1)]):
            pool.place(obj.key(group, at), block)
        assert 2 == pool.lead(obj, 0, 3)
