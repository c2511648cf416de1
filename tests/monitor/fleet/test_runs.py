"""How a file is split into the runs of its streams."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterable
from pathlib import Path

import pytest

from monitor.fleet import runs
from monitor.fleet.runs import Run, natural, runs_of, unpacked

A, B = b'{"kind":"x","stream":"a"}', b'{"kind":"x","stream":"b"}'
BAD = b"{no"


def written(folder: Path, *lines: bytes) -> str:
    path = folder / "trace.jsonl"
    path.write_bytes(b"\n".join(lines))
    return str(path)


def numbers(found: Iterable[Run]) -> dict[str, list[int]]:
    """The numbers of the lines of each stream."""
    every: dict[str, list[int]] = {}
    for run in found:
        every.setdefault(run.stream, []).extend(line.number for line in unpacked(run.data))
    return every


class TestStreams:
    def test_each_stream_has_its_lines_in_order(self, tmp_path: Path) -> None:
        """Lines of streams that are interleaved come as one run of each, with their numbers."""
        path = written(tmp_path, A, B, A, b"", B)
        found = [*runs_of(path)]
        assert {"a": [1, 3], "b": [2, 5]} == numbers(found)
        assert [("a", 1), ("b", 2)] == [(run.stream, run.first) for run in found]

    def test_a_long_file_comes_in_several_runs(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where more is held than may be, the runs so far are passed on."""
        monkeypatch.setattr(runs, "RUN_BYTES", 200)
        found = [*runs_of(written(tmp_path, *[A] * 10))]
        assert 1 < len(found)
        assert {"a": [*range(1, 11)]} == numbers(found)

    def test_lines_without_a_stream_share_one(self, tmp_path: Path) -> None:
        """Lines that name no stream, and lists of KV events, are the stream without a name."""
        path = written(tmp_path, b'{"frames":["a"]}', b"[1,2]", A)
        assert {"": [1, 2], "a": [3]} == numbers(runs_of(path))

    @pytest.mark.parametrize(
        "content", [b"\n".join([A, B]), gzip.compress(b"\n".join([A, B]), mtime=0)]
    )
    def test_content_is_read_as_a_file_is(self, content: bytes) -> None:
        """What another machine holds is read from memory, compressed or not."""
        assert {"a": [1], "b": [2]} == numbers(runs_of("s3://x", content=io.BytesIO(content)))


class TestStrange:
    def test_each_stream_gets_a_line_that_cannot_be_read(self, tmp_path: Path) -> None:
        """A stream gets it before its next line, at the end of the file, or before its first."""
        path = written(tmp_path, A, BAD, A, B)
        assert {"a": [1, 2, 3], "b": [2, 4], "": [2]} == numbers(runs_of(path))

    def test_of_several_in_a_row_a_stream_gets_the_first(self, tmp_path: Path) -> None:
        """Lines that cannot be read count once between two lines of a stream."""
        path = written(tmp_path, A, BAD, BAD, A, BAD)
        assert [1, 2, 4, 5] == numbers(runs_of(path))["a"]

    @pytest.mark.parametrize(
        "line",
        [b'{"stream":"a","stream":"b"}', b'{"stream":"a","str\\u0065am":"b"}', b'{"stream":7}'],
    )
    def test_a_line_with_two_streams_is_of_neither(self, tmp_path: Path, line: bytes) -> None:
        """Which stream is meant is not known, so each stream may lack the line."""
        assert {"b": [1, 2], "": [2]} == numbers(runs_of(written(tmp_path, B, line)))

    @pytest.mark.parametrize("line", [b'{"\xf3tream":"a"}', b'{"stream":"a","claim_id":"\xff"}'])
    def test_a_line_that_is_no_text_is_of_none(self, tmp_path: Path, line: bytes) -> None:
        """Any byte of it may be wrong, so each stream may lack the line."""
        assert {"b": [1, 2], "": [2]} == numbers(runs_of(written(tmp_path, B, line)))

    def test_one_stream_more_than_is_followed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The line of one stream more cannot be read, so memory is bounded."""
        monkeypatch.setattr(runs, "STREAMS", 1)
        assert {"a": [1, 2], "": [2]} == numbers(runs_of(written(tmp_path, A, B)))

    def test_damaged_data_reach_all_streams(self, tmp_path: Path) -> None:
        """A truncated file says so after the last line of each stream."""
        path = tmp_path / "trace.jsonl.gz"
        path.write_bytes(gzip.compress(b"\n".join([A, B] * 20_000), 0)[:-100_000])
        found = numbers(runs_of(str(path)))
        assert found["a"][-1] == found["b"][-1] == found[""][-1]

    def test_a_missing_file_is_said(self, tmp_path: Path) -> None:
        """A file that is gone leaves a line that no stream can read, and no traceback."""
        (run,) = runs_of(str(tmp_path / "gone.jsonl"))
        (line,) = unpacked(run.data)
        assert (("", "no such file")) == (run.stream, line.why)


class TestNames:
    def test_numbers_in_names_count(self) -> None:
        """Files are in the order of their numbers, also where those have no zeros before them."""
        names = ["p-10.gz", "p-9.gz", "a/p-1", "p-9.jsonl"]
        assert ["a/p-1", "p-9.gz", "p-9.jsonl", "p-10.gz"] == sorted(names, key=natural)
