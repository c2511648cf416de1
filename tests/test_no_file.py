"""Every command that reads a file refuses what is none, and waits for nothing."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from monitor.__main__ import main as monitor
from proofs.__main__ import main as proofs
from runtime_hooks.settings.config import SettingsError, load
from spec.__main__ import main as spec

Capture = pytest.CaptureFixture[str]
EXAMPLE = str(Path(__file__).parents[1] / "docs" / "examples" / "patched.yaml")
SAYS = {
    "pipe": "it is a pipe",
    "device": "it is a device",
    "socket": "it is a socket",
    "folder": "directory",
    "missing": "no such file",
    "text": "",
}
READERS: dict[str, tuple[str, Callable[[str], int]]] = {
    "check": ("a.jsonl", lambda at: monitor(["check", at, "--mode", "hard_protected"])),
    "lenient": (
        "a.jsonl",
        lambda at: monitor(["check", at, "--mode", "hard_protected", "--lenient"]),
    ),
    "explain": ("a.jsonl", lambda at: proofs(["explain", at, "--mode", "expiring"])),
    "itf": ("a.itf.json", lambda at: proofs(["explain", at, "--mode", "expiring"])),
    "repeat": ("a.yaml", lambda at: monitor(["repeat", at])),
    "descriptor": ("a.yaml", lambda at: proofs(["lower", at])),
    "evidence": ("a.yaml", lambda at: proofs(["lower", EXAMPLE, "--evidence", at])),
    "against": ("a.json", lambda at: proofs(["lower", EXAMPLE, "--against", at])),
}


def place(kind: str, at: Path) -> None:
    """Something that cannot be read at this path."""
    if kind == "pipe":
        os.mkfifo(at)
    elif kind == "device":
        at.symlink_to("/dev/zero")
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listening:
            os.chdir(at.parent)  # the path of a socket must be short
            listening.bind(at.name)
    elif kind == "folder":
        at.mkdir()
    elif kind == "text":
        at.write_bytes(b'{"kind": "\xff\xfe"}\n')


@pytest.mark.parametrize("kind", SAYS)
@pytest.mark.parametrize("reader", READERS)
def test_refused(
    reader: str, kind: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe, a device, a folder, what is missing or no UTF-8 is bad input, said in one line."""
    if (reader, kind) == ("lenient", "text"):
        pytest.skip("a line that is no UTF-8 is skipped and counted")
    monkeypatch.chdir(tmp_path)
    name, read = READERS[reader]
    place(kind, tmp_path / name)
    assert 2 == read(str(tmp_path / name))
    out, err = capsys.readouterr()
    assert ("", 1) == (out, err.count("\n"))
    assert str(tmp_path / name) in err
    assert SAYS[kind] in err.lower()


@pytest.mark.parametrize("reader", READERS)
def test_unreadable(
    reader: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that the system does not open is bad input, whoever runs the test."""
    name, read = READERS[reader]
    (tmp_path / name).write_text("x")
    real = os.open

    def refuse(path: str | os.PathLike[str], flags: int, *rest: int) -> int:
        if os.fspath(path) == str(tmp_path / name):
            raise PermissionError(13, "Permission denied", path)
        return real(path, flags, *rest)

    monkeypatch.setattr("spec.files.plain.os.open", refuse)
    assert 2 == read(str(tmp_path / name))
    out, err = capsys.readouterr()
    assert ("", 1) == (out, err.count("\n"))
    assert "permission denied" in err.lower()


@pytest.mark.parametrize("kind", ["device", "folder", "missing"])
def test_follow(kind: str, tmp_path: Path, capsys: Capture) -> None:
    """What grows is followed, a pipe or a socket, too; all else is refused."""
    place(kind, tmp_path / "a")
    assert 2 == monitor(["follow", str(tmp_path / "a")])
    assert 1 == capsys.readouterr().err.count("\n")


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_pages(kind: str, tmp_path: Path, capsys: Capture) -> None:
    """A page that is to be compared is read only where it is a file."""
    place(kind, tmp_path / "modes.md")
    assert 2 == spec(["docs", "--dir", str(tmp_path)])
    assert SAYS[kind] in capsys.readouterr().err


@pytest.mark.parametrize("kind", SAYS)
def test_settings(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So it is for the settings of the plugin, in a process that is to serve."""
    monkeypatch.chdir(tmp_path)
    place(kind, tmp_path / "a.json")
    with pytest.raises(SettingsError, match=r"a\.json"):
        load({"RESIDENT_CLAIMS": str(tmp_path / "a.json")})
