"""Whatever bytes a source delivers, in whatever pieces: bad lines are counted, and all goes on."""

from __future__ import annotations

import json
import socket
import tracemalloc
from base64 import b64encode
from itertools import pairwise
from random import Random

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from monitor.follow import buffer
from monitor.follow.buffer import Line, Splitter
from monitor.follow.judge import Judge
from monitor.follow.streams import Peer
from monitor.follow.verdict_line import Counts, VerdictLine
from monitor.input.dialects import LIVE, Reader
from monitor.input.errors import InputError
from monitor.input.lines import BOM, LINE_LIMIT
from monitor.input.reorder_window import Window
from tests.monitor.follow.reading import reading
from tests.monitor.follow.traces import trace

LIMIT = 2_000
TRACE = [line.rstrip(b"\n") for line in trace(3)]
WINDOW = Window(7)
HUGE = st.sampled_from(
    [2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63), 10**400, -1, 0, 1e308, 5e-324, -0.0]
)
VALUES = st.recursive(
    st.none() | st.booleans() | HUGE | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
NAMES = st.sampled_from(["kind", "stream", "sequence", "time_ns", "claim_id", "block_ids", "mode"])


@st.composite
def altered(draw: st.DrawFn) -> bytes:
    """A line of a trace with another value in one of its fields."""
    fields = json.loads(draw(st.sampled_from(TRACE)))
    fields[draw(NAMES)] = draw(VALUES)
    return json.dumps(fields, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")


@st.composite
def torn(draw: st.DrawFn) -> bytes:
    """A line of a trace with some bytes that are not its own."""
    line = bytearray(draw(st.sampled_from(TRACE)))
    where = draw(st.integers(0, len(line)))
    line[where : where + draw(st.integers(0, 9))] = draw(st.binary(max_size=9))
    return bytes(line)


def _deep(depth: int) -> bytes:
    return b'{"kind":' + b"[" * depth + b"]" * depth + b"}"


LINES = st.one_of(
    st.sampled_from(TRACE),
    altered(),
    torn(),
    st.binary(max_size=60),
    st.integers(1, LIMIT).map(_deep),
    st.integers(LIMIT - 2, LIMIT + 2).map(lambda size: b"x" * size),
    st.just(b'{"kind":"claim_registered"' + b" " * 500 + b"}"),
)


def read(pieces: list[bytes]) -> list[Line]:
    """The lines of what is delivered in these pieces; memory holds no more than a line of it."""
    splitter, found = Splitter(), list[Line]()
    for piece in pieces:
        found += splitter.feed(piece)
        assert len(splitter._rest) <= LIMIT
    return [*found, *splitter.flush()]


def judged(lines: list[Line], window: Window | None) -> tuple[Counts, list[VerdictLine]]:
    counts = Counts()
    judge, found = Judge("s", None, counts, window=window), list[VerdictLine]()
    for line in lines:
        found += judge.take(line)
        assert judge.held <= WINDOW.lines * len(judge._names)
    state = judge.snapshot()
    again = Judge("s", None, Counts(), window=window)
    again.restore(state)
    assert again.snapshot()
    last, report = judge.finish()
    assert report == again.finish()[1]
    for line in (*found, *last):
        msgspec.json.encode(line)
    return counts, [*found, *last]


def count_bad(lines: list[Line]) -> int:
    """How many lines cannot be read; a byte order mark may stand before the first."""
    first = [line and line.removeprefix(BOM) for line in lines[:1]]
    return sum(map(is_bad, [*first, *lines[1:]]))


def is_bad(line: Line) -> bool:
    """Whether a line cannot be read."""
    try:
        if line is None:
            return True
        if line.strip():
            Reader("s", LIVE).feed(line, 1)
    except InputError:
        return True
    return False


class TestAnything:
    @settings(max_examples=60)
    @example([b'{"resourceLogs":[]}'], [], False)  # a request without a log record
    @given(
        st.lists(LINES, max_size=25), st.lists(st.integers(0, 1 << 16), max_size=9), st.booleans()
    )
    def test_counted(self, lines: list[bytes], cuts: list[int], reorder: bool) -> None:
        """Each line that cannot be read is counted once, wherever a read ends."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(buffer, "LINE_LIMIT", LIMIT)
            content = b"\n".join(lines)
            ends = [0, *sorted(cut % (len(content) + 1) for cut in cuts), len(content)]
            found = read([content[start:end] for start, end in pairwise(ends)])
            assert read([content]) == found
        counts, verdicts = judged(found, WINDOW if reorder else None)
        assert count_bad(found) == counts.rejected["s"]
        assert len(verdicts) == len({line.id for line in verdicts})

    @settings(max_examples=25)
    @given(st.binary(max_size=400))
    @example(BOM)
    def test_bytes(self, content: bytes) -> None:
        """Bytes of any kind are lines, most of them bad."""
        found = read([content])
        counts, _ = judged(found, None)
        assert count_bad(found) == counts.rejected["s"]

    @settings(max_examples=40)
    @given(st.binary(max_size=300))
    def test_state(self, content: bytes) -> None:
        """Of what a state was made of, nothing else is read, and no memory asked for."""
        state = bytearray(judge_state())
        if content:
            start = Random(content).randrange(len(state))
            state[start : start + len(content)] = content
        judge = Judge("s", None, Counts(), window=WINDOW)
        try:
            judge.restore(bytes(state))
        except ValueError:
            return
        judge.take(TRACE[-1])


def judge_state() -> bytes:
    judge = Judge("s", None, Counts(), window=WINDOW)
    for line in [*TRACE[:9], *TRACE[11:14]]:
        judge.take(line)
    return judge.snapshot()


class TestMemory:
    def test_no_end(self) -> None:
        """A line without an end takes no more memory than the longest line."""
        judge, splitter = Judge("s", None, Counts()), Splitter()
        tracemalloc.start()
        try:
            for _ in range(400):
                for line in splitter.feed(b"[" * (1 << 16)):
                    judge.take(line)
            for line in splitter.feed(b"\n"):
                judge.take(line)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert judge._counts.rejected == {"s": 1}
        assert most < 4 * LINE_LIMIT

    @pytest.mark.parametrize("item", [b"\x90", b"\x80"])
    def test_worst(self, item: bytes) -> None:
        """A message of many empty items takes at most 64 times the bytes of its line."""
        count = 100_000
        payload = b"\x92\xcb" + bytes(8) + b"\xdd" + count.to_bytes(4, "big") + item * count
        frames = ["", b64encode(bytes(8)).decode(), b64encode(payload).decode()]
        line, judge = json.dumps({"frames": frames}).encode(), Judge("s", None, Counts())
        tracemalloc.start()
        try:
            judge.take(line)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert judge._counts.rejected == {"s": 1}
        assert most < 64 * len(line)

    @pytest.mark.parametrize("text", [b"[", b'{"a":', b'"', b"9", b"\\", b"\xf0\x9f\x98\x80"])
    def test_long(self, text: bytes) -> None:
        """The longest line of anything is rejected without a traceback."""
        judge = Judge("s", None, Counts())
        judge.take(b'{"kind":' + text * ((LINE_LIMIT - 9) // len(text)) + b"}")
        assert judge._counts.rejected == {"s": 1}

    @pytest.mark.slow
    def test_names(self) -> None:
        """Lines that each name a stream of their own are bounded, held back or not."""
        judge = Judge("s", None, Counts(), window=WINDOW)
        for number in range(1_200):
            judge.take(b'{"kind":"block_lost","stream":"%d","sequence":9}' % number)
        assert (1_000, {"s": 200}) == (len(judge._names), judge._counts.rejected)


def test_peer() -> None:
    """What a process sends on a connection, in pieces of any size, are the same lines."""
    ours, theirs = socket.socketpair()
    chance = Random(5)
    content = b"".join(chance.randbytes(chance.randint(0, 900)) + b"\n" for _ in range(50))
    with reading(Peer(lambda: ours, until_eof=True)) as found, theirs:
        rest = content
        while rest:
            size = chance.randint(1, 4000)
            theirs.sendall(rest[:size])
            rest = rest[size:]
        theirs.close()
        found.wait(*content.split(b"\n")[:-1])
