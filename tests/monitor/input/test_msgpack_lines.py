"""A capture in msgpack states what the same capture in lines of JSON does."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.check.files import check_files
from monitor.input import msgpack_lines
from monitor.input.errors import Corrupt, InputError
from monitor.input.lines import LINE_LIMIT, Lines
from monitor.input.msgpack_lines import is_msgpack, lines_of
from monitor.input.records import Record
from monitor.input.sources import Source
from tests.monitor.input.kv_lines import captured, message, records, removed, stored

FOLDER: Final = Path(__file__).parents[4] / "shared" / "traces" / "kv_events"
pack: Final = msgspec.msgpack.encode


def packed(*lines: bytes) -> bytes:
    """Lines of a capture in msgpack, the frames as bytes."""
    found = []
    for line in lines:
        fields = json.loads(line)
        if isinstance(fields, dict) and "frames" in fields:
            fields["frames"] = [b64decode(frame) for frame in fields["frames"]]
        found.append(pack(fields))
    return b"".join(found)


def read(path: Path, content: bytes, **options: Any) -> list[Record]:
    """The records of a file with this content."""
    path.write_bytes(content)
    return list(Source([str(path)], **options))


class TestRead:
    LINES: Final = (
        captured(message(0, stored(1, 2), stored(b"\x00\xff"))),
        captured(message(1, removed(2))),
        b'{"decoded": [1.5, [{"type": "BlockStored", "block_hashes": ["a"]}]], "seq": 2}',
    )

    @pytest.mark.parametrize("squeeze", [bytes, gzip.compress])
    def test_same(self, tmp_path: Path, squeeze: Any) -> None:
        """The records are those of the lines, each with the number of its value."""
        found = read(tmp_path / "capture", squeeze(packed(*self.LINES)))
        lines = records(*self.LINES)

        assert [each.events and each.events[0][0] for each in lines] == [
            each.events and each.events[0][0] for each in found
        ]
        assert [1, 2, 3] == [each.at.line for each in found if each.events]

    @pytest.mark.parametrize("name", ["vllm_0_32_live", "sglang_0_5_23_publisher"])
    def test_captures(self, tmp_path: Path, name: str) -> None:
        """The report on a capture of a real engine is the same, but for the digest."""
        path = FOLDER / f"{name}.jsonl"
        if not path.exists():
            pytest.skip("the captures are not there")
        other = tmp_path / "capture"
        other.write_bytes(packed(*path.read_bytes().splitlines()))

        one, two = check_files(path), check_files(other)

        assert one.inputs[0].form == two.inputs[0].form
        assert one.events == two.events
        assert [each.why for each in one.breaks] == [each.why for each in two.breaks]

    def test_list(self, tmp_path: Path) -> None:
        """An array of events is a list of them."""
        data = {"type": "created", "num_blocks_per_cache_level": [8]}
        event = {"event_id": 0, "window_size": 16, "data": data}

        found = read(tmp_path / "t", pack([event, event | {"event_id": 1}]))

        assert [0, 1, None] == [each.stamp.sequence for each in found]

    def test_hashes(self, tmp_path: Path) -> None:
        """Bytes that are no frame are hexadecimal, as they are in frames."""
        event = {"type": "BlockStored", "block_hashes": [b"\x00\xff"]}
        value = {"seq": 0, "decoded": [1.5, [event]]}

        first, *_ = read(tmp_path / "t", pack(value))

        assert ("00ff",) == first.events[0][0].keys

    def test_canonical(self, tmp_path: Path) -> None:
        """Canonical events may be msgpack, too."""
        event = {"kind": "request_finished", "request_id": "r", "sequence": 3}

        (found,) = read(tmp_path / "t", pack(event))

        assert ("r", 3) == (found.events[0][0].request_id, found.stamp.sequence)


BAD: Final = {
    "cut": (pack({"seq": 0})[:-1], "the msgpack data is truncated"),
    "no map": (packed(captured(message(0))) + pack(7), "a msgpack value is no map and no array"),
    "a key twice": (b"\x82\xa1a\x01\xa1a\x02", "a key occurs twice in a msgpack map"),
    "no value": (b"\x81\xa1a\xc1", "the msgpack data is corrupt: no value begins with 0xc1"),
    "no UTF-8": (b"\x81\xa1a\xa1\xff", "the msgpack data is corrupt: "),
    "another type": (b"\x81\xa1a\xd4\x05\x00", "the msgpack data is corrupt: "),
    "nested": (b"\x81\xa1a" + b"\x91" * 9000 + b"\x00", "the msgpack data is corrupt: "),
    "too long": (pack({"a": "x" * 2 * LINE_LIMIT}), "a msgpack value is longer than"),
    "many lists": (
        b"\x81\xa1a\xdd\x00\x10\x00\x00" + b"\x90" * (1 << 20),
        "a msgpack value has over 1048576 maps and arrays",
    ),
    "a size too large": (b"\x81\xa1a\xdb\xff\xff\xff\xff", "the msgpack data is truncated"),
    "too many items": (b"\x81\xa1a\xdd\xff\xff\xff\xff\x00", "the msgpack data is truncated"),
}


HEADS: Final = [b"\x80\x81", b"\x93\xcb", b"\xdc\x00", b"{}", b"", b"\x81\x01"]


class TestRefused:
    @pytest.mark.parametrize("what", BAD)
    def test_bad(self, tmp_path: Path, what: str) -> None:
        """What cannot be read is bad input, and says why."""
        content, reason = BAD[what]

        with pytest.raises(InputError) as caught:
            read(tmp_path / "t", content)

        assert caught.value.reason.startswith(reason)

    def test_lenient(self, tmp_path: Path) -> None:
        """What comes before it can be read."""
        content = packed(captured(message(0, stored(1)))) + b"\xc1"

        found = read(tmp_path / "t", content, lenient=True)

        assert [True, False] == [bool(each.events) for each in found]

    def test_long_line(self, tmp_path: Path) -> None:
        """A value whose line is too long is one line that is too long."""
        path = tmp_path / "t"
        path.write_bytes(pack({"frames": [b"x" * (LINE_LIMIT - 99)]}) + pack({"kind": "x"}))

        assert [InputError, bytes] == [type(content) for _, content in Lines(str(path))]

    @pytest.mark.parametrize("content", HEADS)
    def test_other(self, content: bytes) -> None:
        """Other files are not taken for msgpack."""
        assert not is_msgpack(content + b"\x00" * 9)


class TestAny:
    VALUES: Final = st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**64 - 1)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=300)
        | st.binary(max_size=300),
        lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(), inner, max_size=20),
        max_leaves=40,
    )

    @given(st.lists(st.dictionaries(st.text(), VALUES, max_size=20)), st.integers(1, 50))
    def test_whole(self, values: list[dict[str, Any]], size: int) -> None:
        """Values are found wherever the pieces end that are read."""
        content = b"".join(map(pack, values))
        chunks = [content[at : at + size] for at in range(0, len(content), size)]

        found = [json.loads(line) for line in lines_of(chunks, LINE_LIMIT)]

        assert [sorted(each) for each in values] == [sorted(each) for each in found]
        assert len(values) == len(found)

    def test_small_chunks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A long value in chunks of one byte is scanned few times, and not once for each chunk."""
        calls, scanned = [], msgpack_lines._scanned

        def counted(data: bytearray, at: int) -> tuple[int, int] | None:
            calls.append(len(data) - at)
            return scanned(data, at)

        monkeypatch.setattr(msgpack_lines, "_scanned", counted)
        content = pack({"a": [0] * 50_000})
        assert len([*lines_of([bytes([each]) for each in content], LINE_LIMIT)]) == 1
        assert sum(calls) < 4 * len(content)

    @given(st.binary(max_size=60))
    def test_bytes(self, content: bytes) -> None:
        """Any bytes are read or refused."""
        try:
            found = list(lines_of([content], LINE_LIMIT))
        except Corrupt:
            return
        assert all(isinstance(json.loads(line), dict | list) for line in found)
