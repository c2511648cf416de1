"""Tests of claims.capacity: blocks that claims take together and free, and which copy is held."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from runtime_hooks.claims.capacity import ClaimedBlocks, blockers
from runtime_hooks.claims.entry import Entry
from runtime_hooks.claims.groups import Groups
from runtime_hooks.claims.metadata import claim_of
from runtime_hooks.enforce.victim_exclusion import VictimExclusion
from runtime_hooks.trace.names import Place
from runtime_hooks.tracking.ledger import Ledger
from spec.events.canonical import CacheGroup
from tests.runtime_hooks.tiny import IDENTITY, TinyPool, claim

Prompt = tuple[str, int]
PROMPTS = st.tuples(st.text("ab", min_size=4, max_size=4), st.integers(1, 4))
"""Four letters, of which the first so many are claimed: a block is a beginning of them."""


def entry_of(number: int, prompt: Prompt) -> Entry:
    """A claim on a prompt."""
    text, blocks = prompt
    keys = tuple(text[: at + 1].encode() for at in range(blocks))
    return Entry(claim_of(claim(f"claim:{number:02}", blocks), IDENTITY, keys), keys, keys)


def claimed_by(entries: Iterable[Entry]) -> ClaimedBlocks:
    """Their blocks."""
    claimed = ClaimedBlocks()
    for entry in entries:
        claimed.add(entry.keys)
    return claimed


def freed(entries: Sequence[Entry], named: Iterable[Entry]) -> int:
    """The blocks that all claims have, less those of the claims that are not named."""
    left = [entry for entry in entries if entry not in set(named)]
    return len(claimed_by(entries)) - len(claimed_by(left))


class TestCells:
    @given(st.lists(PROMPTS, max_size=6), st.data())
    def test_counted_once(self, prompts: list[Prompt], data: st.DataObject) -> None:
        """Each block counts once, however many claims have it, and until the last of them ends."""
        entries = [entry_of(number, prompt) for number, prompt in enumerate(prompts)]
        claimed = claimed_by(entries)
        for entry in data.draw(st.permutations(entries)):
            contents = {key for each in entries for key in each.keys}
            assert len(contents) == len(claimed)
            assert len(set(entry.keys) - contents) == claimed.lacks(entry.keys)
            claimed.remove(entry.keys)
            entries.remove(entry)
        assert 0 == len(claimed)


class TestBlockers:
    @given(st.lists(PROMPTS, max_size=8), st.integers(1, 12), st.integers(0, 255))
    def test_explain(self, prompts: list[Prompt], shortfall: int, may: int) -> None:
        """Those that are named free enough, and without any one of them too little; nobody is named
        only where all that may be named do not free enough."""
        entries = [entry_of(number, prompt) for number, prompt in enumerate(prompts)]
        among = [entry for number, entry in enumerate(entries) if may & (1 << number)]
        named = blockers(among, claimed_by(entries), shortfall)
        assert set(named) <= set(among)
        if not named:
            assert freed(entries, among) < shortfall
            return
        assert freed(entries, named) >= shortfall
        for each in named:
            rest = [entry for entry in named if entry is not each]
            assert freed(entries, rest) < shortfall

    def test_largest(self) -> None:
        """Where either would do the larger one is named, and of equal ones the first by its id."""
        entries = [entry_of(0, ("abab", 2)), entry_of(1, ("bbbb", 3)), entry_of(2, ("aaaa", 2))]
        claimed = claimed_by(entries)
        assert ["claim:01"] == [entry.claim_id for entry in blockers(entries, claimed, 1)]
        both = blockers(entries, claimed, 4)
        assert ["claim:01", "claim:00"] == [entry.claim_id for entry in both]


class TestShared:
    """Which claims a prompt begins with."""

    @given(PROMPTS, PROMPTS, st.sampled_from([(), (CacheGroup(0, "window", 2),)]))
    def test_shared(self, claimed: Prompt, asked: Prompt, stated: tuple[CacheGroup, ...]) -> None:
        """A claim is found by the last of its blocks that the prompt has, and not after its end."""
        ledger, entry, other = Ledger(Groups(stated)), entry_of(0, claimed), entry_of(1, asked)
        entry.blocks = Groups(stated).needed(entry.keys)
        ledger.add(entry)
        common = [at for at, key in enumerate(entry.keys) if key in other.keys]
        needed = [at for at in common if entry.keys[at] in entry.blocks]
        assert bool(common) is ledger.begins(other.keys)
        assert ({entry: needed[-1] + 1} if needed else {}) == ledger.shared(other.keys)
        ledger.remove(entry)
        assert (False, {}) == (ledger.begins(other.keys), ledger.shared(other.keys))


class TestSpared:
    @given(st.integers(1, 6), st.integers(0, 6), st.integers(0, 8), st.booleans())
    def test_spared(self, claimed: int, held: int, asked: int, drops: bool) -> None:
        """A request shares what it finds of a claim, and what it computes for it. Where the last
        block found is dropped, it computes one for itself, also if others compute the claim first.
        """
        ledger, entry = Ledger(Groups(drops=drops)), entry_of(0, ("abababab", claimed))
        ledger.add(entry)
        ledger.place((key, block) for block, key in enumerate(entry.keys[:held]))
        keys = entry_of(1, ("abababab", 8)).keys[:asked]
        found = sum(key in entry.keys[:held] for key in keys)
        for_claim = sum(key in entry.keys[held:] for key in keys)
        dropped = drops and found + for_claim > 0
        assert found + for_claim - dropped == ledger.spared(keys)


class TestHolds:
    """Of each content that is wanted one block is held."""

    def ledger(self, *prompts: Prompt) -> tuple[TinyPool, Ledger, list[Entry]]:
        """A pool of ten blocks, and claims in a ledger."""
        ledger = Ledger(Groups())
        entries = [entry_of(number, prompt) for number, prompt in enumerate(prompts)]
        for entry in entries:
            ledger.add(entry)
        return TinyPool(10), ledger, entries

    def test_one_copy(self) -> None:
        """Of two copies that come one after the other the first is held, for both claims; the
        second where that goes; none once nobody wants it."""
        pool, ledger, (one, two) = self.ledger(("abab", 1), ("abab", 2))
        holds = VictimExclusion(pool)
        holds.want(one.contents)
        holds.want(two.contents)
        for block in (3, 5):
            ledger.place([(b"a", block)])
            holds.settle(ledger.contents([b"a"]))
            assert 3 not in pool.free
        assert 5 in pool.free
        touched = list(ledger.holding([3]))
        assert {} == ledger.lose([3])
        holds.settle(touched)
        assert [3, 5] == [block for block in (3, 5) if (block in pool.free) is (block == 3)]
        holds.unwant(one.contents)
        assert 5 not in pool.free
        holds.unwant(two.contents)
        assert set(range(1, 11)) == set(pool.free)

    def test_last_copy(self) -> None:
        """With the last copy of a content its owners lose it, and with the one before nobody."""
        _, ledger, (one, two) = self.ledger(("abab", 1), ("abab", 2))
        ledger.place([(b"a", 3), (b"ab", 4), (b"a", 5)])
        assert {} == ledger.lose([3])
        assert {one: [5], two: [5]} == ledger.lose([5, 7])
        assert (set(), {1}) == (one.held, two.held)

    def test_reset(self) -> None:
        """For a reset all are let go; they are held again if it fails, and none if it does not."""
        for gone, free in ((False, 9), (True, 10)):
            pool, ledger, (one,) = self.ledger(("abab", 1))
            holds = VictimExclusion(pool)
            ledger.place([(b"a", 3), (b"a", 5)])
            holds.want(one.contents)
            holds.suspend()
            assert 10 == len(pool.free)
            holds.resume(gone=gone)
            if gone:
                ledger.lose(None)
                holds.settle(one.contents)
            assert free == len(pool.free)

    def test_added(self) -> None:
        """A claim on what another one has, has it at once."""
        _, ledger, (one,) = self.ledger(("abab", 2))
        ledger.place([(b"a", 3), (b"a", 5), (b"ab", 4)])
        two = entry_of(1, ("aabb", 3))
        ledger.add(two)
        assert {0} == two.held
        assert [Place(0, 3), Place(0, 5)] == list(two.places)
        ledger.remove(one)
        assert [Place(0, 3), Place(0, 5)] == list(two.places)
        assert [] == list(ledger.holding([4]))
