"""Two observers disagree only where both state opposite things, and not where one is late."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from monitor.watch import compare, peers
from monitor.watch.compare import Compared, Comparison, Differs, Outcome
from monitor.watch.peers import StreamPeer
from tests.monitor.input.kv_lines import captured, message, removed, stored
from tests.monitor.watch.engine import Engine, line, prompt
from tests.monitor.watch.test_honest import CLAIMS, step
from tests.monitor.watch.watching import Session, write_registry

HOT = prompt("hot", 3)
ENGINE = Engine(100)
HASHES = ENGINE.hashes(HOT)


def hot() -> dict[str, Any]:
    """The prefix is stored on the GPU."""
    extras = [None] * 3
    return stored(*HASHES, token_ids=HOT, block_size=4, extra_keys=extras)


def host(*hashes: str) -> dict[str, Any]:
    """Copies in host memory are stored, as vLLM announces them."""
    return stored(*hashes, medium="CPU", token_ids=[], block_size=0)


class Pair:
    """An engine and a peer, whose batches are read one by one.

    Args:
        live: whether both are sockets.
    """

    def __init__(self, folder: Path, claims: Any = None, *, live: bool = False) -> None:
        self.session = Session(write_registry(folder, claims or [{"id": "hot", "tokens": HOT}]))
        self.peer, self._live = StreamPeer("peer", live=live), live
        self._reader = self.peer.reader()
        self._read = 0
        self.changes: list[tuple[str, str]] = []
        self._comparison = Comparison([self.peer], 4, self._note)

    def _note(self, _join: Any, _peer: Any, each: Any, over: str) -> None:
        self.changes.append((each.claim_id, over))

    def engine(self, number: int, *events: dict[str, Any], time_s: float | None = None) -> None:
        """The engine publishes a batch; its time is its number, if not stated."""
        self.session.take(line(number, [*events], number if time_s is None else time_s))

    def store(self, number: int, *events: dict[str, Any], time_s: float | None = None) -> None:
        """The peer does."""
        self.feed(line(number, [*events], number if time_s is None else time_s))

    def feed(self, text: bytes) -> None:
        """A line of the peer."""
        self._read += 1
        self._reader.feed(text, self._read)

    def compare(self) -> Compared:
        """Compare now."""
        self._comparison.compare([(join, self._live) for join in self.session.joins.values()])
        (found,) = self._comparison.results()
        return found

    def both(self, number: int, *events: dict[str, Any]) -> None:
        """Both publish a batch."""
        self.engine(number, *events)
        self.store(number, *events)


class TestDisagreements:
    def test_since(self, tmp_path: Path) -> None:
        """A disagreement names the batch of the first observer, its time, and the blocks."""
        pair = Pair(tmp_path)
        pair.both(0, hot())
        pair.engine(1, removed(*HASHES[1:]), time_s=10)
        pair.store(1, time_s=15)
        pair.engine(2, time_s=15)
        result = pair.compare()
        (found,) = result.disagreements
        assert (found.blocks, found.positions, found.since_ns, found.batch) == (2, "1-2", 10**10, 1)
        assert (result.outcome, result.is_first_engine) == (Outcome.DISAGREE, True)
        assert result.compared == {"gpu": 3}

    def test_store(self, tmp_path: Path) -> None:
        """A store announces what cannot be loaded: the engine says that the copy is gone."""
        pair = Pair(tmp_path)
        pair.both(0, hot(), host(*HASHES))
        pair.engine(1, removed(HASHES[0], medium="CPU"))
        pair.store(1)
        for number in range(2, 9):
            pair.both(number)
        found = {(each.tier, each.kind, each.positions) for each in pair.compare().disagreements}
        assert found == {("cpu", Differs.PEER_ONLY, "0")}

    def test_mooncake(self, tmp_path: Path) -> None:
        """A store whose events have no tokens, and no GPU, is compared in its own tier alone."""
        pair = Pair(tmp_path)
        pair.engine(0, hot(), host(*HASHES))
        maps = [{"event_type": "BlockStored", "seq_hashes": HASHES, "medium": "cpu"}]
        pair.feed(captured(message(0, *maps), "store"))
        pair.feed(captured(message(1, *[{**maps[0], "event_type": "BlockRemoved"}]), "store"))
        for number in range(2, 10):
            pair.feed(captured(message(number), "store"))
            pair.engine(number - 1, time_s=number)
        result = pair.compare()
        assert [(e.tier, e.kind, e.positions) for e in result.disagreements] == [
            ("cpu", Differs.FIRST_ONLY, "0-2")
        ]
        assert result.not_compared == {"gpu": "the peer states no blocks in it"}

    def test_unreachable(self, tmp_path: Path) -> None:
        """A block that no hit reaches, since one before it is gone, need not be stated."""
        pair = Pair(tmp_path)
        pair.both(0, hot())
        pair.engine(1, removed(HASHES[0]))
        pair.store(1, removed(*HASHES))
        for number in range(2, 9):
            pair.both(number)
        assert pair.compare().outcome is Outcome.AGREE
        pair.both(9, stored(HASHES[0], token_ids=HOT[:4], block_size=4, extra_keys=[None]))
        pair.both(10)
        assert pair.compare().outcome is Outcome.INCONCLUSIVE  # the peer may only be late
        for number in range(11, 17):
            pair.both(number)
        (found,) = pair.compare().disagreements
        assert (found.kind, found.positions, found.batch) == (Differs.FIRST_ONLY, "1-2", 9)
        assert found.since_ns == 9 * 10**9

    def test_restarted(self, tmp_path: Path) -> None:
        """The engine was started again, so it holds none of the blocks that the peer still
        states, also where it hashes with another seed now.
        """
        pair = Pair(tmp_path)
        pair.both(0, hot())
        pair.engine(0, time_s=10)
        for number in range(1, 20):
            pair.store(number)
        pair.engine(1, time_s=19)
        (found,) = pair.compare().disagreements
        assert (found.kind, found.positions, found.since_ns) == (Differs.PEER_ONLY, "0-2", 10**10)

    def test_unknown_engine(self, tmp_path: Path) -> None:
        """Where it is not known that the first observer is an engine, none is called right."""
        pair = Pair(tmp_path)
        event: list[Any] = ["BlockStored", HASHES, None, HOT, 4, None, "GPU", None, [None] * 3]
        batches: list[list[Any]] = [[event], [["BlockRemoved", HASHES[2:], "GPU"]], []]
        for number, events in enumerate(batches):
            pair.session.take(captured(message(number, *events), "engine"))
        pair.session.take(line(3, [], 20))
        pair.store(0, hot())
        pair.store(1, time_s=20)
        result = pair.compare()
        assert (result.outcome, result.is_first_engine) == (Outcome.DISAGREE, False)

    def test_over(self, tmp_path: Path) -> None:
        """The end of a disagreement is stated, and counted."""
        pair = Pair(tmp_path)
        pair.both(0, hot())
        pair.engine(1, removed(HASHES[2]))
        pair.store(1)
        for number in range(2, 9):
            pair.both(number)
        assert pair.compare().outcome is Outcome.DISAGREE
        pair.store(9, removed(HASHES[2]))
        result = pair.compare()
        assert (result.outcome, result.ended) == (Outcome.AGREE, 1)
        assert pair.changes == [("hot", ""), ("hot", "they do not differ any more")]


class TestLag:
    def test_not_yet(self, tmp_path: Path) -> None:
        """What differs for less than the lag is inconclusive, whichever observer is late."""
        pair = Pair(tmp_path)
        pair.both(0, hot())
        pair.engine(1, removed(HASHES[2]), time_s=10)
        pair.engine(2, time_s=100)
        pair.store(1, time_s=14)
        result = pair.compare()
        assert (result.outcome, result.disagreements) == (Outcome.INCONCLUSIVE, [])
        assert result.why == "1 block differs for less than 5 s, which may be lag"
        pair.store(2, time_s=15)
        assert pair.compare().outcome is Outcome.DISAGREE

    def test_ahead(self, tmp_path: Path) -> None:
        """A peer that was read further than the engine is compared once the engine is there."""
        pair = Pair(tmp_path)
        pair.both(0, hot())
        pair.store(1, removed(HASHES[2]), time_s=50)
        pair.store(2, time_s=100)
        pair.engine(1, time_s=40)
        assert pair.compare().outcome is Outcome.INCONCLUSIVE
        pair.engine(2, removed(HASHES[2]), time_s=50)
        pair.engine(3, time_s=100)
        assert pair.compare().outcome is Outcome.AGREE

    def test_quiet(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Sockets that are silent have said all; a file may go on."""
        for live in (False, True):
            pair = Pair(tmp_path, live=live)
            pair.both(0, hot())
            pair.engine(1, removed(HASHES[2]))
            pair.store(1)
            assert pair.compare().outcome is Outcome.INCONCLUSIVE
            with monkeypatch.context() as patch:
                patch.setattr(peers, "_QUIET_S", -1.0)
                outcome = pair.compare().outcome
            assert outcome is (Outcome.DISAGREE if live else Outcome.INCONCLUSIVE)


class TestUnknown:
    """Where one observer does not state it, no block is compared, and the reason is given."""

    def test_tier(self, tmp_path: Path) -> None:
        """A tier in which only one of them ever stated blocks is not compared."""
        pair = Pair(tmp_path)
        pair.engine(0, hot(), host(*HASHES))
        pair.store(0, hot(), stored("d" * 16, medium="DISK"))
        result = pair.compare()
        assert result.outcome is Outcome.AGREE
        assert result.not_compared == {
            "cpu": "the peer states no blocks in it",
            "disk": "the first observer states no blocks in it",
        }

    @pytest.mark.parametrize("late", ["engine", "peer"])
    def test_gap(self, late: str, tmp_path: Path) -> None:
        """After a gap of either one a block is not compared until it is known again."""
        pair = Pair(tmp_path)
        pair.both(0, hot())
        (pair.engine if late == "engine" else pair.store)(7)
        (pair.store if late == "engine" else pair.engine)(1, removed(*HASHES))
        for number in range(8, 20):
            (pair.engine if late == "engine" else pair.store)(number)
            (pair.store if late == "engine" else pair.engine)(number - 6, time_s=number)
        result = pair.compare()
        assert (result.outcome, result.disagreements) == (Outcome.INCONCLUSIVE, [])

    def test_copies(self, tmp_path: Path) -> None:
        """A block of which one of two copies was removed may be held."""
        pair = Pair(tmp_path)
        pair.both(0, hot())
        pair.engine(1, hot())
        pair.engine(2, removed(HASHES[1]))
        pair.store(1, removed(HASHES[1]))
        for number in range(3, 9):
            pair.engine(number)
            pair.store(number - 1, time_s=number)
        result = pair.compare()
        assert (result.outcome, result.compared) == (Outcome.AGREE, {"gpu": 2})

    def test_other_hashes(self, tmp_path: Path) -> None:
        """A peer that names blocks in another way is not accused of not knowing them."""
        pair = Pair(tmp_path)
        pair.engine(0, hot())
        pair.store(0, stored("f" * 16, token_ids=HOT[:4], block_size=4))
        result = pair.compare()
        assert (result.outcome, result.disagreements) == (Outcome.INCONCLUSIVE, [])
        assert result.why == "no hash that it states is known of a registered prefix"

    def test_groups(self, tmp_path: Path) -> None:
        """Engines with several groups of caches are not compared."""
        pair = Pair(tmp_path)
        pair.both(0, hot())
        pair.both(1, stored("a" * 16, group_idx=1, kv_cache_spec_kind="full_attention"))
        assert "several groups" in pair.compare().why

    def test_several_streams(self, tmp_path: Path) -> None:
        """A peer of several streams does not say which one is the engine's."""
        pair = Pair(tmp_path)
        pair.both(0, hot())
        pair.feed(captured(message(0), "other"))
        assert pair.compare().why == "it has several streams"

    def test_large(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A peer that states too many blocks is forgotten, and not accused."""
        monkeypatch.setattr(peers, "MOST_BLOCKS", 2)
        pair = Pair(tmp_path)
        pair.both(0, hot())
        pair.both(1)
        assert pair.compare().outcome is Outcome.INCONCLUSIVE


@pytest.mark.parametrize("late_s", [0.0, 4.9])
@pytest.mark.parametrize("seed", range(40))
def test_identical(
    seed: int, late_s: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two observers of the same events never disagree, whichever is read first, misses batches or
    states them up to the lag later, and whatever happens in the engine.
    """
    if not late_s:
        monkeypatch.setattr(compare, "_LAG_NS", 0)
    rng, engine = random.Random(seed), Engine(6 + seed % 9, seed)
    pair, number = Pair(tmp_path, CLAIMS), -1
    ours, theirs = list[bytes](), list[bytes]()
    for time in range(120):
        if rng.random() < 0.02:
            engine, number = Engine(6 + seed % 9, seed + time % 2), -1
        step(engine, rng, clear=False)
        number += 1
        events = engine.batches[-1]
        if events and rng.random() < 0.3:
            events = [*events, *({**e, "medium": "CPU"} for e in events if "medium" in e)]
        each = [line(number, events, time + s) for s in (0.0, rng.uniform(0, late_s))]
        ours.append(each.pop(rng.randrange(2) if seed % 2 else 0))
        theirs += each
    misses = rng.choice([0.0, 0.03])
    feeds, lines = [pair.session.take, pair.feed], [ours, theirs]
    places, compared = [0, 0], 0
    while places != [len(ours)] * 2:
        which = rng.randrange(2)
        until = places[which] + rng.randrange(8)
        for text in lines[which][places[which] : until]:
            if rng.random() >= misses:
                feeds[which](text)
            places[which] += 1
        if pair.session.joins:
            result = pair.compare()
            assert result.disagreements == []
            compared += sum(result.compared.values())
    assert compared > 0


@pytest.mark.parametrize("seed", range(40))
def test_true(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is stated of an observer that loses events is true at a time that both have reached, and
    at the end each block on which they differ was found.
    """
    monkeypatch.setattr(compare, "_LAG_NS", 0)
    rng, engine = random.Random(seed), Engine(6 + seed % 9, seed)
    pair, ours, theirs = Pair(tmp_path, CLAIMS), list[bytes](), list[bytes]()
    held: list[tuple[set[str], set[str]]] = []
    now: tuple[set[str], set[str]] = (set(), set())
    for time in range(120):
        step(engine, rng, clear=True)
        kept = [each for each in engine.batches[-1] if rng.random() < 0.8]
        now = blocks_after(now[0], engine.batches[-1]), blocks_after(now[1], kept)
        held.append(now)
        ours.append(line(time, engine.batches[-1], time))
        theirs.append(line(time, kept, time))
    feeds, lines, places = [pair.session.take, pair.feed], [ours, theirs], [0, 0]
    while places != [len(ours)] * 2:
        which = rng.randrange(2)
        until = places[which] + rng.randrange(8)
        for text in lines[which][places[which] : until]:
            feeds[which](text)
            places[which] += 1
        if 0 not in places:
            first, second = held[min(places) - 1]
            assert stated(pair) <= {key: key in first for key in first ^ second}.items()
    view = pair.peer.view("engine", 4, alone=True)
    assert not isinstance(view, str)
    first, second = held[-1]
    differ = {
        key
        for key in (first ^ second) & {*map(str, pair.session.join.prefixes.nodes)}
        if view.has("gpu", key) is not None  # one of several copies may be left
        and (key in second or reaches(pair, key))
    }
    assert stated(pair) == {(key, key in first) for key in differ}


def blocks_after(held: set[str], events: list[dict[str, Any]]) -> set[str]:
    """What is held after events, each of which stores or removes what is not doubled."""
    for each in events:
        hashes = {*each.get("block_hashes", ())}
        if each["type"] == "AllBlocksCleared":
            held = set()
        else:
            held = held | hashes if each["type"] == "BlockStored" else held - hashes
    return held


def stated(pair: Pair) -> set[tuple[str, bool]]:
    """The keys on which observers are said to differ, and whether the first one has them."""
    found, join = set(), pair.session.join
    keys = {node: key for key, node in join.prefixes.nodes.items()}
    for each in pair.compare().disagreements:
        path = join._paths[each.claim_id]
        for part in each.positions.split(", "):
            begin, _, end = part.partition("-")
            places = range(int(begin), int(end or begin) + 1)
            found |= {(str(keys[path[at]]), each.kind is Differs.FIRST_ONLY) for at in places}
    return found


def reaches(pair: Pair, key: str) -> bool:
    """Whether a hit of some claim finds the block of a key."""
    join = pair.session.join
    node = join.prefixes.nodes.get(key)
    return node is not None and any(
        node.position < (join.leading(join.standings[name]) or 0) for name in node.claims
    )
