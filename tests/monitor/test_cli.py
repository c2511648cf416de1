"""`python -m monitor`, in process: exit codes, what is printed where, and bad input."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from monitor.__main__ import main
from monitor.cli import check as cli
from spec import __version__
from tests.monitor.traces import CLAIM, Trace, text, without, write
from tests.monitor.traces_allocator import allocator, allocator_refusal, allocator_victim
from tests.monitor.traces_canonical import canonical, canonical_claim, canonical_refusal
from tests.monitor.traces_connector import connector_fallback, connector_success

Capture = pytest.CaptureFixture[str]
GOOD = text(canonical_refusal())
VICTIM = [*allocator_refusal(), allocator_victim(100)]


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output as it is when it is piped."""
    for name in ("FORCE_COLOR", "COLUMNS", "TTY_COMPATIBLE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def good(tmp_path: Path) -> str:
    """A file that keeps hard_protected."""
    return write(tmp_path / "good.jsonl", canonical_refusal())


def words(printed: str) -> str:
    """The text without its line breaks."""
    return " ".join(printed.split())


class TestExitCodes:
    """0 kept, 1 violated, 2 bad input, 3 inconclusive, 70 our own fault."""

    @pytest.mark.parametrize(
        ("trace", "mode", "code"),
        [
            (canonical_refusal(), "hard_protected", 0),
            (allocator_refusal(), "hard_protected", 0),
            (connector_success(), "offloadable", 0),
            (VICTIM, "hard_protected", 1),
            (connector_fallback(), "offloadable", 1),
            (
                without(connector_success(), "offload_request_finished_no_pending_jobs")[:11],
                "offloadable",
                3,
            ),
            ([allocator("gpu_hiccup")], "hard_protected", 3),
        ],
    )
    def test_verdicts(
        self, tmp_path: Path, capsys: Capture, trace: Trace, mode: str, code: int
    ) -> None:
        """Text and JSON exit alike, and agree about the verdict; standard error is silent."""
        path = write(tmp_path / "t.jsonl", trace)
        assert code == main(["check", path, "--mode", mode])
        shown = capsys.readouterr()
        assert code == main(["check", path, "--mode", mode, "--format", "json"])
        report = json.loads(capsys.readouterr().out)
        assert shown.out.startswith(f"{report['verdict']}: ")
        assert "" == shown.err

    def test_flags(self, tmp_path: Path, good: str, capsys: Capture) -> None:
        """--strict, --claim and --bundle change the verdict as they say."""
        check = ["check", good, "--mode", "hard_protected"]
        assert 3 == main([*check, "--strict"])
        assert 0 == main([*check, "--claim", CLAIM])
        assert 3 == main([*check, "--claim", "nobody"])
        assert "claim nobody does not occur" in capsys.readouterr().out
        silent = without(canonical_refusal(), "claim_materialized")
        path = write(tmp_path / "silent.jsonl", silent)
        assert 1 == main(["check", path, "--mode", "hard_protected"])
        assert 0 == main(["check", path, "--mode", "hard_protected", "--bundle", "paper"])

    def test_lenient(self, tmp_path: Path, capsys: Capture) -> None:
        """A bad line is refused, or skipped, counted and never part of a pass."""
        path = tmp_path / "bad.jsonl"
        path.write_bytes(GOOD + b"{\n")
        check = ["check", str(path), "--mode", "hard_protected"]
        assert 2 == main(check)
        assert "" == capsys.readouterr().out
        assert 3 == main([*check, "--lenient"])
        out = words(capsys.readouterr().out)
        assert "inconclusive: 1 line could not be read" in out
        assert "bad.jsonl:9: not JSON" in out

    def test_misspelt(self, tmp_path: Path, capsys: Capture) -> None:
        """A misspelt kind hides nothing: it is bad input, and skipped never part of a pass."""
        path = tmp_path / "bad.jsonl"
        path.write_bytes(GOOD + b'{"kind":"block_evict","block_ids":[100],"sequence":8}\n')
        check = ["check", str(path), "--mode", "hard_protected"]
        assert 2 == main(check)
        said = f"{path}:9: kind: there is no kind 'block_evict'; did you mean block_evicted?"
        assert f"error: {said}\n" == capsys.readouterr().err
        assert 3 == main([*check, "--lenient"])
        assert said in words(capsys.readouterr().out)

    def test_internal(self, good: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
        """A fault of the program is no verdict."""

        def broken(*_: Any, **__: Any) -> None:
            raise KeyError("x")

        monkeypatch.setattr(cli, "check", broken)
        assert 70 == main(["check", good, "--mode", "hard_protected"])
        shown = capsys.readouterr()
        assert "" == shown.out
        assert shown.err.startswith("error: internal error")
        assert "Traceback" not in shown.err


BAD = {
    "not JSON": (b"{\n", "1: not JSON"),
    "no kind": (b'{"claim_id":"a"}\n', "1: kind: an event without a kind"),
    "unknown kind": (b'{"kind":"claim_accpted"}\n', "1: kind: there is no kind 'claim_accpted'"),
    "negative count": (
        GOOD + b'{"kind":"request_arrived","request_id":"q","needed":-1}\n',
        "9: needed: -1 is below 0",
    ),
    "empty name": (
        b'{"kind":"claim_accepted","claim_id":"a","cache_identity":""}\n',
        "1: cache_identity: the text is empty",
    ),
    "predicate": (
        b'{"kind":"claim_accepted","claim_id":"a","predicate":"leading(1"}\n',
        "1: predicate: ",
    ),
    "field": (b'{"kind":"claim_accepted","claim":"a"}\n', "1: claim: no such field; did you mean"),
    "empty": (b"", ": the file is empty"),
    "blank": (b"\n\n", ": the file holds only blank lines"),
    "binary": (b"\x00\x01\x02" * 99, ": not text"),
    "long line": (b'{"kind":"' + b"x" * (9 << 20) + b'"}\n', "1: the line is longer than"),
    "list": (b"[1]\n", "1: expected a JSON object"),
}


class TestBadInput:
    """File, line, field, reason and a hint on standard error; nothing on standard output."""

    @pytest.mark.parametrize("form", ["text", "json"])
    @pytest.mark.parametrize("name", BAD)
    def test_files(self, tmp_path: Path, capsys: Capture, name: str, form: str) -> None:
        """What cannot be read ends in exit 2 and one line that says where and why."""
        content, said = BAD[name]
        path = tmp_path / "t.jsonl"
        path.write_bytes(content)
        code = main(["check", str(path), "--mode", "hard_protected", "--format", form])
        shown = capsys.readouterr()
        assert (2, "") == (code, shown.out)
        assert shown.err.startswith(f"error: {path}:")
        assert said in shown.err
        assert 1 == shown.err.count("\n")

    def test_missing(self, tmp_path: Path, good: str, capsys: Capture) -> None:
        """A file that is not there, with the one that was perhaps meant, after a good one."""
        missing = str(tmp_path / "god.jsonl")
        assert 2 == main(["check", good, missing, "--mode", "hard_protected"])
        shown = capsys.readouterr()
        assert "" == shown.out
        assert f"error: {missing}: no such file; did you mean good.jsonl?\n" == shown.err

    def test_escapes(self, tmp_path: Path, capsys: Capture) -> None:
        """The name of a file, and of the one that was perhaps meant, is nothing to obey."""
        write(tmp_path / "\x1b[31mgood", canonical_refusal())
        assert 2 == main(["check", str(tmp_path / "\x1b[31mgod"), "--mode", "hard_protected"])
        said = f"{tmp_path}/\\x1b[31mgod: no such file; did you mean \\x1b[31mgood?"
        assert f"error: {said}\n" == capsys.readouterr().err

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["check", "GOOD", "--mode", "hard_protectd"], "did you mean hard_protected?"),
            (["check", "GOOD", "--mode", "hard_protected", "--bundle", "papr"], "paper"),
            (["check", "GOOD", "--mode", ""], "there is no mode ''"),
            (["check", "GOOD", "--mode", "auot"], "did you mean auto?"),
            (["check", "GOOD", "--claim", ""], "it names no claim"),
            (["check", "--mode", "hard_protected"], "TRACE"),
            (["check", "GOOD", "--mode", "hard_protected", "--format", "xml"], "xml"),
            (["check", "GOOD", "--mode", "hard_protected", "--strikt"], "--strikt"),
            (["chek"], "chek"),
        ],
    )
    def test_usage(self, good: str, capsys: Capture, arguments: list[str], said: str) -> None:
        """A mistyped name or option is exit 2, with what was perhaps meant."""
        assert 2 == main([good if a == "GOOD" else a for a in arguments])
        shown = capsys.readouterr()
        assert "" == shown.out
        assert said in shown.err
        assert "Traceback" not in shown.err

    def test_spelling(self, good: str) -> None:
        """Case and dashes of a name do not matter."""
        assert 0 == main(["check", good, "--mode", "Hard-Protected", "--bundle", "CONTRACT"])

    def test_twice(self, good: str, capsys: Capture) -> None:
        """A file named twice is one file."""
        check = ["check", good, good, "--mode", "hard_protected", "--format", "json"]
        assert 0 == main(check)
        report = json.loads(capsys.readouterr().out)
        assert (1, 1) == (len(report["inputs"]), len(report["claims"]))


class TestJson:
    """The published form."""

    def test_whole(self, tmp_path: Path, capsys: Capture) -> None:
        """Every field of the form, for a breach."""
        path = write(tmp_path / "t.jsonl", VICTIM)
        assert 1 == main(["check", path, "--mode", "hard_protected", "--format", "json"])
        report = json.loads(capsys.readouterr().out)
        assert "resident-claims/verdict/2" == report["schema"]
        assert __version__ == report["tool"]
        assert 64 == len(report["spec"]) == len(report["inputs"][0]["sha256"])
        assert [path] == [i["file"] for i in report["inputs"]]
        assert ("hard_protected", "violated") == (report["mode"], report["verdict"])
        order = dict.fromkeys(("duplicates", "reordered", "late", "contradicting"), 0)
        assert {"read": len(VICTIM), "unknown": {}, "rejected": 0, **order} == report["events"]
        (claim,) = report["claims"]
        assert (CLAIM, "run-1", "materialized", "violated") == tuple(
            claim[key] for key in ("claim_id", "stream", "state", "verdict")
        )
        found = claim["obligations"]["victim_exclusion_before_violation"]
        assert "violated" == found["verdict"]
        assert {"file": path, "line": len(VICTIM), "sequence": None} == found["at"]
        assert found["why"]
        idle = claim["obligations"]["claim_materialized_event"]
        assert report["obligations"].keys() == claim["obligations"].keys()
        assert "satisfied" == idle["verdict"]

    def test_stdin(self, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
        """A dash is standard input."""
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GOOD)))
        assert 0 == main(["check", "-", "--mode", "hard_protected", "--format", "json"])
        assert "-" == json.loads(capsys.readouterr().out)["inputs"][0]["file"]

    def test_odd_names(self, tmp_path: Path, capsys: Capture) -> None:
        """A file name that is no UTF-8 and a claim that is no ASCII are written all the same."""
        path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.jsonl")
        trace = [{**line, "claim_id": "prétention"} for line in canonical_claim()]
        Path(path).write_bytes(text(trace))
        for form in ("json", "text"):
            assert 0 == main(["check", path, "--mode", "hard_protected", "--format", form])
            capsys.readouterr()

    def test_schema(self, tmp_path: Path, capsys: Capture) -> None:
        """The schema is printed, or written."""
        assert 0 == main(["schema"])
        printed = capsys.readouterr().out
        assert 0 == main(["schema", "--output", str(tmp_path / "s" / "v.json")])
        assert printed == (tmp_path / "s" / "v.json").read_text()
        assert "resident-claims/verdict/2" == json.loads(printed)["$id"]


class TestProcess:
    """What only a process of its own shows."""

    def run(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "monitor", *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            cwd=Path(__file__).parents[2],
            **options,
        )

    def test_stdin(self) -> None:
        """The verdict on a pipe, by exit code."""
        done = self.run("check", "-", "--mode", "hard_protected", input=GOOD.decode())
        assert (0, "") == (done.returncode, done.stderr)
        assert "standard input, 8 lines" in words(done.stdout)

    def test_broken_pipe(self, good: str) -> None:
        """A reader that goes away gets no traceback, and no code of a verdict."""
        reading, writing = os.pipe()
        os.close(reading)
        command = [sys.executable, "-m", "monitor", "check", good, "--mode", "hard_protected"]
        done = subprocess.run(
            command,
            stdout=writing,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
            cwd=Path(__file__).parents[2],
        )
        os.close(writing)
        assert b"" == done.stderr
        assert done.returncode not in {0, 1, 2, 3, 70}

    def test_ascii(self, tmp_path: Path) -> None:
        """A terminal that knows no Unicode is no fault of ours."""
        trace = [{**line, "claim_id": "prétention"} for line in canonical_claim()]
        trace.append(canonical("block_evicted", block_ids=[100]))
        path = write(tmp_path / "t.jsonl", trace)
        ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
        done = self.run("check", path, "--mode", "hard_protected", env=ascii_only)
        assert "Traceback" not in done.stderr
        assert "pr\\xe9tention" in done.stdout
