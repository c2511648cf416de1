"""Whatever bytes are read as a snapshot, one clear error is raised or a monitor made, no more."""

from __future__ import annotations

import tracemalloc
from copy import deepcopy
from functools import cache
from random import Random
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from monitor.durable.known import Known
from monitor.durable.nodes import BUILT_IN, Nodes
from monitor.durable.reader import read

from monitor.check.events import EventMonitor
from monitor.durable import frame
from monitor.durable.checkpoints import Checkpoints, Saved
from monitor.durable.frame import LIMIT, CorruptSnapshot, ForeignSnapshot, framed, unframed
from spec.claims.claim import Mode
from spec.language.errors import SpecError
from tests.streams.wide import told

SETTINGS: Final = settings(max_examples=150, deadline=None)
MIB: Final = 1 << 20
DEEP: Final = msgspec.Raw(b"\x91" * 200_000 + b"\x90")
_PARTS: Final = st.one_of(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | st.floats(),
    st.integers(-300, 300).map(lambda number: [number]),
    st.sampled_from([[], {}, [[]], [[0]], [0, 0], "a", b"a", {"a": [0]}]).map(deepcopy),
    st.integers(0, len(BUILT_IN) + 60).map(lambda tag: [tag, [0], [1]]),
)


@cache
def snapshot() -> bytes:
    """Of a monitor with claims and requests in hand."""
    monitor = EventMonitor(Mode.OFFLOADABLE)
    for line in told(Random(3), Mode.OFFLOADABLE):
        for event in line.events:
            monitor.feed(event)
    return monitor.snapshot()


def nodes_of(content: bytes) -> tuple[Nodes, list[Any]]:
    """What a snapshot holds, and its numbers and nodes in turn."""
    whole = msgspec.msgpack.decode(content, type=Nodes)
    return whole, [each for chunk in whole.chunks for each in msgspec.msgpack.decode(chunk)]


def with_nodes(whole: Nodes, flat: list[Any]) -> bytes:
    """The same with other nodes."""
    chunks = [msgspec.msgpack.encode(flat)]
    return msgspec.msgpack.encode(msgspec.structs.replace(whole, chunks=chunks))


def made_of(shapes: list[tuple[str, list[str]]], nodes: list[Any], root: int = 0) -> bytes:
    """Content of these nodes, numbered in their order."""
    flat = [each for number, node in enumerate(nodes) for each in (min(number, 1), node)]
    return with_nodes(Nodes(shapes, len(nodes), [], root), flat)


def taken(data: bytes) -> str:
    """How `EventMonitor.restore` ends."""
    try:
        EventMonitor.restore(data)
    except CorruptSnapshot:
        return "corrupt"
    except ForeignSnapshot:
        return "foreign"
    return "restored"


class TestFrame:
    @SETTINGS
    @given(st.binary(max_size=400))
    def test_noise(self, data: bytes) -> None:
        """What was never a snapshot is none."""
        assert "corrupt" == taken(data)
        assert "corrupt" == taken(snapshot()[:60] + data)

    @SETTINGS
    @given(st.data())
    def test_altered(self, data: st.DataObject) -> None:
        """Cut anywhere, with bits flipped, bytes added, left out or doubled, it is corrupt."""
        whole = snapshot()
        at = data.draw(st.integers(0, len(whole) - 1))
        flipped = bytearray(whole)
        flipped[at] ^= data.draw(st.integers(1, 255))
        other = data.draw(st.integers(at, len(whole)))
        altered = {
            whole[:at],
            bytes(flipped),
            whole[:at] + data.draw(st.binary(min_size=1, max_size=9)) + whole[at:],
            whole[:at] + whole[at + 1 :],
            whole[:other] + whole[at:] if other > at else whole + b"\0",
        }

        assert {"corrupt"} == {taken(each) for each in altered}

    def test_whole(self) -> None:
        """Unaltered it is restored."""
        assert "restored" == taken(snapshot())

    @pytest.mark.parametrize("given", [None, "text", 5, bytearray(b"")])
    def test_no_bytes(self, given: Any) -> None:
        """What is no bytes at all is refused by its type."""
        with pytest.raises(SpecError, match=r"snapshot is of type .*; give the bytes"):
            EventMonitor.restore(given)

    def test_other_specification(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One of another specification names both, and what to do."""
        data = snapshot()
        monkeypatch.setattr(frame, "spec_digest", lambda: "ab" * 32)

        with pytest.raises(ForeignSnapshot) as caught:
            EventMonitor.restore(data)
        assert "and this is abababababab" in caught.value.cause
        assert "begin anew" in caught.value.remedy

    def test_other_version(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One of another format version is refused by it."""
        monkeypatch.setattr(frame, "_VERSION", 2)
        data = framed("snapshot", b"")
        monkeypatch.undo()

        with pytest.raises(ForeignSnapshot, match="format version 2, and this is 1"):
            EventMonitor.restore(data)

    def test_another_thing(self) -> None:
        """A checkpoint is no snapshot."""
        with pytest.raises(ForeignSnapshot, match="another thing: 'ckpoint'"):
            EventMonitor.restore(framed("ckpoint", b""))

    def test_named(self) -> None:
        """An error about a checkpoint calls it that."""
        with pytest.raises(CorruptSnapshot, match="the checkpoint is truncated or modified"):
            unframed("ckpoint", framed("ckpoint", bytes(99))[:-1])

    def test_too_much(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """More state than can be read back is not written."""
        monkeypatch.setattr(frame, "LIMIT", 10)

        with pytest.raises(SpecError, match="has 11 bytes of state, over 10"):
            framed("snapshot", bytes(11))

    @pytest.mark.parametrize("size", [0, 1, 100 * MIB])
    def test_compresses_well(self, size: int) -> None:
        """What compresses better than is believed of a reader's input is stored otherwise."""
        assert bytes(size) == unframed("snapshot", framed("snapshot", bytes(size)))


class TestMemory:
    """A small input takes little memory, whatever it states."""

    @staticmethod
    def peak(data: bytes) -> float:
        """MiB taken by reading it as a snapshot, which it is not."""
        tracemalloc.start()
        try:
            assert "restored" != taken(data)
            return tracemalloc.get_traced_memory()[1] / MIB
        finally:
            tracemalloc.stop()

    def test_stated_size(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A few compressed bytes do not grow to what they could."""
        monkeypatch.setattr(frame, "_RATIO", 1 << 20)
        data = framed("snapshot", bytes(100 * MIB))
        monkeypatch.undo()

        assert self.peak(data) < 1

    @pytest.mark.parametrize(
        "content",
        [
            b"\x94\x90\x01\xdd\xff\xff\xff\xff",  # a list of four billion
            b"\x94\x90\x01\x91\xc6\xff\xff\xff\xff",  # as many bytes
            b"\x94\x90\x01" + b"\x91" * 200_000 + b"\x90\x00",  # lists in lists
            with_nodes(Nodes([], 1, [], 0), [0, [0, DEEP]]),
            made_of([], [[0, *[0] * 100_000]])[:-100],
        ],
    )
    def test_encoding(self, content: bytes) -> None:
        """Nor does what msgpack states, or how deep it goes."""
        assert self.peak(framed("snapshot", content)) < 8

    @pytest.mark.parametrize("size", [16 * MIB, LIMIT, LIMIT + 1, 1 << 62, -1])
    def test_array(self, size: int) -> None:
        """Nor do arrays of bytes, each by itself or all together."""
        node = [BUILT_IN.index("bytearray"), size, b"x\x9c\x03\x00\x00\x00\x00\x01"]

        assert self.peak(framed("snapshot", made_of([], [node] * 200))) < 1


class TestNodes:
    @SETTINGS
    @given(st.data())
    def test_forged(self, data: st.DataObject) -> None:
        """With parts exchanged and a checksum that fits it is refused, or some monitor's."""
        whole, flat = nodes_of(unframed("snapshot", snapshot()))
        for _ in range(data.draw(st.integers(1, 3))):
            at = data.draw(st.integers(0, len(flat) - 1))
            node, part = flat[at], data.draw(_PARTS)
            if isinstance(node, list) and node:
                node[data.draw(st.integers(0, len(node) - 1))] = part
            else:
                flat[at] = part

        taken(framed("snapshot", with_nodes(whole, flat)))

    @SETTINGS
    @given(st.lists(st.lists(_PARTS, max_size=5) | _PARTS, max_size=8), st.integers(-2, 8))
    def test_any(self, nodes: list[Any], root: int) -> None:
        """Nodes of any kind are refused, or made of classes that the table has."""
        with pytest.raises(CorruptSnapshot):
            read(Known(()), made_of([], nodes, root), Nodes)

    @pytest.mark.parametrize(
        ("count", "flat"),
        [
            (1, [0, [0], 0, [0]]),  # one number twice
            (1, [1, [0]]),  # a number past the end
            (1, [-1, [0]]),
            (2, [0, [0]]),  # the root is 0, and refers to nothing that is not there
            (2, [0, [0, [-1]]]),
            (1 << 40, [0, [0]]),  # more objects than bytes
            (1, [0, [0], 0]),  # a number without a node
            (1, [[], [0]]),
        ],
    )
    def test_numbers(self, count: int, flat: list[Any]) -> None:
        """Each object has one number and one node, and what is referred to is there."""
        content = with_nodes(Nodes([], count, [], 0), flat)

        with pytest.raises(CorruptSnapshot):
            read(Known(()), content, Nodes)

    def test_no_class_of_its_own_choice(self) -> None:
        """A class is named, and found in the table or nowhere."""
        content = made_of([("os.system", [])], ["x", [len(BUILT_IN), [1]]], 1)

        with pytest.raises(ForeignSnapshot, match=r"os\.system"):
            read(Known(()), content, Nodes)


class TestCheckpoint:
    @pytest.mark.parametrize(
        "content",
        [b"", b"\x80", msgspec.msgpack.encode({"monitor": 5, "positions": {}, "emitted": {}})],
    )
    def test_another_content(self, content: bytes, tmp_path: Any) -> None:
        """A checkpoint whose checksum fits and that holds something else is corrupt."""
        with Checkpoints(tmp_path) as kept:
            kept.save(Saved(b"", {}, {}))
            (tmp_path / "checkpoint-00000002.bin").write_bytes(framed("ckpoint", content))

            assert Saved(b"", {}, {}) == kept.load()
            assert ["its content is no checkpoint" in note for note in kept.notes] == [True]
