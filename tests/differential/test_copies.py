"""Copies of one content in several blocks: a claim has it until the last of them is gone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations, product
from random import Random

import msgspec
import pytest

from monitor.evaluate.claim import ClaimRun
from monitor.evaluate.claim_record import ClaimRecord
from monitor.evaluate.compile import compile_mode
from monitor.evaluate.positions import Positions
from monitor.input.records import at_line
from monitor.pool.blocks import Blocks
from monitor.stream.keep import Keep
from monitor.stream.projection import Stream
from spec.claims.claim import Mode
from spec.contract.modes import Bundle
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from tests.differential.compare import compare, lines
from tests.streams.shared import shared

MODES = (Mode.HARD_PROTECTED, Mode.DEMOTABLE)
KEYS = ("key",)

Story = Callable[[Mode], list[Event]]


def entry(claim: str, on: str, mode: Mode, size: int = 1) -> Event:
    return Event(
        kind=Kind.CLAIM_REGISTERED,
        claim_id=claim,
        cache_identity="cache",
        object_id=on,
        predicate=f"leading_prefix_at_least({size})",
        mode=str(mode),
        owner_scope="owner",
        footprint=size,
    )


def commitment(claim: str, keys: tuple[str, ...], size: int = 1) -> list[Event]:
    committed = Event(kind=Kind.CLAIM_COMMITTED, claim_id=claim, footprint=size, content_keys=keys)
    return [committed, Event(kind=Kind.CLAIM_ACCEPTED, claim_id=claim, footprint=size)]


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


def lost(*names: str, entered: str = "") -> list[Event]:
    """Block 100 is lost, and that is reported; of the claim that only entered it is no harm."""
    harm, news = Kind.CLAIM_HARMED, Kind.CLAIM_UNMATERIALIZED
    gone = Event(kind=Kind.BLOCK_LOST, block_ids=(100,))
    return [gone, *(Event(kind=news if n == entered else harm, claim_id=n) for n in names)]


def ended(claim: str) -> list[Event]:
    kinds = (Kind.CLAIM_RETIRED, Kind.CLAIM_RELEASED)
    return [Event(kind=kind, claim_id=claim, by="owner") for kind in kinds]


def one_after_another(mode: Mode, keys: tuple[str, ...], *, on: str = "x") -> list[Event]:
    """A claim holds a block before it is committed to, and ends; another one comes after it."""
    first = [entry("a", "x", mode), cached("a", 100), *commitment("a", keys), there("a")]
    second = [entry("b", on, mode), cached("b", 100), *commitment("b", keys), there("b")]
    return [*first, *ended("a"), *second]


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

    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("other", [None, Mode.BEST_EFFORT])
    @pytest.mark.parametrize("order", [*permutations("abc")])
    def test_one_object(self, mode: Mode, other: Mode | None, order: tuple[str, ...]) -> None:
        """What one claim states of its object is so for one that states nothing: it holds what a
        claim with that content on another object does, in any order.
        """
        claims = {
            "a": [entry("a", "x", mode), *commitment("a", KEYS)],
            "b": [entry("b", "x", other or mode), *([] if other else commitment("b", ()))],
            "c": [entry("c", "y", mode), *commitment("c", KEYS)],
        }
        entered = "b" if other else ""
        for by, after in product("abc", (1, 2, 3)):
            if by in order[:after]:
                events = [event for name in order[:after] for event in claims[name]]
                events.append(cached(by, 100))
                events += [event for name in order[after:] for event in claims[name]]
                events += map(there, order)
                gone = [*events, *lost(*order, entered=entered)]
                for judged in {mode, other or mode}:
                    assert "kept" == compare(lines(enumerate(events)), judged)
                    assert "kept" == compare(lines(enumerate(gone)), judged)
                last = [*gone, there("b")]
                assert "violated" == compare(lines(enumerate(last)), other or mode)

    @pytest.mark.parametrize("mode", MODES)
    def test_two_contents(self, mode: Mode) -> None:
        """Two contents of one object contradict each other: nothing is concluded of either claim,
        nor of one that comes there.
        """
        first = [entry("a", "x", mode), *commitment("a", ("k",)), cached("a", 100), there("a")]
        second = [entry("b", "x", mode), *commitment("b", ("m",)), there("b")]
        third = [entry("c", "x", mode), *commitment("c", ()), there("c")]
        for events in ([*first, *second], [*first, *second, *third]):
            assert "inconclusive" == compare(lines(enumerate(events)), mode)

    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("keys", [(), KEYS])
    def test_held_before(self, mode: Mode, keys: tuple[str, ...]) -> None:
        """A claim may hold a block that came to another one before that was tracked."""
        known = [entry("a", "x", mode), *commitment("a", keys)]
        before = [*known, entry("h", "x", mode), *ended("a"), cached("h", 100)]
        comes = [entry("b", "y" if keys else "x", mode), *commitment("b", keys)]
        for said in (there("b"), lost("b")[1]):
            events = [*before, *comes, said]
            assert "inconclusive" == compare(lines(enumerate(events)), mode)
        events = [*before, *comes, *commitment("h", ()), there("h"), there("b")]
        assert "kept" == compare(lines(enumerate(events)), mode)

    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("keys", [(), KEYS])
    @pytest.mark.parametrize("on", ["x", "y"])
    def test_one_after_another(self, mode: Mode, keys: tuple[str, ...], on: str) -> None:
        """A claim that ended leaves nothing open of one with its content that comes after it."""
        events = one_after_another(mode, keys, on=on)
        assert "kept" == compare(lines(enumerate(events)), mode)

    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize(("keys", "on"), [((), "x"), (KEYS, "x"), (KEYS, "y")])
    @pytest.mark.parametrize("keep", [None, Keep(ended=0)])
    def test_again(self, mode: Mode, keys: tuple[str, ...], on: str, keep: Keep | None) -> None:
        """What a claim holds that ended and is committed to again is of all with its content; where
        it was forgotten, the others may hold it.
        """
        first = [entry("a", "x", mode), *commitment("a", keys), cached("a", 100), there("a")]
        second = [entry("b", on, mode), *commitment("b", keys)]
        again = [*commitment("a", keys), there("a")]
        for after in ([*second, *again], [*again, *second]):
            events = [*first, *ended("a"), *after, there("b"), evicted(100)]
            assert "violated" == compare(lines(enumerate(events)), mode, keep=keep)

    @pytest.mark.parametrize("mode", MODES)
    def test_behind_the_end(self, mode: Mode) -> None:
        """A block behind the end of the claim that it is cached for is of the longer ones on the
        object, and of all that have their content.
        """
        keys = ("key", "more")
        shorter = [entry("a", "x", mode), *commitment("a", KEYS)]
        longer = [entry("b", "x", mode, 2), *commitment("b", keys, 2)]
        alike = [entry("c", "y", mode, 2), *commitment("c", keys, 2)]
        both = Event(kind=Kind.BLOCK_CACHED, claim_id="a", block_ids=(100, 101), positions=(0, 1))
        events = [*shorter, *longer, *alike, both, there("a"), there("b"), there("c")]
        assert "kept" == compare(lines(enumerate(events)), mode)
        assert "violated" == compare(lines(enumerate([*events, evicted(101)])), mode)

    @pytest.mark.parametrize("last", ["a", "b"])
    def test_there_before_a_request(self, last: str) -> None:
        """A claim that turns out to have been there in another block when a request came was not
        computed by that request first, though it held a block that was.
        """
        mode, keys = Mode.OFFLOADABLE, KEYS
        b = [entry("b", "y", mode), cached("b", 101)]
        late = [*b, *commitment("b", keys)] if last == "a" else b
        known = [entry("a", "x", mode), *(commitment("a", keys) if last == "b" else [])]
        asks = Event(kind=Kind.REQUEST_ARRIVED, request_id="r", needed=1, usable=8)
        uses = Event(kind=Kind.PREFIX_REUSED, request_id="r", claim_id="a")
        lookup = Event(kind=Kind.PREFIX_LOOKUP, request_id="r", claim_id="a", asked=1, held=1)
        ends = Event(kind=Kind.REQUEST_FINISHED, request_id="r")
        used = [*commitment(last, keys), lookup, uses, there("a"), there("b"), ends]
        apart = [event for event in late if event.kind is not Kind.BLOCK_CACHED]
        events = [*late, *known, asks, cached("a", 100), *used]
        assert "kept" == compare(lines(enumerate(events)), mode)
        events = [*apart, *known, asks, cached("a", 100), *used]
        assert "violated" == compare(lines(enumerate(events)), mode)

    @pytest.mark.parametrize("mode", Mode)
    def test_by_chance(self, mode: Mode) -> None:
        """Claims on few objects, of which some state contents, are judged alike."""
        found = {compare(shared(Random(number), mode), mode) for number in range(25)}
        assert {"violated", "inconclusive"} <= found

    @pytest.mark.interpreted
    def test_few_are_asked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A claim that comes to an object asks few of those there that have all its contents."""
        asked, whole = list[str](), ClaimRecord.__dict__["counts"].fget

        def counts(claim: ClaimRecord) -> bool:
            asked.append(claim.claim_id)
            return bool(whole(claim))

        monkeypatch.setattr(ClaimRecord, "counts", property(counts))
        stream = Stream(compile_mode(Mode.HARD_PROTECTED, Bundle.CONTRACT), "run")
        each = []
        for number in range(100):
            name, keys = f"claim {number}", KEYS if number % 2 else ()
            for event in (entry(name, "x", Mode.HARD_PROTECTED), *commitment(name, keys)):
                stream.take(event, at_line("run", number))
            each.append(len(asked))
            asked.clear()
        assert {KEYS} == {claim.keys for claim in stream.claims.values()}
        assert each[20] == each[50] == each[98] < 20
        assert each[21] == each[51] == each[99] < 20

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
        taken.clear()
        for block, name in enumerate(names, 10):
            stream.take(entry(f"x {name}", "x", Mode.HARD_PROTECTED), at_line("run", block))
            stream.take(cached(f"x {name}", block), at_line("run", block))
        for name in names:
            for event in commitment(f"x {name}", ("another",)):
                stream.take(event, at_line("run", 20))
        assert {1} == {number for number in taken if number}

    @pytest.mark.interpreted
    def test_longer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where a claim states one content more of its object, the others there come to that one
        alone: those that have no block are asked for it no more often than there are of them.
        """
        size, asked, whole = 12, [0], Positions.holds

        def holds(positions: Positions, position: int) -> bool:
            asked[0] += 1
            return whole(positions, position)

        stream, each = Stream(compile_mode(Mode.HARD_PROTECTED, Bundle.CONTRACT), "run"), []
        change = msgspec.structs.replace
        for number in range(size):
            first = change(entry(f"{number}", "x", Mode.HARD_PROTECTED), footprint=size)
            stream.take(first, at_line("run", 1))
            stream.take(change(commitment(f"{number}", ())[0], footprint=size), at_line("run", 1))
        monkeypatch.setattr(Positions, "holds", holds)
        for number in range(size):
            keys, before = tuple(f"key {each}" for each in range(number + 1)), asked[0]
            stream.take(commitment(f"{number}", keys)[0], at_line("run", 2))
            each.append(asked[0] - before)
        assert max(each) <= 3 * size * size
