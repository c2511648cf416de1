"""Copies of one content in several blocks: a claim has it until the last of them is gone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

import pytest

from monitor.evaluate.claim import ClaimRun
from monitor.evaluate.compile import compile_mode
from monitor.input.records import at_line
from monitor.pool.blocks import Blocks
from monitor.stream.projection import Stream
from spec.claims.claim import Mode
from spec.contract.modes import Bundle
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from tests.differential.compare import compare, lines

MODES = (Mode.HARD_PROTECTED, Mode.DEMOTABLE)
KEYS = ("key",)

Story = Callable[[Mode], list[Event]]


def entry(claim: str, on: str, mode: Mode) -> Event:
    return Event(
        kind=Kind.CLAIM_REGISTERED,
        claim_id=claim,
        cache_identity="cache",
        object_id=on,
        predicate="leading_prefix_at_least(1)",
        mode=str(mode),
        owner_scope="owner",
        footprint=1,
    )


def commitment(claim: str, keys: tuple[str, ...]) -> list[Event]:
    committed = Event(kind=Kind.CLAIM_COMMITTED, claim_id=claim, footprint=1, content_keys=keys)
    return [committed, Event(kind=Kind.CLAIM_ACCEPTED, claim_id=claim, footprint=1)]


def cached(claim: str, block: int) -> Event:
    return Event(kind=Kind.BLOCK_CACHED, claim_id=claim, block_ids=(block,), positions=(0,))


def there(claim: str) -> Event:
    return Event(kind=Kind.CLAIM_MATERIALIZED, claim_id=claim)


def evicted(block: int) -> Event:
    return Event(kind=Kind.BLOCK_EVICTED, block_ids=(block,))


def by_content(mode: Mode) -> list[Event]:
    """The second claim holds a block before it states the content that the first one holds in
    another block; a third one comes to both.
    """
    return [
        entry("a", "x", mode),
        *commitment("a", KEYS),
        cached("a", 100),
        there("a"),
        entry("b", "y", mode),
        cached("b", 101),
        *commitment("b", KEYS),
        there("b"),
        entry("c", "z", mode),
        *commitment("c", KEYS),
        there("c"),
    ]


def by_object(mode: Mode) -> list[Event]:
    """The second claim holds a block before it is registered, on the object of the first one."""
    return [
        entry("a", "x", mode),
        *commitment("a", ()),
        cached("a", 100),
        there("a"),
        cached("b", 101),
        entry("b", "x", mode),
        *commitment("b", ()),
        there("b"),
    ]


def by_commitment(mode: Mode) -> list[Event]:
    """The second claim holds a block before it is committed to; the first one comes to its object
    between.
    """
    return [
        entry("b", "x", mode),
        cached("b", 101),
        entry("a", "x", mode),
        *commitment("a", ()),
        cached("a", 100),
        there("a"),
        *commitment("b", ()),
        there("b"),
    ]


def by_both(mode: Mode) -> list[Event]:
    """A claim that states no content yet brings a block to an object; another one there states the
    content, which a third one on another object has, too.
    """
    return [
        entry("a", "x", mode),
        *commitment("a", KEYS),
        entry("b", "y", mode),
        *commitment("b", KEYS),
        entry("c", "x", mode),
        cached("c", 100),
        there("a"),
        *commitment("c", KEYS),
        there("b"),
        there("c"),
    ]


class TestCopies:
    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("story", [by_content, by_object, by_commitment])
    @pytest.mark.parametrize("gone", [*permutations((100, 101))])
    def test_evicted(self, mode: Mode, story: Story, gone: tuple[int, ...]) -> None:
        """No claim has lost anything when one copy is gone; each has when both are."""
        events = story(mode)
        first, second = map(evicted, gone)
        assert "kept" == compare(lines(enumerate(events)), mode)
        assert "kept" == compare(lines(enumerate([*events, first])), mode)
        assert "violated" == compare(lines(enumerate([*events, first, second])), mode)

    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("story", [by_content, by_object])
    def test_back(self, mode: Mode, story: Story) -> None:
        """A claim that had lost its only copy holds again what another one brings along."""
        events = story(mode)
        at = next(n for n, event in enumerate(events) if event.claim_id == "b")
        lost = [*events[:at], evicted(100), *events[at:]]
        assert "violated" == compare(lines(enumerate(lost)), mode)

    @pytest.mark.parametrize("mode", MODES)
    def test_all(self, mode: Mode) -> None:
        """A block is of all that state its content, also of those on other objects."""
        events = by_both(mode)
        assert "kept" == compare(lines(enumerate(events)), mode)
        assert "violated" == compare(lines(enumerate([*events, evicted(100)])), mode)

    @pytest.mark.interpreted
    def test_own_only(self) -> None:
        """A commitment hands over what the claim held before it, not what it comes to by it."""
        taken: list[int] = []

        class Noting(Blocks):
            def _share(
                self, claim: ClaimRun, pairs: Sequence[tuple[int, int]], more: dict[str, ClaimRun]
            ) -> None:
                taken.append(len(pairs))
                super()._share(claim, pairs, more)

        stream = Stream(compile_mode(Mode.HARD_PROTECTED, Bundle.CONTRACT), "run")
        stream.store.blocks.__class__ = Noting
        names = [f"claim {number}" for number in range(8)]
        for block, name in enumerate(names):
            held = [entry(name, name, Mode.HARD_PROTECTED), cached(name, block)]
            for event in (*held, *commitment(name, KEYS)):
                stream.take(event, at_line("run", block))
        assert {1} == {*taken}
