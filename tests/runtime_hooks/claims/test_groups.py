"""Tests of claims.groups: the blocks that a claim needs in each group of caches."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runtime_hooks.claims.groups import Groups
from spec.events.canonical import CacheGroup
from spec.stream.pool import Group, Key, Object, Pool

KINDS = st.one_of(
    st.tuples(st.just("full"), st.none(), st.just(1)),
    st.tuples(st.just("window"), st.integers(1, 4), st.integers(1, 3)),
    st.tuples(st.just("state"), st.none(), st.integers(1, 3)),
)
ALONE = st.sampled_from([("full", None, 1), ("window", 2, 1), ("state", None, 1)])
GROUPS = (
    st.tuples(ALONE, st.lists(KINDS, max_size=3))
    .flatmap(lambda parts: st.permutations([parts[0], *parts[1]]))
    .map(lambda kinds: tuple(CacheGroup(number, *kind) for number, kind in enumerate(kinds)))
)


def named(key: bytes, group: int) -> bytes:
    """The key of a block in a group: its own key, and the number of the group."""
    return key[:1] + bytes([group])


def prompt(stated: tuple[CacheGroup, ...], blocks: int) -> tuple[Groups, list[bytes]]:
    """The groups, and the keys of a prompt in the group that names it."""
    groups = Groups(stated, named, lambda key: key[1])
    return groups, [bytes([at, groups.lead]) for at in range(blocks)]


class TestGroups:
    def test_one_cache(self) -> None:
        """With one cache of full attention a claim needs its blocks, and these are its keys."""
        groups, keys = Groups(), [b"a", b"b", b"c"]
        assert tuple(keys) == groups.needed(keys)
        assert keys == groups.every(keys)
        assert (False, False) == (groups.several, groups.sparse)
        assert 2 == groups.reach(keys, {b"a", b"b"}.__contains__)

    def test_needed(self) -> None:
        """All of a full group, the last four of a window, the last one of a group of states."""
        stated = (CacheGroup(0, "window", 4), CacheGroup(1, "full"), CacheGroup(2, "state"))
        groups, keys = prompt(stated, 6)
        assert [(at, 1) for at in range(6)] == [p for p in groups.places(6) if p[1] == 1]
        assert [2, 3, 4, 5] == [at for at, group in groups.places(6) if group == 0]
        assert [(5, 2)] == [p for p in groups.places(6) if p[1] == 2]
        assert 6 + 4 + 1 == len(groups.needed(keys))

    @given(GROUPS, st.integers(1, 8))
    def test_split(self, stated: tuple[CacheGroup, ...], blocks: int) -> None:
        """Blocks are split by group, and none is left out."""
        groups, keys = prompt(stated, blocks)
        pairs = [(key, block) for block, key in enumerate(groups.every(keys))]
        parts = [list(part) for part in groups.split(pairs)]
        assert sorted(pairs) == sorted(pair for part in parts for pair in part)
        assert len(parts) == len({key[1] for part in parts for key, _ in part})
        assert all(1 == len({key[1] for key, _ in part}) for part in parts)

    @given(GROUPS, st.integers(1, 8))
    def test_places_of_a_position(self, stated: tuple[CacheGroup, ...], blocks: int) -> None:
        """The places of one position are those among all places."""
        groups, keys = prompt(stated, blocks)
        places = list(groups.places(blocks))
        assert [named(keys[at], group) for at, group in places] == list(groups.needed(keys))
        for at in range(blocks):
            assert [p for p in places if p[0] == at] == places[groups.at(blocks, at)]

    @given(GROUPS, st.integers(1, 6), st.data())
    def test_reach(self, stated: tuple[CacheGroup, ...], blocks: int, data: st.DataObject) -> None:
        """A hit goes as far as the specification says of the same blocks."""
        groups, keys = prompt(stated, blocks)
        there = data.draw(st.sets(st.sampled_from(groups.every(keys))))
        pool, obj = Pool(), Object(identity="cache", contents=tuple(range(blocks)))
        pool.groups = {
            each.group: Group(each.kind, each.window or 0, each.span or 1) for each in stated
        }
        for number, (at, group) in enumerate(there):
            pool.place(Key("cache", group, at), number)
        assert pool.lead(obj, 0, blocks) == groups.reach(keys, there.__contains__)
