"""A trace is written so that the reader takes each line, and sees what is missing."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.check.files import check_files
from monitor.input.errors import InputError
from monitor.input.sources import Source
from monitor.trace_writer import TraceWriter
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.language.errors import SpecError
from tests.monitor.input.test_given import lines

EVICTED = {"kind": "block_evicted", "block_ids": [7]}
KEPT: list[dict[str, Any]] = [
    {
        "kind": "claim_registered",
        "claim_id": "a",
        "cache_identity": "model/16",
        "predicate": "leading_prefix_at_least(2)",
        "mode": "hard_protected",
        "owner_scope": "tenant",
    },
    {"kind": "claim_committed", "claim_id": "a", "footprint": 2},
    {"kind": "claim_accepted", "claim_id": "a", "footprint": 2},
    {"kind": "block_cached", "claim_id": "a", "block_ids": [7, 8], "positions": [0, 1]},
    {"kind": "claim_materialized", "claim_id": "a"},
    {"kind": "claim_retired", "claim_id": "a", "by": "tenant"},
    {"kind": "claim_released", "claim_id": "a", "by": "tenant"},
]


def written(path: Path) -> list[dict[str, Any]]:
    """The lines of a trace."""
    return [json.loads(line) for line in path.read_text().splitlines()]


class TestTraceWriter:
    def test_lines(self, tmp_path: Path) -> None:
        """Events stand between the marks, are numbered, and name the stream."""
        path = tmp_path / "t.jsonl"

        with TraceWriter(path, stream="s") as trace:
            trace.write(Event(kind=Kind.BLOCK_EVICTED, block_ids=(7,)))
            trace.write(EVICTED)

        assert written(path) == [
            {"kind": "stream_opened", "stream": "s", "sequence": 0},
            {"kind": "block_evicted", "stream": "s", "sequence": 1, "block_ids": [7]},
            {"kind": "block_evicted", "stream": "s", "sequence": 2, "block_ids": [7]},
            {"kind": "stream_closed", "stream": "s", "sequence": 3},
        ]

    def test_is_kept(self, tmp_path: Path) -> None:
        """What was written is judged: kept."""
        path = tmp_path / "t.jsonl"

        with TraceWriter(path) as trace:
            for event in KEPT:
                trace.write(event)

        assert "kept" == check_files(path, "hard_protected").verdict

    @given(st.lists(lines(), max_size=4))
    def test_the_reader_takes_it(self, events: list[dict[str, Any]]) -> None:
        """Whatever was accepted is read again, line by line, whatever was refused in between."""
        file, accepted = io.BytesIO(), 0
        with TraceWriter(file, stream="s") as trace:
            for event in events:
                fields = {n: v for n, v in event.items() if n not in ("sequence", "stream")}
                try:
                    trace.write(fields)
                except InputError:
                    continue
                accepted += 1
        file.seek(0)

        assert accepted + 2 == len(list(Source(["-"], stdin=file)))

    @pytest.mark.parametrize(
        ("event", "says"),
        [
            ({"kind": "block_evictd"}, "kind: there is no kind .*; did you mean block_evicted"),
            ({"kind": "block_evicted", "blocks": [1]}, "blocks: no such field; did you mean"),
            ({"block_ids": [1]}, "kind: an event without a kind"),
            ({"kind": "stream_closed"}, "kind: the writer states the marks"),
            ({**EVICTED, "sequence": 4}, "sequence: the writer numbers the events"),
            ({**EVICTED, "stream": "t"}, "stream: 't' is not the stream of this trace"),
        ],
    )
    def test_refused(self, event: dict[str, Any], says: str, tmp_path: Path) -> None:
        """A refused event leaves the file as it was, and is named with the line it would have."""
        path = tmp_path / "t.jsonl"
        with TraceWriter(path, stream="s") as trace:
            trace.write(EVICTED)
            before = path.read_bytes()

            with pytest.raises(InputError, match=says) as refused:
                trace.write(event)

            assert (before, 3) == (path.read_bytes(), refused.value.line)

    def test_refusal_is_a_gap(self, tmp_path: Path) -> None:
        """Who swallows a refusal is not told that the mode was kept."""
        path = tmp_path / "t.jsonl"
        with TraceWriter(path) as trace:
            for event in KEPT[:5]:
                trace.write(event)
            with pytest.raises(InputError):
                trace.write({"kind": "block_evicted", "block_id": 7})
            for event in KEPT[5:]:
                trace.write(event)

        assert "inconclusive" == check_files(path, "hard_protected").verdict

    def test_last_refusal_is_a_gap(self, tmp_path: Path) -> None:
        """The number of the end tells that the last event is missing."""
        path = tmp_path / "t.jsonl"
        with TraceWriter(path) as trace:
            for event in KEPT[:5]:
                trace.write(event)
            with pytest.raises(InputError):
                trace.write({"kind": "block_evicted", "block_id": 7})

        assert "inconclusive" == check_files(path, "hard_protected").verdict

    def test_exception_is_a_cut(self, tmp_path: Path) -> None:
        """A block that is left by an exception writes no end."""
        path = tmp_path / "t.jsonl"

        def run() -> None:
            with TraceWriter(path) as trace:
                for event in KEPT[:5]:
                    trace.write(event)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            run()

        assert "claim_materialized" == written(path)[-1]["kind"]
        assert "inconclusive" == check_files(path, "hard_protected").verdict

    def test_never_over_another(self, tmp_path: Path) -> None:
        """A file that is there is left alone."""
        path = tmp_path / "t.jsonl"
        path.write_text("mine")

        with pytest.raises(FileExistsError):
            TraceWriter(path)

        assert "mine" == path.read_text()

    @pytest.mark.parametrize(
        ("stream", "observes"),
        [("s" * 1025, None), ("s", ["block_evictd"]), ("s", ["claim_harmed"])],
    )
    def test_wrong_stream(self, stream: str, observes: list[str] | None, tmp_path: Path) -> None:
        """What no trace can state of its stream makes no file."""
        path = tmp_path / "t.jsonl"

        with pytest.raises(InputError):
            TraceWriter(path, stream=stream, observes=observes)

        assert not path.exists()

    def test_observes(self, tmp_path: Path) -> None:
        """What the hooks observe is on the first line."""
        path = tmp_path / "t.jsonl"

        TraceWriter(path, observes=["block_cached"]).close()

        assert ["block_cached"] == written(path)[0]["observes"]

    def test_clock(self, tmp_path: Path) -> None:
        """Lines get the time of the clock where they have none."""
        path, ticks = tmp_path / "t.jsonl", iter([10, 20, 30])

        with TraceWriter(path, clock=lambda: next(ticks)) as trace:
            trace.write(EVICTED)
            trace.write({**EVICTED, "time_ns": 25})

        assert [10, 20, 25, 30] == [line["time_ns"] for line in written(path)]

    @pytest.mark.parametrize("call", ["write", "close"])
    def test_within_a_call(self, call: str, tmp_path: Path) -> None:
        """A call from the clock or a signal handler, in the midst of another, does not wait for
        ever: it is refused, and a gap if that is swallowed."""
        path, ticks, refused = tmp_path / "t.jsonl", itertools.count(), list[str]()

        def clock() -> int:
            if (now := next(ticks)) == 3:
                try:
                    trace.write(EVICTED) if call == "write" else trace.close()
                except SpecError as error:
                    refused.append(str(error))
            return now

        with TraceWriter(path, clock=clock) as trace:
            for event in KEPT:
                trace.write(event)

        assert [True] == ["is being written to" in each for each in refused]
        assert [0, 1, 2, 3, 5, 6, 7, 8, 9] == [line["sequence"] for line in written(path)]
        assert "inconclusive" == check_files(path).verdict

    def test_closed(self, tmp_path: Path) -> None:
        """After the end nothing is written, and to close again changes nothing."""
        path = tmp_path / "t.jsonl"
        trace = TraceWriter(path)
        trace.close()
        before = path.read_bytes()
        trace.close()

        with pytest.raises(SpecError, match="is closed"):
            trace.write(EVICTED)

        assert before == path.read_bytes()

    def test_file_object(self, tmp_path: Path) -> None:
        """A file that the caller opened is written to, compressed or not, and left open."""
        path = tmp_path / "t.jsonl.gz"
        with gzip.open(path, "xb") as file:
            assert not isinstance(file, io.TextIOWrapper)
            with TraceWriter(file) as trace:
                for event in KEPT:
                    trace.write(event)
            assert not file.closed

        assert "kept" == check_files(path, "hard_protected").verdict

    def test_named_gz(self, tmp_path: Path) -> None:
        """A name that promises gzip is refused, since the reader would refuse the file."""
        with pytest.raises(InputError, match=r"gzip\.open"):
            TraceWriter(tmp_path / "t.jsonl.gz")

    def test_part_of_a_line(self) -> None:
        """After a part of a line nothing is written into a file that cannot be cut."""
        full = _Full(100)
        trace = TraceWriter(full)
        trace.write(EVICTED)
        with pytest.raises(OSError, match="no space"):
            trace.write(EVICTED)
        held = full.getvalue()

        with pytest.raises(SpecError, match="interrupted"):
            trace.write(EVICTED)
        trace.close()

        assert held == full.getvalue()

    def test_part_is_taken_back(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of a file that is opened here the part of a line is cut off, and its number is gone."""
        path = tmp_path / "t.jsonl"
        trace = TraceWriter(path)
        before = path.read_bytes()
        monkeypatch.setattr(trace, "_file", _Torn(trace._file))
        with pytest.raises(OSError, match="no space"):
            trace.write(EVICTED)
        assert before == path.read_bytes()
        trace.write(EVICTED)
        trace.close()

        assert [0, 2, 3] == [line["sequence"] for line in written(path)]

    def test_another_writes(self, tmp_path: Path) -> None:
        """What else writes to the file writes over nothing, and nothing is written over it."""
        path = tmp_path / "t.jsonl"
        trace = TraceWriter(path)
        with path.open("ab") as other:
            trace.write(EVICTED)
            other.write(b"theirs, which is longer than a line of ours, or so one would think\n" * 9)
            other.flush()
            trace.write(EVICTED)
        trace.close()

        lines = path.read_text().splitlines()
        assert 9 == sum(line.startswith("theirs") for line in lines)
        assert [0, 1, 2, 3] == [json.loads(each)["sequence"] for each in lines if each[0] == "{"]

    def test_part_amid_others(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A part of a line is not cut off together with what another has written."""
        path = tmp_path / "t.jsonl"
        trace = TraceWriter(path)
        with path.open("ab") as other:
            other.write(b"theirs\n")
        before = path.read_bytes()
        monkeypatch.setattr(trace, "_file", _Torn(trace._file))
        with pytest.raises(OSError, match="no space"):
            trace.write(EVICTED)
        with pytest.raises(SpecError, match="written in part"):
            trace.write(EVICTED)
        trace.close()

        assert path.read_bytes().startswith(before)

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
    def test_fork(self, tmp_path: Path) -> None:
        """A process that was forked from the writer's neither writes nor ends its stream."""
        path = tmp_path / "t.jsonl"
        trace = TraceWriter(path)
        trace.write(EVICTED)
        child = os.fork()
        if not child:
            refused = 1
            try:
                trace.write(EVICTED)
            except SpecError as error:
                refused = 0 if "belongs to the process that opened it" in str(error) else 2
            trace.close()
            os._exit(refused)
        assert 0 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        trace.write(EVICTED)
        trace.close()

        assert [0, 1, 2, 3] == [line["sequence"] for line in written(path)]

    def test_threads(self, tmp_path: Path) -> None:
        """Calls from several threads leave whole lines with their numbers in order."""
        path = tmp_path / "t.jsonl"
        with TraceWriter(path) as trace:

            def work() -> None:
                for _ in range(200):
                    trace.write(EVICTED)

            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        assert list(range(802)) == [line["sequence"] for line in written(path)]


class _Full(io.BytesIO):
    """A file with room for so many bytes."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self._room = room

    def write(self, data: Any) -> int:
        taken = data[: self._room - self.tell()]
        if not taken:
            raise OSError("no space left")
        return super().write(taken)


class _Torn:
    """A file whose first line is torn."""

    def __init__(self, file: Any) -> None:
        self._file, self._calls = file, 0

    def write(self, data: Any) -> int:
        self._calls += 1
        if self._calls == 2:
            raise OSError("no space left")
        taken: int = self._file.write(data[:9] if self._calls == 1 else data)
        return taken

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class TestRanks:
    """Writers of ranks declare which one they are, and what they write is merged."""

    def test_merged(self, tmp_path: Path) -> None:
        """The traces of all ranks are judged as one stream, by the clock that they share."""
        clock = itertools.count(1)
        paths = [str(tmp_path / f"{rank}.jsonl") for rank in range(2)]
        traces = [
            TraceWriter(path, stream="s", clock=lambda: next(clock), rank=rank, ranks=2)
            for rank, path in enumerate(paths)
        ]
        for number, event in enumerate(KEPT):
            traces[number % 2].write(event)
        for trace in traces:
            trace.close()
        opened = written(tmp_path / "1.jsonl")[0]
        assert (1, 2) == (opened["rank"], opened["ranks"])
        assert "kept" == check_files(paths).verdict
        assert "inconclusive" == check_files(paths[:1]).verdict

    def test_engine(self, tmp_path: Path) -> None:
        """Their streams may have names of their own."""
        clock = itertools.count(1)
        paths = [str(tmp_path / f"{rank}.jsonl") for rank in range(2)]
        traces = [
            TraceWriter(
                path,
                stream=f"s/{rank}",
                clock=lambda: next(clock),
                rank=rank,
                ranks=2,
                engine="s",
            )
            for rank, path in enumerate(paths)
        ]
        for number, event in enumerate(KEPT):
            traces[number % 2].write(event)
        for trace in traces:
            trace.close()
        report = check_files(paths)
        assert "kept" == report.verdict
        assert ["s"] == [claim.stream for claim in report.claims]

    @pytest.mark.parametrize(
        ("fields", "says"),
        [
            ({"rank": 2, "ranks": 2}, "no rank 2 of 2"),
            ({"rank": 0}, "no rank 0"),
            ({"ranks": 2}, "no rank"),
            ({"rank": 0, "ranks": 65}, "at most 64"),
            ({"rank": 0, "ranks": 2, "stream": ""}, "without a name"),
            ({"engine": "e"}, "only a rank names an engine"),
            ({"rank": "0", "ranks": 2}, "rank"),
        ],
    )
    def test_refused(self, tmp_path: Path, fields: dict[str, Any], says: str) -> None:
        """What no trace can state is refused, and no file is left."""
        path = tmp_path / "t"
        with pytest.raises(InputError, match=says):
            TraceWriter(path, **{"stream": "s", **fields})
        assert not path.exists()

    def test_time(self, tmp_path: Path) -> None:
        """An event of a rank states its time, or the clock does."""
        with TraceWriter(tmp_path / "t", stream="s", rank=0, ranks=2) as trace:
            with pytest.raises(InputError, match="a rank states the time of each event"):
                trace.write(EVICTED)
            trace.write({**EVICTED, "time_ns": 5})
        assert [0, 2, 3] == [line["sequence"] for line in written(tmp_path / "t")]
        with TraceWriter(tmp_path / "one", stream="s", rank=0, ranks=1) as trace:
            trace.write(EVICTED)
