"""Events out of the step loop: never waited for, never lost silently."""

import errno
import os
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from monitor.check.files import check
from runtime_hooks.settings.config import SettingsError
from runtime_hooks.trace.file import TraceFile
from runtime_hooks.trace.journal import Journal, Line
from runtime_hooks.trace.names import claim_terms
from spec.claims.claim import ResidentClaim
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.events.alphabet import Kind
from spec.events.canonical import Event, Mark, StreamMark
from spec.stream.outcome import ModeVerdict
from tests.runtime_hooks.tiny import IDENTITY, Kept, claim

CLAIM = ResidentClaim.model_validate(
    {**claim(blocks=2), "cache_identity": IDENTITY, "object_id": "p", "footprint_blocks": 2}
)


class Stuck(Kept):
    """A sink that does not come back with events until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.stuck, self.go = threading.Event(), threading.Event()

    def take(self, lines: Sequence[Line]) -> None:
        if isinstance(lines[0], Event):
            self.stuck.set()
            assert self.go.wait(60)
        super().take(lines)


def fill(journal: Journal, first: int, count: int) -> None:
    for number in range(first, first + count):
        journal.write(number, Kind.REQUEST_FINISHED, {"request_id": f"r{number}"})


class TestQueue:
    def test_order(self) -> None:
        """What is written comes out numbered and in order, between the marks of the stream."""
        sink = Kept()
        journal = Journal("s", [sink], 10_000)
        fill(journal, 0, 5_000)
        journal.close()
        assert list(range(5_002)) == [line.sequence for line in sink.lines]
        assert 0 == journal.dropped
        first, last = sink.lines[0], sink.lines[-1]
        assert (Mark.STREAM_OPENED, Mark.STREAM_CLOSED) == (first.kind, last.kind)

    def test_dropped(self) -> None:
        """What finds the queue full is dropped and counted, and leaves a gap in the numbers."""
        sink = Stuck()
        journal = Journal("s", [sink], 10)
        fill(journal, 0, 1)
        assert sink.stuck.wait(10)
        fill(journal, 1, 30)
        sink.go.set()
        while journal.waiting:
            pass
        fill(journal, 31, 1)
        journal.close()
        assert 20 == journal.dropped
        assert [*range(12), 32, 33] == [line.sequence for line in sink.lines]

    def test_last_dropped(self) -> None:
        """Where nothing comes after what was dropped, the last mark has the number after it."""
        sink = Stuck()
        journal = Journal("s", [sink], 10)
        fill(journal, 0, 1)
        assert sink.stuck.wait(10)
        fill(journal, 1, 30)
        sink.go.set()
        journal.close()
        assert (Mark.STREAM_CLOSED, 32) == (sink.lines[-1].kind, sink.lines[-1].sequence)

    def test_not_finished(self, caplog: pytest.LogCaptureFixture) -> None:
        """Where the end is not written in time that is reported."""
        sink = Stuck()
        journal = Journal("s", [sink], 10)
        fill(journal, 0, 1)
        assert sink.stuck.wait(10)
        fill(journal, 1, 3)
        journal.close(0.01)
        assert "3 events are not written yet" in caplog.text
        sink.go.set()

    def test_broken_sink(self, caplog: pytest.LogCaptureFixture) -> None:
        """A sink that fails stops nobody: what is written from then on is dropped."""

        class Broken(Kept):
            def take(self, lines: Sequence[Line]) -> None:
                raise OSError("no space left")

        journal = Journal("s", [Broken()], 10)
        journal.close()
        fill(journal, 0, 1)
        assert isinstance(journal.fault, OSError)
        assert 1 == journal.dropped
        assert 1 == caplog.text.count("Broken is written no more")


class TestTrace:
    def write(self, path: Path, *, lost: str = "") -> None:
        """A claim is accepted; `lost` is what happens to the journal in the middle."""
        sink = TraceFile(str(path))
        journal = Journal("s", [sink], 100)
        journal.write(1, Kind.CLAIM_REGISTERED, claim_terms(CLAIM))
        journal.write(1, Kind.CLAIM_COMMITTED, claim_terms(CLAIM))
        journal.write(1, Kind.CLAIM_ACCEPTED, claim_terms(CLAIM))
        if lost:
            journal.gap()
        if lost != "at the end":
            journal.write(2, Kind.REQUEST_ARRIVED, {"request_id": "r2", "needed": 1, "usable": 9})
            fill(journal, 2, 1)
        journal.close()

    def verdict(self, path: Path) -> tuple[ModeVerdict, str]:
        report = check([str(path)], Mode.HARD_PROTECTED, Bundle.CONTRACT)
        return report.verdict, report.why

    def test_whole(self, tmp_path: Path) -> None:
        """A trace without a gap."""
        self.write(tmp_path / "t")
        assert ModeVerdict.KEPT is self.verdict(tmp_path / "t")[0]

    @pytest.mark.parametrize("lost", ["in between", "at the end"])
    def test_gap(self, tmp_path: Path, lost: str) -> None:
        """Wherever something is missing, the verdict is inconclusive."""
        self.write(tmp_path / "t", lost=lost)
        assert ModeVerdict.INCONCLUSIVE is self.verdict(tmp_path / "t")[0]

    def test_killed(self, tmp_path: Path) -> None:
        """Where the end is not written, as when the process was killed, nothing is kept."""
        self.write(tmp_path / "t")
        *lines, last = (tmp_path / "t").read_bytes().splitlines(keepends=True)
        assert b'"stream_closed"' in last
        (tmp_path / "t").write_bytes(b"".join(lines))
        verdict, why = self.verdict(tmp_path / "t")
        assert ModeVerdict.INCONCLUSIVE is verdict
        assert "the stream was cut" in why

    def test_never_overwritten(self, tmp_path: Path) -> None:
        """A file that is there stays as it is."""
        (tmp_path / "t").write_text("mine")
        with pytest.raises(SettingsError, match="File exists"):
            TraceFile(str(tmp_path / "t"))
        assert "mine" == (tmp_path / "t").read_text()

    def test_link(self, tmp_path: Path) -> None:
        """A link that was put there is not followed, wherever it leads."""
        (tmp_path / "t").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(SettingsError, match="File exists"):
            TraceFile(str(tmp_path / "t"))
        assert not (tmp_path / "elsewhere").exists()

    @pytest.mark.parametrize("torn", [False, True], ids=["at a line", "within one"])
    def test_full_disk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torn: bool) -> None:
        """Where the disk is full the trace is cut, and does not read as if the run ended there."""
        sink = TraceFile(str(tmp_path / "t"))
        journal = Journal("s", [sink], 100)
        journal.write(1, Kind.CLAIM_REGISTERED, claim_terms(CLAIM))
        journal.write(1, Kind.CLAIM_COMMITTED, claim_terms(CLAIM))
        journal.write(1, Kind.CLAIM_ACCEPTED, claim_terms(CLAIM))
        fill(journal, 3, 1)
        while (tmp_path / "t").read_bytes().count(b"\n") != 5:
            pass
        before = (tmp_path / "t").read_bytes()

        def full(lines: bytes) -> None:
            if torn:
                os.write(sink._file._file.fileno(), lines[:20])
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(sink._file, "write", full)
        fill(journal, 4, 3)
        journal.close()
        assert ModeVerdict.INCONCLUSIVE is self.verdict(tmp_path / "t")[0]
        assert before == (tmp_path / "t").read_bytes()

    def test_another_writes(self, tmp_path: Path) -> None:
        """What else appends to the file is not written over."""
        sink = TraceFile(str(tmp_path / "t"))
        with (tmp_path / "t").open("ab") as other:
            other.write(b"theirs\n")
        sink.take([StreamMark(kind=Mark.STREAM_OPENED, stream="s", sequence=0)])
        sink.close()
        first, second = (tmp_path / "t").read_bytes().splitlines()
        assert (b"theirs", b'{"kind"') == (first, second[:7])

    def test_alone(self, tmp_path: Path) -> None:
        """A sink that fails does not take the trace with it."""

        class Broken(Kept):
            def take(self, lines: Sequence[Line]) -> None:
                raise RuntimeError("a fault of the monitor's")

        broken = Broken()
        journal = Journal("s", [broken, TraceFile(str(tmp_path / "t"))], 100)
        fill(journal, 0, 6)
        journal.close()
        assert 8 == (tmp_path / "t").read_bytes().count(b"\n")
        assert 0 == journal.dropped
        assert broken.failed
