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

from monitor.check.events import EventMonitor
from monitor.durable import frame
from monitor.durable.checkpoints import Checkpoints, Saved
from monitor.durable.frame import CorruptSnapshot, ForeignSnapshot, framed, unframed
from spec.claims.states import Mode
from spec.language.errors import SpecError
from tests.streams.wide import told

SETTINGS: Final = settings(max_examples=150)
MIB: Final = 1 << 20
_PARTS: Final = st.one_of(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | st.floats(),
    st.integers(-300, 300).map(lambda number: [number]),
    st.sampled_from([[], {}, [[]], [[0]], [0, 0], "a", b"a", {"a": [0]}]).map(deepcopy),
)


@cache
def snapshot() -> bytes:
    """Of a monitor with claims and requests in hand."""
    monitor = EventMonitor(Mode.OFFLOADABLE)
    for line in told(Random(3), Mode.OFFLOADABLE):
        for event in line.events:
            monitor.feed(event)
    return monitor.snapshot()


def places(value: Any) -> list[tuple[Any, Any]]:
    """Each part of a nested value, as the container and the key or index."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    found = [(value, key) for key, _ in pairs]
    return found + [
        place for _, each in pairs if isinstance(each, dict | list) for place in places(each)
    ]


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
        monkeypatch.setattr(frame, "_VERSION", 1)
        data = framed("snapshot", b"")
        monkeypatch.undo()

        with pytest.raises(ForeignSnapshot, match="format version 1, and this is 5"):
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
        ],
    )
    def test_encoding(self, content: bytes) -> None:
        """Nor does what msgpack states, or how deep it goes."""
        assert self.peak(framed("snapshot", content)) < 8


class TestForged:
    @SETTINGS
    @given(st.data())
    def test_forged(self, data: st.DataObject) -> None:
        """With parts exchanged and a checksum that fits it is refused, or some monitor's."""
        whole = msgspec.msgpack.decode(unframed("snapshot", snapshot()))
        for _ in range(data.draw(st.integers(1, 3))):
            container, key = data.draw(st.sampled_from(places(whole)))
            container[key] = data.draw(_PARTS)

        assert taken(framed("snapshot", msgspec.msgpack.encode(whole))) in ("corrupt", "restored")

    @SETTINGS
    @given(st.recursive(_PARTS, lambda part: st.lists(part, max_size=8)))
    def test_any(self, value: Any) -> None:
        """A value of another form is refused."""
        assert "corrupt" == taken(framed("snapshot", msgspec.msgpack.encode(value)))


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
