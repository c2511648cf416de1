"""What is no file is refused by `lower` and `evidence`, and never waited for."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from monitor.__main__ import main as monitor
from proofs.__main__ import main as proofs
from spec.files import plain
from spec.language.errors import DocumentError
from spec.lowering.load import folder_of, read_bounded
from tests.monitor.traces import write
from tests.monitor.traces_connector import connector_success

Capture = pytest.CaptureFixture[str]
ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "docs" / "examples" / "patched.yaml"
WHERE = pytest.mark.parametrize("kind", ["pipe", "link", "socket", "device", "folder"])
SAYS = {
    "pipe": "it is a pipe",
    "link": "it is a pipe",
    "socket": "it is a socket",
    "device": "it is a device",
    "folder": "Is a directory",
}
needs_stdin = pytest.mark.skipif(
    not Path("/dev/stdin").exists(), reason="this system has no /dev/stdin"
)


@pytest.fixture
def place(tmp_path: Path, kind: str) -> Path:
    """Something that is no file, under a name that ends like a descriptor's."""
    at = tmp_path / "it.yaml"
    if kind == "pipe":
        os.mkfifo(at)
    elif kind == "link":
        os.mkfifo(tmp_path / "pipe")
        at.symlink_to(tmp_path / "pipe")
    elif kind == "socket":
        listening = socket.socket(socket.AF_UNIX)
        before = Path.cwd()
        os.chdir(tmp_path)  # the path of a socket must be short
        listening.bind(at.name)
        os.chdir(before)
        listening.close()
    elif kind == "device":
        at.symlink_to("/dev/zero")
    else:
        at.mkdir()
    return at


def lowered(*args: object, stdin: int | None = None) -> tuple[int, str, str]:
    """`lower` in a process of its own, which must end by itself."""
    call = [sys.executable, "-m", "proofs", "lower", *map(str, args)]
    done = subprocess.run(call, cwd=ROOT, stdin=stdin, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


class TestRefused:
    """Pipes, sockets, devices and folders."""

    @WHERE
    def test_descriptor(self, place: Path, kind: str, capsys: Capture) -> None:
        """As a descriptor it is refused by its name, and nothing is waited for."""
        assert 2 == proofs(["lower", str(place)])
        err = capsys.readouterr().err
        assert f"cannot read {place}: {SAYS[kind]}" in err

    @WHERE
    @pytest.mark.parametrize("option", ["--evidence", "--against"])
    def test_option(self, place: Path, kind: str, option: str, capsys: Capture) -> None:
        """So it is as evidence, and as an earlier labelling."""
        assert 2 == proofs(["lower", str(EXAMPLE), option, str(place)])
        assert f"cannot read {place}: {SAYS[kind]}" in capsys.readouterr().err

    @WHERE
    def test_trace(self, place: Path, kind: str, tmp_path: Path, capsys: Capture) -> None:
        """A trace that became one of these after the evidence was taken is refused, too."""
        trace, evidence = tmp_path / "t.jsonl", tmp_path / "evidence.yaml"
        write(trace, connector_success())
        call = ["evidence", str(trace), "--mode", "offloadable", "-o", str(evidence)]
        assert 0 == monitor(call)
        trace.unlink()
        trace.symlink_to(place)
        capsys.readouterr()
        assert 2 == proofs(["lower", str(EXAMPLE), "--evidence", str(evidence)])
        assert f"{evidence}: files[0].path: {trace} is not a file" in capsys.readouterr().err

    @WHERE
    def test_evidence_of(self, place: Path, kind: str, capsys: Capture) -> None:
        """And no evidence is taken of it."""
        assert 2 == monitor(["evidence", str(place), "--mode", "offloadable"])
        said = (
            "this is a directory"
            if kind == "folder"
            else "evidence refers to a file, and this is none"
        )
        assert said in capsys.readouterr().err

    def test_exchanged(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file that is exchanged for a pipe while it is opened is found out."""
        (tmp_path / "file").write_text("")
        os.mkfifo(tmp_path / "pipe")
        real = os.open
        monkeypatch.setattr(plain.os, "open", lambda _, flags: real(tmp_path / "pipe", flags))
        with pytest.raises(DocumentError, match="it is a pipe"):
            read_bounded(tmp_path / "file")


@needs_stdin
class TestStandardInput:
    """Names that stand for an open file of the process."""

    def test_file(self, tmp_path: Path) -> None:
        """A descriptor that standard input is redirected from is read where it lies."""
        shutil.copy(EXAMPLE, tmp_path / "patched.yaml")
        with (tmp_path / "patched.yaml").open() as file:
            code, out, _ = lowered("/dev/stdin", "--mode", "offloadable", stdin=file.fileno())
        assert (0, True) == (code, "patched  A made-up runtime" in out)

    def test_pipe(self) -> None:
        """A pipe on standard input is refused, though nobody ever writes to it."""
        reading, writing = os.pipe()
        try:
            code, _, err = lowered("/dev/stdin", stdin=reading)
        finally:
            os.close(reading)
            os.close(writing)
        assert (2, True) == (code, "cannot read /dev/stdin: it is a pipe" in err)

    def test_evidence(self, tmp_path: Path) -> None:
        """Evidence on standard input finds its traces from where its file lies."""
        evidence = tmp_path / "evidence.yaml"
        trace = write(tmp_path / "t.jsonl", connector_success())
        assert 0 == monitor(["evidence", trace, "--mode", "offloadable", "-o", str(evidence)])
        with evidence.open() as file:
            asked = (EXAMPLE, "--mode", "offloadable", "--evidence", "/dev/stdin")
            code, out, _ = lowered(*asked, stdin=file.fileno())
        assert (0, True) == (code, "1 trace, 5 obligations shown" in out)

    def test_trace(self, tmp_path: Path) -> None:
        """No evidence is taken of a trace under a name that is another file's tomorrow."""
        trace = write(tmp_path / "t.jsonl", connector_success())
        call = [sys.executable, "-m", "monitor", "evidence", "/dev/stdin", "--mode", "offloadable"]
        with Path(trace).open() as file:
            done = subprocess.run(call, cwd=ROOT, stdin=file, capture_output=True, timeout=60)
        assert (2, True) == (done.returncode, b"evidence refers to a file" in done.stderr)

    def test_folder(self) -> None:
        """What is no such name lies where it says."""
        assert Path("a") == folder_of(Path("a/b.yaml"))
        assert Path() == folder_of(Path("b.yaml"))
