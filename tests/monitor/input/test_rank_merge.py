"""Ranks that are merged while they are written come to what a check of their files does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.check.events import EventMonitor
from monitor.check.files import check
from monitor.input import rank_order
from monitor.input.engines import engines_in
from monitor.input.given import record_of_line
from monitor.input.merged import Merged
from monitor.input.rank_merge import RankMerge
from monitor.input.records import Record
from monitor.report.verdict import Report
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.events.canonical import EVENT_ENCODER
from spec.language.errors import SpecError
from tests.monitor.input.test_merged import (
    ENGINE,
    HARD,
    STREAMS,
    Line,
    allowed,
    claim,
    never_more,
    split,
    timed,
    told,
)
from tests.streams.strategies import Stamped, asking, streams

MANY = 1_000_000
NAME = "ranks:engine-0"


def records(rank: int, content: bytes) -> list[Record]:
    """The lines of a rank."""
    return [
        record_of_line(line, f"rank{rank}", number)
        for number, line in enumerate(content.splitlines(), 1)
    ]


def ranks_of(lines: list[Line], owners: list[int], ranks: int = 2) -> list[list[Record]]:
    """The lines by their ranks."""
    own: list[list[Line]] = [[] for _ in range(ranks)]
    for line, owner in zip(lines, owners, strict=True):
        own[owner].append(line)
    return [records(rank, told(each, rank, ranks)) for rank, each in enumerate(own)]


def interleaved(chance: Random, ranks: Sequence[Sequence[Record]]) -> list[tuple[int, Record]]:
    """The lines as they may come: those of each rank in order."""
    order = [rank for rank, each in enumerate(ranks) for _ in each]
    chance.shuffle(order)
    left = [iter(each) for each in ranks]
    return [(rank, next(left[rank])) for rank in order]


def merge(ranks: int = 2, lines: int = MANY) -> RankMerge:
    return RankMerge(ENGINE, NAME, ranks, lines)


def merged(
    each: RankMerge,
    coming: Sequence[tuple[int, Record]],
    at: Callable[[int, RankMerge], RankMerge] = lambda _, merge: merge,
) -> list[Record]:
    """What is passed on of these lines.

    Args:
        at: what becomes of the merge before each line.
    """
    passed: list[Record] = []
    for number, (rank, record) in enumerate(coming):
        each = at(number, each)
        passed += each.take(rank, record)
    return [*passed, *each.end()]


def said(record: Record) -> tuple[object, ...]:
    """What a record says, but for where it was read."""
    stamp = record.stamp
    doubts = sorted((doubt.why, doubt.claim_id or "") for doubt in record.doubts)
    place = (stamp.stream, stamp.sequence, stamp.time_ns, stamp.mark, stamp.observes)
    return (
        *place,
        [EVENT_ENCODER.encode(event) for event, _ in record.events],
        doubts,
        record.lost,
    )


def judged(passed: Sequence[Record], mode: Mode | None = None) -> Report:
    """What these records come to."""
    monitor = EventMonitor(mode, name=NAME)
    for record in passed:
        monitor.take(record)
    return monitor.finish()


class TestAsACheck:
    @settings(max_examples=40)
    @given(
        st.sampled_from(sorted(STREAMS)),
        st.integers(1, 5),
        st.integers(2, 4),
        st.randoms(),
        st.lists(st.integers(0, 700), max_size=3),
    )
    def test_however_they_come(
        self, name: str, each: int, ranks: int, chance: Random, cuts: list[int]
    ) -> None:
        """Each line is what the merged files have in its place, also where some state one time;
        and the same where a snapshot is restored.
        """
        lines = timed(STREAMS[name][:120], each)
        owners = [chance.randrange(ranks) for _ in lines]
        with TemporaryDirectory() as folder:
            paths = split(Path(folder), lines, owners, ranks)
            due = list(Merged(paths, engines_in(paths)))
        coming = interleaved(chance, ranks_of(lines, owners, ranks))

        def cut(number: int, one: RankMerge) -> RankMerge:
            if number not in cuts:
                return one
            other = merge(ranks)
            other.restore(one.snapshot())
            assert (one.held, one.watermark) == (other.held, other.watermark)
            return other

        assert [*map(said, due)] == [*map(said, merged(merge(ranks), coming, cut))]

    @settings(max_examples=40)
    @given(st.data(), st.randoms())
    def test_losses(self, data: st.DataObject, chance: Random) -> None:
        """So is each where lines of ranks are missing."""
        lines = timed(STREAMS["some violated"][:60], data.draw(st.integers(1, 3)))
        owners = [chance.randrange(2) for _ in lines]
        with TemporaryDirectory() as folder:
            paths = split(Path(folder), lines, owners)
            kept = []
            for path in map(Path, paths):
                first, *rest = path.read_bytes().splitlines(keepends=True)
                gone = data.draw(st.sets(st.integers(0, len(rest) - 1), max_size=3))
                left = [line for number, line in enumerate(rest) if number not in gone]
                path.write_bytes(b"".join([first, *left]))
                kept.append(records(len(kept), path.read_bytes()))
            due = list(Merged(paths, engines_in(paths)))
        assert [*map(said, due)] == [*map(said, merged(merge(), interleaved(chance, kept)))]

    def test_too_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """More lines of one time than are compared have no order."""
        monkeypatch.setattr(rank_order, "TIED", 3)
        lines = [line | {"time_ns": 5} for line in claim("a", 0, 0)]
        for owners, due in (([0] * 5, "kept"), ([0] * 4 + [1], "inconclusive")):
            coming = interleaved(Random(1), ranks_of(lines, owners))
            assert due == judged(merged(merge(), coming), HARD).verdict


class TestBehind:
    @settings(max_examples=80)
    @given(
        streams(),
        st.sampled_from(list(Mode)),
        st.integers(1, 3),
        st.integers(2, 3),
        st.randoms(),
        st.sampled_from([1, 3, 10, MANY]),
    )
    def test_never_more(
        self,
        events: list[Stamped],
        mode: Mode,
        each: int,
        ranks: int,
        chance: Random,
        most: int,
    ) -> None:
        """Where ranks are overtaken at any time, or by number, nothing is concluded that is not so
        in the true order; the watermark never falls, and no more is held than was asked for.
        """
        lines = timed(allowed([event for _, event in asking(events, mode)]), each)
        owners = [chance.randrange(ranks) for _ in lines]
        with TemporaryDirectory() as folder:
            one = Path(folder) / "one.jsonl"
            one.write_bytes(told(lines))
            truth = check([str(one)], mode, Bundle.CONTRACT)
        passed: list[Record] = []
        merging, marks = merge(ranks, most), list[int]()
        for rank, record in interleaved(chance, ranks_of(lines, owners, ranks)):
            for behind in merging.blocking():
                if chance.random() < 0.1:
                    passed += merging.overtake(behind, "silent")
            passed += merging.take(rank, record)
            marks.append(merging.watermark)
            assert merging.held <= most
        passed += merging.end()
        assert marks == sorted(marks)
        parts = judged(passed, mode)
        never_more(truth, parts)

    both = (*claim("a", 0, 10), *claim("b", 10, 20))

    def verdicts(self, passed: Sequence[Record]) -> dict[str, str]:
        return {each.claim_id: str(each.verdict) for each in judged(passed, HARD).claims}

    def test_what_lives_meanwhile(self) -> None:
        """A claim that ended before a rank fell behind is kept, though the rank comes back late;
        one that lives while it is behind is not, nor one that begins afterwards: nothing is known
        of the pool then.
        """
        zero = [*claim("a", 0, 10), *ended(30, "a"), *claim("b", 10, 50), *ended(60, "b")]
        zero += claim("c", 20, 90)
        one = [evicted(99, 5), evicted(98, 40), evicted(97, 57), evicted(96, 80)]
        ranks = ranks_of([*zero, *one], [0] * len(zero) + [1] * len(one))
        on_time = interleaved(Random(2), ranks)
        assert {"a": "kept", "b": "kept", "c": "kept"} == self.verdicts(merged(merge(), on_time))
        merging, passed = merge(), list[Record]()
        for record in ranks[1][:3]:  # to the time 40
            passed += merging.take(1, record)
        for record in ranks[0][:15]:  # to the end of b
            passed += merging.take(0, record)
        assert [1] == merging.blocking()
        passed += merging.overtake(1, "silent")
        for record in ranks[1][3:]:
            passed += merging.take(1, record)
        for record in ranks[0][15:]:
            passed += merging.take(0, record)
        passed += merging.end()
        assert 1 == merging.late
        assert {"a": "kept", "b": "inconclusive", "c": "inconclusive"} == self.verdicts(passed)

    def test_late(self) -> None:
        """Nothing is concluded of a claim that a late line names, whenever it comes."""
        one = [{"kind": "claim_materialized", "claim_id": "b", "time_ns": 5}]
        ranks = ranks_of([*claim("a", 0, 10), *one], [0] * 5 + [1])
        merging, passed = merge(), list[Record]()
        passed += merging.take(1, ranks[1][0])
        for record in ranks[0][:4]:
            passed += merging.take(0, record)
        for rank in merging.blocking():
            passed += merging.overtake(rank, "silent")
        passed += merging.take(1, ranks[1][1])
        assert 1 == merging.late
        passed += merging.take(0, ranks[0][4])
        assert "b" in {doubt.claim_id for record in passed for doubt in record.doubts}

    def test_comes_too_late_to_be_known(self) -> None:
        """A rank that is first heard of when the others have gone on may observe less."""
        ranks = ranks_of(list(self.both), [0] * len(self.both))
        stamp = msgspec.structs.replace(ranks[1][0].stamp, observes=frozenset())
        ranks[1][0] = msgspec.structs.replace(ranks[1][0], stamp=stamp)
        merging, passed = merge(), list[Record]()
        for record in ranks[0][:9]:
            passed += merging.take(0, record)
        assert ([1], [1]) == (merging.blocking(), merging.missing)
        passed += merging.overtake(1, "silent")
        passed += merging.take(1, ranks[1][0])
        assert frozenset() in [record.stamp.observes for record in [*passed, *merging.end()]]

    def test_known_late(self) -> None:
        """That a rank comes late does not say that nothing of it is missing until its next line."""
        zero = [evicted(9, 1), evicted(8, 2), evicted(7, 3), *claim("a", 0, 10), *ended(30, "a")]
        ranks = ranks_of([*zero, evicted(6, 50)], [0] * (len(zero) + 1))
        merging, passed = merge(), list[Record]()
        for record in ranks[0][:4]:
            passed += merging.take(0, record)
        passed += merging.overtake(1, "silent")
        passed += merging.take(1, ranks[1][0])
        for record in ranks[0][4:-1]:
            passed += merging.take(0, record)
        assert (0, {"a": "inconclusive"}) == (merging.late, self.verdicts(passed))

    def test_behind_its_end(self) -> None:
        """A late line of a rank that was closed leaves the claims that live inconclusive, though it
        names none.
        """
        ranks = ranks_of(list(self.both), [0] * len(self.both))
        more = evicted(9, 12) | {"stream": ENGINE, "sequence": 2}
        merging, passed = merge(), list[Record]()
        for record in ranks[1]:
            passed += merging.take(1, record)
        for record in ranks[0][:-1]:
            passed += merging.take(0, record)
        (late,) = records(1, msgspec.json.encode(more))
        passed += merging.take(1, late)
        passed += merging.take(0, ranks[0][-1])
        passed += merging.end()
        assert 1 == merging.late
        assert {"a": "inconclusive", "b": "inconclusive"} == self.verdicts(passed)

    def test_at_the_watermark(self) -> None:
        """A line of the time of the watermark is late: others of that time have been passed on."""
        ranks = ranks_of([*self.both, evicted(9, 14)], [0] * 10 + [1])
        merging = merge()
        list(merging.take(1, ranks[1][0]))
        for record in ranks[0][:7]:  # to the time 20
            list(merging.take(0, record))
        list(merging.overtake(1, "silent"))
        assert (14, 0) == (merging.watermark, merging.late)
        list(merging.take(1, ranks[1][1]))
        assert 1 == merging.late

    def test_over(self) -> None:
        """A rank that ended, and says late what it observes, holds nobody back."""
        ranks = ranks_of([*self.both, evicted(9, 12)], [0] * 10 + [1])
        merging = merge()
        for record in ranks[1][:2]:
            list(merging.take(1, record))
        list(merging.end_of(1))
        for record in ranks[0][:8]:
            list(merging.take(0, record))
        again = {"kind": "stream_opened", "stream": ENGINE, "sequence": 2, "observes": []}
        (mark,) = records(1, msgspec.json.encode(again | {"rank": 1, "ranks": 2, "time_ns": 13}))
        list(merging.take(1, mark))
        list(merging.take(0, ranks[0][8]))
        assert ([], 21) == (merging.blocking(), merging.watermark)

    def test_silence(self) -> None:
        """How far a rank is behind is counted by the times of the others, from its last line, or
        from the first line of all.
        """
        ranks = ranks_of([*self.both, evicted(9, 12)], [0] * 10 + [1])
        merging = merge()
        for record in ranks[0][:6]:
            list(merging.take(0, record))
        assert (14 - 10, 0) == (merging.silence(1), merging.silence(0))
        for record in ranks[1][:2]:
            list(merging.take(1, record))
        assert 14 - 12 == merging.silence(1)


def evicted(block: int, time: int) -> Line:
    return {"kind": "block_evicted", "block_ids": [block], "time_ns": time}


def ended(time: int, name: str) -> list[Line]:
    """The owner ends a claim."""
    return [
        {"kind": "claim_retired", "claim_id": name, "by": "o", "time_ns": time},
        {"kind": "claim_released", "claim_id": name, "by": "o", "time_ns": time + 1},
    ]


class TestRuns:
    """An engine that is started again opens its ranks again."""

    def both(self, first: Sequence[Line], second: Sequence[Line]) -> list[list[Record]]:
        found = []
        for rank in range(2):
            runs = (list(each) if rank == 0 else [] for each in (first, second))
            found.append(records(rank, b"".join(told(each, rank) for each in runs)))
        return found

    @pytest.mark.parametrize("time", [3_000, 10])
    def test_whole(self, time: int) -> None:
        """After a run of which all ranks were closed nothing is missing, whatever the clock."""
        first = [*claim("a", 0, 2_000), *ended(2_100, "a")]
        ranks = self.both(first, claim("b", 10, time))
        half = [len(each) // 2 if rank else len(first) + 2 for rank, each in enumerate(ranks)]
        coming = [(n, r) for n, each in enumerate(ranks) for r in each[: half[n]]]
        coming += [(n, r) for n, each in enumerate(ranks) for r in each[half[n] :]]
        report = judged(merged(merge(), coming), HARD)
        assert {"a": "kept", "b": "kept"} == {c.claim_id: c.verdict for c in report.claims}

    @pytest.mark.parametrize("time", [2_000, 100])
    def test_cut(self, time: int) -> None:
        """After one that was killed the claims that lived are inconclusive, and new ones are
        judged, also where the clock went back; no line runs backwards.
        """
        first = claim("a", 0, 1_000)
        ranks = self.both(first, claim("b", 10, time))
        ranks = [[r for r in each if r.stamp.mark != "stream_closed"] for each in ranks]
        closed = [records(n, told([], n))[-1:] for n in range(2)]
        opened = [1 + len(first), 1]
        coming = [(n, r) for n, each in enumerate(ranks) for r in each[: opened[n]]]
        coming += [(n, r) for n, each in enumerate(ranks) for r in each[opened[n] :]]
        coming += [(n, r) for n, each in enumerate(closed) for r in each]
        report = judged(merged(merge(), coming), HARD)
        verdicts = {c.claim_id: str(c.verdict) for c in report.claims}
        assert "inconclusive" == verdicts["a"]
        assert "violated" not in verdicts.values()


class TestRestore:
    def test_no_state(self) -> None:
        """What is no snapshot, or one of another engine, is refused."""
        with pytest.raises(SpecError, match="cannot be read"):
            merge().restore(b"\x00")
        with pytest.raises(SpecError, match="another number"):
            merge().restore(merge(3).snapshot())
