"""A file of which something was not understood shows nothing."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from monitor.__main__ import main
from monitor.evidence import take as taking
from monitor.evidence.take import take_evidence
from monitor.input.sources import Source
from spec.claims.states import Mode
from spec.lowering.evidence import EvidenceFile
from tests.monitor.traces import Line, Trace, text, write
from tests.monitor.traces_canonical import canonical, canonical_refusal
from tests.monitor.traces_connector import (
    connector_failure,
    connector_fallback,
    connector_success,
    plain_connector,
)

Capture = pytest.CaptureFixture[str]
STRANGE = plain_connector("gpu_hiccup", "r1")


def in_run(name: str, trace: Trace) -> Trace:
    """The same in a run of another name."""
    return [{**line, "hook_scope": name} for line in trace]


def taken(folder: Path, *traces: Trace) -> EvidenceFile:
    """The evidence of offloadable of these traces, in files of one folder."""
    paths = [write(folder / f"t{number}.jsonl", trace) for number, trace in enumerate(traces)]
    return take_evidence(paths, Mode.OFFLOADABLE, folder)


def files(evidence: EvidenceFile) -> set[int]:
    """The files that show something."""
    return {item.file for item in evidence.shown}


class TestUnknownKinds:
    """Lines of kinds that nobody knows, in a recorded dialect."""

    @pytest.mark.parametrize("at", [0, 8, 17], ids=["first", "within", "last"])
    def test_none_shown(self, tmp_path: Path, at: int) -> None:
        """Wherever such a line stands, its file shows nothing, and says why."""
        trace: list[Line] = [*connector_success()]
        trace.insert(at, STRANGE)
        evidence = taken(tmp_path, trace)
        assert () == evidence.shown
        barred = {u.obligation for u in evidence.unshown if u.verdict == "inconclusive"}
        assert {item.obligation for item in taken(tmp_path, connector_success()).shown} <= barred
        why = f"line {at + 1} is of an unknown kind, gpu_hiccup"
        assert all(u.why.endswith(why) for u in evidence.unshown)

    def test_other_files(self, tmp_path: Path) -> None:
        """Another file with another run shows what it showed."""
        strange = in_run("run-2", [*connector_success(), STRANGE])
        assert {1} == files(taken(tmp_path, strange, connector_failure()))

    def test_other_part(self, tmp_path: Path) -> None:
        """Another file with a part of the same run does not: evidence is of whole streams."""
        evidence = taken(tmp_path, [STRANGE], connector_success())
        assert set() == files(evidence)
        whys = {u.why for u in evidence.unshown if u.file == 1}
        assert all("in another file, of which line 1 is of an unknown kind" in why for why in whys)

    def test_violated(self, tmp_path: Path) -> None:
        """What such a file violates is violated all the same."""
        evidence = taken(tmp_path, [*connector_fallback(), STRANGE])
        broken = {u.obligation for u in evidence.unshown if u.verdict == "violated"}
        assert "restoration_failure_outcome" in broken
        assert () == evidence.shown

    def test_command(self, tmp_path: Path, capsys: Capture) -> None:
        """The command exits 3, and says which line it is."""
        path = write(tmp_path / "t.jsonl", [*connector_success(), STRANGE])
        assert 3 == main(["evidence", path, "--mode", "offloadable"])
        said = " ".join(capsys.readouterr().out.split())
        assert said.startswith("none of the 7 obligations of offloadable shown")
        assert "line 18 is of an unknown kind, gpu_hiccup" in said


class TestContradictions:
    """Facts that contradict each other, in the canonical form."""

    TWICE = canonical("request_arrived", request_id="r", needed=1, usable=10)

    def taken(self, folder: Path, trace: Trace) -> EvidenceFile:
        path = write(folder / "t.jsonl", trace)
        return take_evidence([path], Mode.HARD_PROTECTED, folder)

    def test_none_shown(self, tmp_path: Path) -> None:
        """A file in which a request arrives twice shows nothing; with one arrival it does."""
        assert self.taken(tmp_path, [*canonical_refusal(), self.TWICE]).shown
        evidence = self.taken(tmp_path, [*canonical_refusal(), self.TWICE, self.TWICE])
        assert () == evidence.shown
        assert all("facts contradict" in u.why for u in evidence.unshown)


class TestOtherCauses:
    """What else bars a file."""

    def test_skipped(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """If lines were ever skipped, as `check --lenient` does, their file would show nothing."""
        monkeypatch.setattr(taking, "Source", partial(Source, lenient=True))
        path = tmp_path / "t.jsonl"
        path.write_bytes(text(connector_success()) + b"{\n")
        other = write(tmp_path / "u.jsonl", in_run("run-2", connector_success()))
        evidence = take_evidence([str(path), other], Mode.OFFLOADABLE, tmp_path)
        assert {1} == files(evidence)
        whys = {u.why for u in evidence.unshown if u.file == 0}
        assert all(why.endswith("1 line could not be read") for why in whys)
