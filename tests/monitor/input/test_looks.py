"""What cannot be read is named for what it looks like, with the command that makes it readable."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path
from typing import Final

import pytest

from monitor.check.files import check_files
from monitor.input.dialects._json import parse
from monitor.input.errors import InputError
from tests.monitor.input.kv_lines import stored

EVENT: Final = '{"kind":"request_arrived","sequence":0,"request_id":"r"}'
STRIPPED: Final = "sed 's/^[^{]*//' FILE"
STRIP: Final = "--strip reads"
OTHERS: Final = "--others skip skips such lines"
LINES: Final = {
    "2026-11-28T23:00:00.5Z stdout F " + EVENT: ("a log line with an event", STRIP),
    "2026-11-28T23:00:00.5Z " + EVENT: ("a log line with an event", STRIP),
    "Nov 28 23:00:00 host vllm[17]: " + EVENT: ("a log line with an event", STRIP),
    "Nov 28 23:00:00 host vllm[17]: INFO " + EVENT: ("a log line with an event", STRIPPED),
    "Nov 28 23:00:00 host vllm[17]: started": ("of another program", f"with --strip, {OTHERS}"),
    "INFO 11-28 23:00:00 [api_server.py:1] started": ("of another program", OTHERS),
    "(EngineCore pid=17) INFO " + EVENT: ("a log line with an event", STRIPPED),
    f"[{EVENT}]": ("a JSON array of events", "jq -c '.[]' FILE"),
    json.dumps({"log": EVENT + "\n", "stream": "stdout", "time": "now"}): (
        "docker's json-file log",
        STRIP,
    ),
    json.dumps({"MESSAGE": EVENT, "_PID": "17"}): ("journald", "journalctl -o cat UNIT"),
    json.dumps({"timestamp": 1, "event": {"schema": "dynamo.request.trace.v1"}}): (
        "a request trace of NVIDIA Dynamo",
        "resident-claims routes",
    ),
    json.dumps({"target": "dynamo_runtime::runtime", "message": "started"}): (
        "a log line of NVIDIA Dynamo",
        "resident-claims routes",
    ),
    json.dumps({"id": "cmpl-1", "usage": None}): (
        "an answer to a client",
        "resident-claims routes",
    ),
    "schema: resident-claims/registry/1": ("a registry of claims", "it stands before"),
    json.dumps({"schema": "resident-claims/descriptor/1"}): (
        "a document of resident-claims/descriptor",
        "give a trace",
    ),
    json.dumps(stored(1)): ("a KV event without its batch", "docs/kv-events.md"),
}
FILES: Final = {
    b"BZh9\x00\x00": "bzip2 data",
    b"PK\x03\x04\x00\x00": "a zip archive",
    b"SQLite format 3\x00": "an SQLite database",
    b"\x93\xcb\x41\xda\xc2\x89\x1a\x4c\xe2\xfc\x91\x00": "batches of KV events in msgpack",
}


def refused(path: Path) -> InputError:
    """Why a file is refused."""
    with pytest.raises(InputError) as caught:
        check_files(path)
    return caught.value


class TestLines:
    @pytest.mark.parametrize("line", LINES)
    def test_named(self, tmp_path: Path, line: str) -> None:
        """A line is named for what wrote it."""
        path = tmp_path / "t"
        path.write_text(line + "\n")

        error = refused(path)

        what, remedy = LINES[line]
        assert what in error.reason
        assert error.hint.startswith(remedy)

    @pytest.mark.parametrize("line", [line for line in LINES if LINES[line][1] == STRIPPED])
    def test_stripped(self, tmp_path: Path, line: str) -> None:
        """The command takes away what stands before the event."""
        path = tmp_path / "t"
        path.write_text(line + "\n")
        command = STRIPPED.replace("FILE", str(path))

        assert EVENT + "\n" == subprocess.check_output(command, shell=True, text=True)

    @pytest.mark.parametrize(
        "line", ['{"kind":', "no event", '{"type": []}', '["a", {"b": 1]', '"text" {"a": 1}']
    )
    def test_nothing_known(self, tmp_path: Path, line: str) -> None:
        """Of other lines nothing is guessed."""
        path = tmp_path / "t"
        path.write_text(line + "\n")

        assert "looks like" not in refused(path).reason


class TestFiles:
    @pytest.mark.parametrize("head", FILES)
    def test_named(self, tmp_path: Path, head: bytes) -> None:
        """A file is named for how it begins."""
        path = tmp_path / "t"
        path.write_bytes(head + bytes(range(256)))

        assert f"not text: it looks like {FILES[head]}" == refused(path).reason

    @pytest.mark.parametrize(
        ("content", "what"),
        [(gzip.compress(b"{}", mtime=0), "gzip data"), (b"PAR1\x15\x04", "a Parquet")],
    )
    def test_piped(self, content: bytes, what: str) -> None:
        """A follower that gets them by a pipe, as lines, says so, too."""
        with pytest.raises(InputError, match=f"it looks like {what}.*; name the file, without"):
            parse(content.split(b"\n")[0], "-", 1)
