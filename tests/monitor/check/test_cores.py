"""Both judges give the same output, byte for byte."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from monitor.__main__ import main
from monitor.check.files import check
from monitor.input.errors import InputError
from monitor.native import CHOICE, library
from monitor.report.github import as_github
from monitor.report.report_text import as_text
from monitor.report.verdict import Report
from monitor.samples import sample
from spec.claims.states import Mode
from spec.cli.layout import Plain
from spec.contract.modes import Bundle
from spec.events.canonical import as_jsonl
from spec.stream.breaks import Limits
from spec.stream.outcome import ModeVerdict
from tests.golden.traces import Case, of_files
from tests.streams.traffic import Traffic, as_events

pytestmark = pytest.mark.skipif(library() is None, reason="no native core is built")

ROOT = Path(__file__).parents[3]
SAMPLES = sorted((ROOT / "monitor" / "samples").glob("*.jsonl"))
SHARED = ROOT.parent / "shared" / "traces"
CORES = ("python", "native")
TIGHT = Limits(live=3, ended=2, ids=2, requests=3)


def called(monkeypatch: pytest.MonkeyPatch, core: str, words: list[str]) -> int:
    """The exit code of a command that one of the judges serves."""
    monkeypatch.setenv(CHOICE, core)
    return main(words)


def same(
    monkeypatch: pytest.MonkeyPatch, path: Path, mode: Mode | None, limits: Limits | None = None
) -> None:
    """Compare what both judges report of a file, or the error that it ends in; and what is shown of
    the report with all claims and of the one with few of those that were kept.
    """
    found: list[Report | tuple[object, ...]] = []
    for core in CORES:
        monkeypatch.setenv(CHOICE, core)
        try:
            found.append(check([str(path)], mode, Bundle.CONTRACT, limits=limits))
        except InputError as error:
            found.append(error.args)
    assert found[0] == found[1], path
    if isinstance(found[1], Report):
        short = check([str(path)], mode, Bundle.CONTRACT, limits=limits, every=False)
        assert shown(found[1]) == shown(short), path


def shown(report: Report) -> list[str]:
    """What people see of a report."""
    texts = [as_text(report, Plain(), verbose=verbose) for verbose in (False, True)]
    return [*texts, as_github(report)]


def written(folder: Path, cases: Iterator[Case]) -> Iterator[tuple[Path, Case]]:
    """Each case as a file of its own."""
    for case in cases:
        path = folder / "trace.jsonl"
        path.write_bytes(case.lines)
        yield path, case


class TestReports:
    """The reports on traces."""

    @pytest.mark.parametrize("part", range(4))
    def test_traces(self, part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Reports on the traces of the repository are the same."""
        cases = [case for case in of_files() if case.name.partition("/")[0] != "shared"]
        assert len(cases) > 400
        for path, case in written(tmp_path, iter(cases[part::4])):
            same(monkeypatch, path, case.mode)
            same(monkeypatch, path, case.mode, TIGHT)

    @pytest.mark.skipif(not SHARED.is_dir(), reason="the folder beside the repository is absent")
    def test_shared(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Reports on the traces beside the repository are the same."""
        paths = sorted(SHARED.rglob("*.jsonl"))
        assert len(paths) > 50
        for path in paths:
            same(monkeypatch, path, None)
            same(monkeypatch, path, Mode.OFFLOADABLE, TIGHT)

    @pytest.mark.parametrize("span", [1, 2])
    def test_span(self, span: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Reports on a cache whose blocks cover several positions are the same."""
        lines = sample("hard_protected_refusal").read_text().splitlines()
        groups = [{"group": 0, "kind": "full", "span": span}]
        opened = {"kind": "stream_opened", "sequence": 0, "groups": groups}
        numbered = [json.loads(line) | {"sequence": at} for at, line in enumerate(lines, 1)]
        opened["stream"] = numbered[0]["stream"]
        closed = {
            "kind": "stream_closed",
            "stream": opened["stream"],
            "sequence": len(numbered) + 1,
        }
        path = tmp_path / "span.jsonl"
        path.write_text("".join(f"{json.dumps(line)}\n" for line in (opened, *numbered, closed)))
        same(monkeypatch, path, None)

    def test_crowd(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Reports on a stream with more ended claims than are listed are the same."""
        path = tmp_path / "crowd.jsonl"
        path.write_bytes(as_jsonl(as_events(Traffic(3_000, 40, tuple(Mode)))))
        same(monkeypatch, path, None)
        same(monkeypatch, path, None, Limits(ended=20, ids=30))
        same(monkeypatch, path, Mode.EXPIRING, Limits(live=30))

    def test_every(self, tmp_path: Path) -> None:
        """Unless every claim is asked for, one of those that were kept is listed of each mode, and
        the others are counted; of a claim that is asked for, and of several files, all are listed.
        """
        path = tmp_path / "crowd.jsonl"
        path.write_bytes(as_jsonl(as_events(Traffic(3_000, 40, tuple(Mode)))))
        whole = check([str(path)], None, Bundle.CONTRACT)
        short = check([str(path)], None, Bundle.CONTRACT, every=False)
        listed = len(whole.claims)
        assert len(Mode) < listed
        assert [*Mode] == [claim.mode for claim in short.claims]
        assert {ModeVerdict.KEPT: listed - len(Mode)} == short.forgotten.verdicts
        assert whole.forgotten.claims == short.forgotten.claims == 0
        name = whole.claims[-1].claim_id
        (asked,) = check([str(path)], None, Bundle.CONTRACT, claim=name, every=False).claims
        assert whole.claims[-1] == asked
        copy = shutil.copy(path, tmp_path / "copy.jsonl")
        several = check([str(path), str(copy)], None, Bundle.CONTRACT, every=False)
        assert 2 * listed == len(several.claims)

    @pytest.mark.parametrize(
        "lines",
        [
            b"",
            b"\n \n",
            b"{}\n",
            b'{"kind":"claim_rejected","claim_id":"a"}\n{"kind":"claim_rejected","claim_id":"a",}\n',
            b'\n{"kind":"claim_rejected","claim_id":"a","claim_id":"b"}\n',
            b'{"kind":"claim_rejected","claim_id":"a"}\r\n\r\n{"kind":"claim_retired","claim_id":"b"}',
            b'{"kind":"claim_rejected","claim_id":"a","stream":"s"}\n'
            b'{"kind":"stream_closed","stream":"t"}\n{"kind":"claim_rejected","claim_id":"c"}\n',
            b'{"kind":"stream_opened","stream":"s","rank":0,"ranks":2,"sequence":0}\n'
            b'{"kind":"claim_rejected","claim_id":"a","stream":"s","sequence":1,"time_ns":1}\n',
            b'{"kind":"stream_opened","sequence":0,"observes":["block_cached"]}\n'
            b'{"kind":"claim_registered","claim_id":"a","mode":"expiring","sequence":1}\n'
            b'{"kind":"claim_registered","claim_id":"b","sequence":5}\n'
            b'{"kind":"claim_registered","claim_id":"a","sequence":0}\n',
            b'{"kind":"claim_rejected","claim_id":"\xff"}\n',
            b'{"\\u006bind":"claim_rejected","claim_id":"a"}\n{"kind":"claim_rejected","cl\\"":1}\n',
            b'{"kind":"claim_rejected","claim_id":"a"}\n' + b"x" * (1 << 21),
        ],
    )
    def test_lines(self, lines: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Lines that are blank, bad, marks, of several streams or of a rank are taken the same."""
        path = tmp_path / "trace.jsonl"
        path.write_bytes(lines)
        same(monkeypatch, path, None)
        same(monkeypatch, path, Mode.HARD_PROTECTED)

    def test_two_forms(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Files that begin in one form and go on in another are judged the same."""
        folder = ROOT / "tests" / "obligations" / "traces"
        forms = [*sorted(folder.glob("*.*.kept.jsonl"))[::12], SAMPLES[0]]
        assert len(forms) > 2
        path = tmp_path / "trace.jsonl"
        for one in forms:
            for other in forms:
                path.write_bytes(one.read_bytes() + other.read_bytes())
                same(monkeypatch, path, None)


class TestOutput:
    """What the command prints."""

    @pytest.mark.parametrize(
        "options",
        [
            [],
            ["--verbose"],
            ["--format", "json"],
            ["--format", "junit"],
            ["--format", "github"],
            ["--strict"],
            ["--bundle", "paper"],
            ["--mode", "hard_protected"],
            ["--claim", "claim:a"],
            ["--lenient", "--format", "json"],
            ["--reorder", "10", "--format", "json"],
            ["--jobs", "2"],
            ["--max-live", "1", "--max-requests", "1", "--max-ids", "1"],
        ],
        ids=" ".join,
    )
    def test_options(
        self,
        options: list[str],
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """Text, JSON, JUnit and GitHub annotations are the same with every option."""
        files = [SAMPLES[:1], SAMPLES]
        for paths in files:
            found = []
            for core in CORES:
                code = called(monkeypatch, core, ["check", *map(str, paths), *options])
                found.append((code, capsys.readouterr()))
            assert found[0] == found[1]
            assert found[0][1].out

    def test_standard_input(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Lines from standard input are judged the same."""
        found = []
        for core in CORES:
            stdin = io.TextIOWrapper(io.BytesIO(SAMPLES[0].read_bytes()))
            monkeypatch.setattr("sys.stdin", stdin)
            code = called(monkeypatch, core, ["check", "-", "--format", "json"])
            found.append((code, capsys.readouterr()))
        assert found[0] == found[1]
        assert '"file": "-"' in found[0][1].out

    def test_progress(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Progress ends with the size of all files."""
        paths = [shutil.copy(each, tmp_path) for each in SAMPLES[:2]]
        sizes: list[int] = []
        monkeypatch.setenv(CHOICE, "native")
        check([*map(str, paths)], None, Bundle.CONTRACT, progress=sizes.append)
        assert sum(Path(each).stat().st_size for each in paths) == sizes[-1]


class TestChoice:
    """The environment chooses the judge."""

    @pytest.mark.parametrize(("core", "says"), [("rust", "is 'rust'; write native or python")])
    def test_unknown(
        self,
        core: str,
        says: str,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """A judge that does not exist is bad input, in one sentence."""
        assert 2 == called(monkeypatch, core, ["check", str(SAMPLES[0])])
        out, err = capsys.readouterr()
        assert not out
        assert says in err
        assert 1 == err.count("\n")

    def test_absent(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A native core that was not built is bad input; by default the judge in Python runs."""
        monkeypatch.setattr("monitor.native.library", lambda: None)
        assert 2 == called(monkeypatch, "native", ["check", str(SAMPLES[0])])
        assert "no core is built of these sources; run make native-core" in capsys.readouterr().err
        monkeypatch.delenv(CHOICE)
        assert 0 == main(["check", str(SAMPLES[0]), "--mode", "hard_protected"])
