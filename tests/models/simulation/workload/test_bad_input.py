"""Tests that each wrong line of a workload is refused, with its number and a remedy."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from models.simulation.workload import lines, read_workload
from spec.cli.console import main
from spec.language.errors import DocumentError, SpecError

GOOD = {"timestamp": 0, "input_length": 1100, "output_length": 5, "hash_ids": [1, 2, 3]}
REPLAY = {"trace_block_size": 512, "input_length": 1100, "input_sequence_hashes": [1, 2, 3]}
REQUEST = {"request_id": "a", "output_tokens": 5, "request_received_ms": 7, "replay": REPLAY}
END = {
    "schema": "dynamo.request.trace.v1",
    "event_type": "request_end",
    "event_time_unix_ms": 9,
    "request": REQUEST,
}
ARRIVED = {
    "kind": "request_arrived",
    "stream": "e",
    "time_ns": 5,
    "request_id": "r",
    "needed": 1,
    "usable": 9,
}
CACHED = {
    "kind": "block_cached",
    "stream": "e",
    "request_id": "r",
    "block_ids": [1],
    "positions": [0],
    "keys": ["k"],
}
IDENTITY = '{"block_size": 16}'


def raw(text: str) -> bytes:
    """A line as it stands."""
    return text.encode()


def mooncake(**changed: object) -> bytes:
    """A line of Mooncake's form; None leaves a field out."""
    return json.dumps({k: v for k, v in {**GOOD, **changed}.items() if v is not None}).encode()


def dynamo(request: dict[str, object] | None = None, **changed: object) -> bytes:
    """The end of a request in NVIDIA Dynamo's trace."""
    return json.dumps({**END, "request": {**REQUEST, **(request or {})}, **changed}).encode()


def canonical(event: dict[str, Any], **changed: object) -> bytes:
    """A canonical event."""
    return json.dumps({k: v for k, v in {**event, **changed}.items() if v is not None}).encode()


MOONCAKE: list[tuple[bytes, str]] = [
    (raw("{"), "not JSON"),
    (raw("[1]"), "expected object"),
    (raw("3"), "expected object"),
    (raw('{"timestamp": NaN}'), "not JSON"),
    (raw('{"a": ' + "[" * 100_000), "nested too deep"),
    (mooncake(hash_ids=None), "missing required field hash_ids"),
    (mooncake(output_length=None), "missing required field output_length"),
    (mooncake(input_length="9"), "input_length"),
    (mooncake(input_length=0, hash_ids=[]), "the prompt has no tokens"),
    (mooncake(input_length=-1), "input_length"),
    (mooncake(input_length=1 << 25), "input_length"),
    (mooncake(output_length=-1), "output_length"),
    (mooncake(timestamp=-5), "timestamp"),
    (mooncake(timestamp=1e300), "timestamp"),
    (mooncake(timestamp=None), "neither a timestamp alone nor the delay"),
    (mooncake(timestamp=None, delay=5), "neither a timestamp alone nor the delay"),
    (mooncake(timestamp=None, delay=5, session_id="new"), "neither a timestamp alone"),
    (mooncake(delay=5, session_id="new"), "neither a timestamp alone"),
    (mooncake(session_id=""), "session_id"),
    (mooncake(hash_ids=[1, 2, 3, 4]), "4 blocks of 512 tokens in a prompt of 1100 tokens"),
    (mooncake(hash_ids=[1, 2, 1]), "the same block twice"),
    (mooncake(hash_ids=[1, -2, 3]), "outside of 64 bits"),
    (mooncake(hash_ids=[1, 1 << 64, 3]), "outside of 64 bits"),
    (mooncake(hash_ids=[1, 1.5, 3]), "hash_ids"),
    (raw(mooncake().decode()[:-1] + ', "timestamp": 3}'), "occurs twice"),
    (raw(mooncake().decode()[:-1] + ', "timestamp" : 3}'), "occurs twice"),
    (raw(mooncake().decode()[:-1] + ', "\\u0074imestamp": 3}'), "occurs twice"),
]

DYNAMO: list[tuple[bytes, str]] = [
    (raw("{}"), "no record of dynamo.request.trace.v1"),
    (dynamo(schema="dynamo.request.trace.v2"), "no record of dynamo.request.trace.v1"),
    (dynamo(event_time_unix_ms=None), "no record of dynamo.request.trace.v1"),
    (dynamo({"replay": None}), "the request states no hashes"),
    (dynamo({"request_id": ""}), "request_id"),
    (dynamo({"replay": {**REPLAY, "trace_block_size": 0}}), "trace_block_size"),
    (dynamo({"replay": {**REPLAY, "trace_block_size": 64}}), "blocks of 64 tokens, after blocks"),
    (dynamo({"replay": {**REPLAY, "input_length": 2048}, "request_id": "a"}), "ended before"),
    (dynamo({"request_id": "b", "request_received_ms": 10}), "ended before it came"),
    (
        dynamo({"request_id": "b", "replay": {**REPLAY, "input_length": 10}}),
        "input_sequence_hashes: 3 blocks of 512 tokens",
    ),
    (raw(dynamo({"request_id": "b"}).decode()[:-1] + ', "schema": "x"}'), "occurs twice"),
]

CANONICAL: list[tuple[bytes, str]] = [
    (canonical(ARRIVED, kind="request_came"), "request_came"),
    (canonical(ARRIVED, request_id="s", unknown=1), "unknown"),
    (canonical(ARRIVED), "came before"),
    (canonical(ARRIVED, request_id="s", stream="other"), "a second stream"),
    (canonical(ARRIVED, request_id="s", time_ns=None), "an arrival without time_ns"),
    (canonical(ARRIVED, request_id="s", time_ns=4), "time_ns decreases"),
    (canonical(CACHED, group=1), "a second group"),
    (canonical(CACHED, positions=[]), "without positions"),
    (canonical(CACHED, keys=[]), "without keys, claim and object"),
    (canonical(CACHED, keys=[], object_id="o", positions=[9999999]), "a position over"),
    (canonical(ARRIVED, request_id="s", cache_identity='{"block_size": 0}'), "blocks of 0"),
    (canonical({"kind": "request_finished", "stream": "e", "request_id": "r"}), "the blocks"),
]


HEAD = b'{"name": "w", "block": 16}'
TURN = {"id": "a", "arrives": 0, "prompt": 32, "output": 16, "keys": [1, 2, 3]}
FULL: list[tuple[bytes, str]] = [
    (canonical(TURN), "the id a twice"),
    (canonical(TURN, id="b", after="c"), "after c, which no line before has"),
    (canonical(TURN, id="b", prompt=0), "the prompt has no tokens"),
    (canonical(TURN, id="b", keys=[1, 2, 3, 4]), "4 keys, of which 4 differ, of 3 full blocks"),
    (canonical(TURN, id="b", keys=[1, 1]), "2 keys, of which 1 differ"),
    (canonical(TURN, id="b", keys=[-1]), "a key outside of 64 bits"),
    (canonical(TURN, id="b", arrives=-1), "arrives"),
    (canonical(TURN, id="b", more=1), "unknown field more"),
]


def check(content: list[bytes], says: str, folder: Path, pack: Callable[[bytes], bytes]) -> None:
    """The last of the lines is refused, by the reader and by the command."""
    path = folder / "w.jsonl"
    path.write_bytes(pack(b"\n".join(content) + b"\n"))
    with pytest.raises(DocumentError) as raised:
        read_workload(str(path))
    assert len(content) == raised.value.line
    assert f"{path}:{len(content)}: " in str(raised.value)
    assert says in str(raised.value)
    assert raised.value.remedy


@pytest.mark.parametrize(("line", "says"), MOONCAKE, ids=range(len(MOONCAKE)))
def test_mooncake(line: bytes, says: str, tmp_path: Path) -> None:
    """Each wrong line of Mooncake's form is refused, also after a blank line."""
    check([mooncake(session_id="known"), b"", line], says, tmp_path, lambda text: text)


@pytest.mark.parametrize(("line", "says"), DYNAMO, ids=range(len(DYNAMO)))
def test_dynamo(line: bytes, says: str, tmp_path: Path) -> None:
    """Each wrong record of NVIDIA Dynamo's trace is refused, in a compressed file."""
    check([dynamo(), line], says, tmp_path, gzip.compress)


@pytest.mark.parametrize(("line", "says"), CANONICAL, ids=range(len(CANONICAL)))
def test_canonical(line: bytes, says: str, tmp_path: Path) -> None:
    """Each event that is wrong, or states too little, is refused."""
    check([canonical(ARRIVED), line], says, tmp_path, lambda text: text)


@pytest.mark.parametrize(("line", "says"), FULL, ids=range(len(FULL)))
def test_full(line: bytes, says: str, tmp_path: Path) -> None:
    """Each wrong line of the full form is refused."""
    check([HEAD, canonical(TURN), line], says, tmp_path, lambda text: text)


def test_canonical_without_a_block_size(tmp_path: Path) -> None:
    """Where no cache identity states the tokens of a block, --block must."""
    done = canonical({"kind": "request_finished", "stream": "e", "request_id": "r"})
    content = [canonical(ARRIVED), canonical(CACHED), done]
    check(content, "no event so far states the tokens of a block", tmp_path, lambda text: text)
    assert [32] == [each.prompt for each in read_workload(str(tmp_path / "w.jsonl"), block=32)]


def test_canonical_cut(tmp_path: Path) -> None:
    """A trace that ends before a request does not state what that request contains."""
    check([canonical(ARRIVED), canonical(CACHED)], "the trace ends", tmp_path, lambda text: text)


def test_no_workload(tmp_path: Path) -> None:
    """A first line of another form names the forms that are read."""
    check([raw('{"prompt": "x"}')], "no request of a workload", tmp_path, lambda text: text)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (mooncake(), MOONCAKE[5][0]),
        (dynamo(), DYNAMO[0][0]),
        (canonical(ARRIVED), CANONICAL[0][0]),
    ],
    ids=["mooncake", "dynamo", "canonical"],
)
def test_the_command(
    first: bytes, second: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command says the same in one line, and exits with 2."""
    path = tmp_path / "w.jsonl"
    path.write_bytes(first + b"\n" + second)
    assert 2 == main(["workload", str(path)])
    out, err = capsys.readouterr()
    assert "" == out
    assert err.startswith(f"error: {path}:2: ")
    assert 1 == err.count("\n")


class TestFiles:
    """Tests of what is no readable file."""

    def test_missing(self, tmp_path: Path) -> None:
        """A file that is not there is named."""
        with pytest.raises(SpecError, match="No such file"):
            read_workload(str(tmp_path / "none.jsonl"))

    def test_folder(self, tmp_path: Path) -> None:
        """A folder is no workload."""
        with pytest.raises(SpecError, match="Is a directory"):
            read_workload(str(tmp_path))

    def test_pipe(self, tmp_path: Path) -> None:
        """A pipe is refused without waiting for its writer."""
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(SpecError, match="it is a pipe"):
            read_workload(str(tmp_path / "pipe"))

    def test_nul(self) -> None:
        """A name with a NUL byte is no file."""
        with pytest.raises(SpecError, match="null byte"):
            read_workload("a\0b")

    @pytest.mark.parametrize("content", [b"", b"\n\n"], ids=["no bytes", "blank lines"])
    @pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
    def test_empty(self, content: bytes, pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
        """A file without lines has no requests."""
        path = tmp_path / "w.jsonl"
        path.write_bytes(pack(content))
        with pytest.raises(SpecError, match="is empty"):
            read_workload(str(path))

    @pytest.mark.parametrize(
        "spoil",
        [lambda data: data[:-9], lambda data: data[:40] + b"xx"],
        ids=["cut", "damaged"],
    )
    def test_damaged(self, spoil: Callable[[bytes], bytes], tmp_path: Path) -> None:
        """Compressed data that are cut or damaged end in an error of a line."""
        path = tmp_path / "w.jsonl.gz"
        content = b"".join(mooncake(timestamp=n) + b"\n" for n in range(50))
        path.write_bytes(spoil(gzip.compress(content)))
        with pytest.raises(DocumentError, match="damaged gzip data"):
            read_workload(str(path))

    def test_long_line(self, tmp_path: Path) -> None:
        """A line that never ends is given up at its limit, though 8 MiB pack into 8 KiB."""
        path = tmp_path / "w.jsonl.gz"
        path.write_bytes(gzip.compress(mooncake() + b"\n" + b" " * (lines.LINE_LIMIT + 1)))
        assert path.stat().st_size < 20_000
        with pytest.raises(DocumentError, match=f"a line of over {lines.LINE_LIMIT} bytes"):
            read_workload(str(path))

    def test_blank_lines(self, tmp_path: Path) -> None:
        """A small file that decompresses to line ends alone is refused soon."""
        path = tmp_path / "blank.gz"
        path.write_bytes(gzip.compress(mooncake() + b"\n" * 200_000))
        with pytest.raises(DocumentError, match="over 100000 blank lines"):
            read_workload(str(path))

    def test_bomb(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Blank lines without end are given up at the limit of a file."""
        monkeypatch.setattr(lines, "MOST_BYTES", 10_000)
        path = tmp_path / "w.jsonl.gz"
        path.write_bytes(gzip.compress(mooncake() + b"\n" * 20_000))
        with pytest.raises(DocumentError, match="over 10000 bytes"):
            read_workload(str(path))

    def test_options(self, tmp_path: Path) -> None:
        """--block is refused where the workload states it, and a limit of none or of too many."""
        path = tmp_path / "w.jsonl"
        path.write_bytes(dynamo())
        for spec, block in ((str(path), 512), ("agents:", 16), (str(path), 0)):
            with pytest.raises(SpecError, match="--block"):
                read_workload(spec, block=block)
        with pytest.raises(SpecError, match="--limit"):
            read_workload(str(path), limit=0)
        with pytest.raises(SpecError, match="--limit"):
            read_workload(str(path), limit=2**63)
