"""The native judge agrees with `spec.stream` after every event."""

from __future__ import annotations

import time
from collections import Counter
from itertools import islice
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor import native
from monitor.native import CoreError
from monitor.native.judge import NativeJudge
from spec.claims.states import Mode
from spec.events.canonical import Event, StreamMark, as_jsonl
from spec.stream.breaks import Limits, line_of
from spec.stream.codes import Code
from spec.stream.pool import Group
from tests.golden.traces import of_files
from tests.native.differential import (
    USUAL,
    Judged,
    compared,
    differs,
    lines_of,
    native_of,
    read,
)
from tests.native.mutated import canonical, mutated
from tests.native.run import run
from tests.spec.stream.streams import claim, ended, event, mark, numbered, of
from tests.spec.stream.test_pool import GROUPS
from tests.streams.traffic import Traffic, as_events

COUNT = 45
"""Random streams of the fast part; `python -m tests.native.run 200000` compares more."""


def test_random_streams() -> None:
    """Both judges agree on random streams, and accuse no honest one."""
    assert run(COUNT) == Counter(agree=COUNT, honest=COUNT // 3)


@pytest.mark.parametrize("seed", [20_939, 301_662, 900_139, 900_311])
def test_differed(seed: int) -> None:
    """Both judges agree on a stream on which they did not, and on one that both accused."""
    assert 1 == run(1, seed)["agree"]


def test_traces() -> None:
    """Both judges agree on every ninetieth trace that has a verdict."""
    for case in canonical()[::90]:
        assert differs(case.lines, case.mode) is None, case.key


@pytest.mark.deep
def test_all_traces() -> None:
    """Both judges agree on all traces that have a verdict."""
    for case in canonical():
        assert differs(case.lines, case.mode) is None, case.key


def test_files() -> None:
    """Both judges agree on the traces that lie in files, read in Python first."""
    for case in [*of_files()][::60]:
        assert differs(case.lines, case.mode, packed=True) is None, case.key


def test_offloads() -> None:
    """Both judges agree on offloads that end responsibility."""
    found = [case for case in of_files() if case.key.startswith("edges/offloaded")]
    assert len(found) == 16
    for case in found:
        assert differs(case.lines, case.mode) is None, case.key


@given(GROUPS, st.integers(1, 7), st.data())
def test_groups(groups: dict[int, Group], end: int, data: st.DataObject) -> None:
    """Both judges agree on what a hit needs of several groups of caches, whatever is there, and on
    whether the footprint is enough for it."""
    rows = [(number, each.kind, each.window, each.span) for number, each in groups.items()]
    keys = tuple(f"k{at}" for at in range(end))
    places = st.sampled_from([(number, at) for number in groups for at in range(end)])
    lines: list[Event | StreamMark] = [mark("stream_opened", groups=rows)]
    needed = sum(len(each.needs(0, end)) for each in groups.values())
    footprint = max(0, needed - data.draw(st.sampled_from([0, 0, 0, 1])))
    lines += claim(mode="best_effort", blocks=end, keys=keys, footprint=footprint)
    for group, at in data.draw(st.lists(places, unique=True)):
        stored = {"keys": keys[at : at + 1], "group": group, "cache_identity": "cache"}
        lines.append(event("block_cached", block_ids=(len(lines),), **stored))
    lines.append(event("claim_materialized", claim_id="a"))
    held, asked = data.draw(st.tuples(st.integers(0, end), st.integers(0, end)))
    lines.append(event("request_arrived", request_id="r", needed=1, usable=9))
    lines.append(event("prefix_lookup", claim_id="a", request_id="r", held=held, asked=asked))
    agreed(lines)


@pytest.mark.parametrize("kind", ["stream_opened", "stream_restated"])
@pytest.mark.parametrize("place", range(9))
def test_groups_late(kind: str, place: int) -> None:
    """Both judges agree on groups that are stated after so many events."""
    lines: list[Event | StreamMark] = [
        *claim(keys=("k0", "k1"), footprint=3),
        event("block_cached", claim_id="a", block_ids=(1, 2), positions=(0, 1)),
        event("claim_materialized", claim_id="a"),
        event("claim_unmaterialized", claim_id="a"),
        event("block_evicted", block_ids=(1, 2)),
    ]
    lines.insert(place, mark(kind, groups=((0, "full"), (1, "window", 1))))
    agreed(lines)


@pytest.mark.parametrize("seed", [0, 1, 2, 5])
def test_snapshot(seed: int) -> None:
    """State that is saved anywhere and loaded elsewhere gives the same outcomes."""
    _, text, mode = mutated(seed)
    streams, first = Judged(mode), native_of(mode)
    for place, (number, line) in enumerate(lines_of(text)):
        if (given := read(line, number)) is None:
            continue
        if place % 3 == 1:
            second = native_of(mode)
            second.load(first.save())
            first = second
        first.take(line_of(given, number), (number, given.sequence), given.stream)
        streams[given.stream].take(line_of(given, number))
        assert compared(streams, first, number) is None


def agreed(lines: list[Event | StreamMark], limits: Limits = USUAL) -> Judged:
    """The streams of these lines, on which both judges agree after each."""
    streams, judge = Judged(None, limits), native_of(None, limits)
    for number, line in enumerate(numbered(lines), 1):
        judge.take(line, (number, line.sequence))
        streams[""].take(line)
        assert compared(streams, judge, number) is None
    return streams


def test_ids_again() -> None:
    """An id that ends twice takes the place of one id among those that are remembered."""
    lines: list[Event | StreamMark] = []
    for name in "bacacb":
        lines += [*claim(name), *ended(name)]
    findings = of(agreed(lines, Limits(ended=1, ids=3))[""].judge, "b").findings.values()
    assert {Code.ID_REUSED} == {each.reason.code for each in findings if each.reason}


@pytest.mark.parametrize("held", [2**10, 2**20 + 1, 2**31, 2**53])
def test_large_loads(held: int) -> None:
    """Both judges refuse a load of which the number alone is stated, and is very large."""
    lines: list[Event | StreamMark] = [
        *claim(mode="offloadable", footprint=2**40),
        event("load_finished", claim_id="a", request_id="r", held=held),
    ]
    (found,) = agreed(lines)[""].judge.breaks
    large = held > 2**20
    assert (Code.UNCLEAR_AMOUNT if large else Code.COPY_NOT_THERE) is found.code


def test_large_predicates() -> None:
    """A claim of as many blocks as may be stated takes both judges no longer than a small one."""
    began = time.process_time()
    agreed([*claim(mode="offloadable", blocks=2**31 - 1, keys=("k0", "k1"))])
    assert time.process_time() - began < 10


def _spent(blocks: list[int]) -> float:
    """Seconds of processor time in which the core takes a stream that caches these blocks."""
    lines: list[Event | StreamMark] = [
        event("block_cached", block_ids=(block,), keys=(f"k{block}",), sequence=at)
        for at, block in enumerate(blocks)
    ]
    text, judge = as_jsonl(lines), native_of(None)
    began = time.process_time()
    judge.feed(text, 1)
    return time.process_time() - began


def test_numbers_that_collide() -> None:
    """Numbers of blocks that a product of fixed factors puts near each other cost no more."""
    count, slots = 8_000, 1 << 14
    products = ((n, (n | 1 << 31) * 0x517C_C1B7_2722_0A95 % 2**64) for n in range(10**9))
    near = (n for n, product in products if (product ^ product >> 29) % slots < 64)
    chosen = [*islice(near, count)]
    assert min(_spent(chosen) for _ in range(3)) < 4 * _spent([*range(count)])


def enlarged(given: Event | StreamMark) -> Event | StreamMark:
    """An event with a million times as many blocks; a mark as it is."""
    if not isinstance(given, Event):
        return given
    stated = {name: getattr(given, name) for name in ("needed", "usable", "footprint")}
    large = {name: value << 20 for name, value in stated.items() if value is not None}
    return msgspec.convert({**msgspec.structs.asdict(given), **large}, Event)


@pytest.mark.parametrize("seed", [0, 1, 2, 5])
def test_large_numbers(seed: int) -> None:
    """Both judges agree where numbers of lines and of blocks outgrow the small form of the core."""
    _, text, mode = mutated(seed)
    streams, judge = Judged(mode), native_of(mode)
    for place, (number, line) in enumerate(lines_of(text), 2**32 - 20):
        if (given := read(line, number)) is None:
            continue
        large = enlarged(given)
        if place % 3 == 1:
            state, judge = judge.save(), native_of(mode)
            judge.load(state)
        judge.take(line_of(large, place), (place, large.sequence), large.stream)
        streams[large.stream].take(line_of(large, place))
        assert compared(streams, judge, place) is None


def test_damaged_state() -> None:
    """State that is cut short, or made for something else, is refused and not taken."""
    judge = NativeJudge()
    judge.feed(as_jsonl(as_events(Traffic(200, 4, tuple(Mode)))))
    state = judge.save()
    for cut in range(0, len(state), len(state) // 12):
        with pytest.raises(CoreError):
            NativeJudge().load(state[:cut])


def test_streams() -> None:
    """Lines of several streams have a judge each."""
    lines = as_jsonl(as_events(Traffic(400, 4, (Mode.HARD_PROTECTED,))))
    judge = NativeJudge()
    for name in ("engine-0", "engine-1"):
        for number, line in lines_of(lines):
            if isinstance(given := read(line, number), Event):
                judge.take(line_of(given, number), (number, given.sequence), name)
    one, other = judge.found(lambda line, sequence: line)
    assert ("engine-0", "engine-1") == (one.name, other.name)
    assert one.claims
    assert [c.verdict for c in one.claims] == [c.verdict for c in other.claims]


@pytest.mark.parametrize(
    ("why", "verdict"),
    [({}, "kept"), ({"lost": "reset"}, "inconclusive"), ({"unread": "reset"}, "inconclusive")],
)
def test_lines_lost_between_runs(why: dict[str, str], verdict: str) -> None:
    """A run that was closed ends with it only where no line may be missing after its end."""
    opened, closed = mark("stream_opened"), mark("stream_closed")
    streams, judge = Judged(None), native_of(None)
    lines = zip([*claim(), closed, opened, closed], [0, 1, 2, 3, 0, 1], strict=True)
    for number, (each, sequence) in enumerate(lines, 1):
        stated: dict[str, Any] = why if each is opened else {}
        line = line_of(each, number)._replace(sequence=sequence, **stated)
        judge.take(line, (number, sequence))
        streams[""].take(line)
        assert compared(streams, judge, number) is None
    assert [verdict] == [each.verdict for each in judge.found(lambda *at: at)[0].claims]


def test_refused_line() -> None:
    """A line that is no canonical event stops the reading, and is not taken."""
    judge, first = NativeJudge(), b'\n{"kind":"claim_rejected","claim_id":"a"}\n'
    assert (len(first), 2) == judge.feed(first + b'{"event":"x"}\n{}\n')
    assert (0, 0) == judge.feed(b'{"kind":"stream_closed"}\n', 3)


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("store_finished", b""),
        ("load_finished", b',"request_id":"r"'),
        ("load_failed", b',"request_id":"r"'),
        ("prefix_reused", b',"request_id":"r"'),
        ("request_routed", b',"request_id":"r","cost":1,"worker":"w"'),
        ("reuse_served", b',"request_id":"r","hit":true'),
    ],
)
def test_names_nothing(kind: str, more: bytes) -> None:
    """A fact that states neither claim nor object, keys or blocks is refused."""
    line = b'{"kind":"%s"%s' % (kind.encode(), more)
    assert (0, 0) == NativeJudge().feed(line + b"}\n")
    _, lines = NativeJudge().feed(line + b',"keys":["k"]}\n')
    assert 1 == lines


def test_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment chooses the core; a word that is none is an error."""
    monkeypatch.setenv("RESIDENT_CLAIMS_CORE", "python")
    assert native.core() == "python"
    monkeypatch.delenv("RESIDENT_CLAIMS_CORE")
    assert native.core() == "native"
    monkeypatch.setenv("RESIDENT_CLAIMS_CORE", "rust")
    with pytest.raises(CoreError, match="write native or python"):
        native.core()
