"""What a person may mistype is refused in one line, before anything is followed."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from monitor.__main__ import main
from monitor.follow.addresses import source_of
from monitor.follow.growing_file import GrowingFile
from monitor.follow.streams import Fifo, Peer, StandardInput
from monitor.input.errors import InputError

Capture = pytest.CaptureFixture[str]
SAMPLES = Path(__file__).parents[3] / "monitor" / "samples"
KEPT = str(SAMPLES / "hard_protected_refusal.jsonl")
VIOLATED = str(SAMPLES / "hard_protected_victim.jsonl")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["none.jsonl"], "file:none.jsonl waits"),
        (["none.jsonl", "--until-eof"], "no such file"),
        (["file:none/a.jsonl"], "no such folder"),
        (["tcp:host"], "no host and port"),
        (["tcp:host:0"], "no host and port"),
        (["tcp::80"], "no host and port"),
        (["/dev/zero"], "a device"),
        (["."], "a directory"),
        ([KEPT, "--metrics", "0.0.0.0:9464"], "--metrics-token"),
        ([KEPT, "--webhook", "hook"], "no web address"),
        ([KEPT, "--when-full", "drop"], "drop"),
        ([KEPT, "--mode", "hard"], "hard"),
        ([KEPT, "--verdicts", "."], "cannot write"),
        ([KEPT, "--checkpoint", KEPT], "hard_protected_refusal.jsonl"),
        ([KEPT, "--checkpoint-every", "-1"], "--checkpoint-every"),
        ([f"{KEPT}{n}" for n in range(65)], "64"),
    ],
)
def test_refused(
    args: list[str], says: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is bad input, with what to do."""
    monkeypatch.chdir(tmp_path)
    assert 2 == main(["follow", *args])
    out, err = capsys.readouterr()
    assert ("", 1) == (out, err.count("\n"))
    assert says in err


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--webhook", "http://127.0.0.1:9/"),
        ("--otlp", "http://127.0.0.1:9/"),
        ("--otlp-token", "token"),
        ("--verdicts", "v"),
        ("--checkpoint", "c"),
        ("--metrics", "9464"),
        ("--mode", "expiring"),
        ("--metrics-token", "token"),
        ("--reorder", "5"),
        ("--rank-wait", "5"),
        ("--when-full", "gap"),
        ("--max-live", "5"),
        ("--max-ids", "5"),
    ],
)
def test_judges_by_itself(
    option: str, value: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the socket of a process that judges, options about judging are refused, and named."""
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        assert 2 == main(["follow", "s", option, value])
    out, err = capsys.readouterr()
    assert ("", 1) == (out, err.count("\n"))
    assert f"error: {option} with the socket" in err
    assert "follow the trace that the process writes" in err
    assert [Path("s")] == [*Path().iterdir()]


@pytest.mark.parametrize(
    ("traces", "code"),
    [([KEPT], 0), ([VIOLATED], 1), ([KEPT, VIOLATED], 1), ([KEPT, "empty"], 3)],
)
def test_until_eof(
    traces: list[str],
    code: int,
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each source is judged by itself, and the exit code is that of all."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").touch()
    assert code == main(["follow", *traces, "--until-eof"])
    assert "lines read" in capsys.readouterr().out


def test_nothing_readable(tmp_path: Path, capsys: Capture) -> None:
    """A file of which no line can be read is bad input; the first line is cited."""
    path = tmp_path / "a"
    path.write_text("no\nevents\n")
    assert 2 == main(["follow", str(path), "--until-eof"])
    assert f"{path}:1: not JSON" in capsys.readouterr().err


def test_another_mode(tmp_path: Path, capsys: Capture) -> None:
    """A checkpoint that was judged by another mode is refused."""
    folder = str(tmp_path / "c")
    args = ["follow", KEPT, "--until-eof", "--checkpoint", folder]
    assert 0 == main([*args, "--mode", "hard_protected"])
    capsys.readouterr()
    assert 2 == main(args)
    assert "made with --mode hard_protected" in capsys.readouterr().err


def test_other_sources(tmp_path: Path, capsys: Capture) -> None:
    """A source that is not named any more is mentioned, and a new one begins."""
    folder = str(tmp_path / "c")
    assert 1 == main(["follow", VIOLATED, "--until-eof", "--checkpoint", folder])
    assert 0 == main(["follow", KEPT, "--until-eof", "--checkpoint", folder])
    assert f"{VIOLATED} was followed before" in capsys.readouterr().err


def test_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a source is follows from its form, or from what is there."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    due = {
        "-": StandardInput,
        "unix:s": Peer,
        "tcp:[::1]:80": Peer,
        "pipe": Fifo,
        KEPT: GrowingFile,
        f"file:{KEPT}": GrowingFile,
        "file:later": GrowingFile,
    }
    assert due == {text: type(source_of(text, until_eof=False)) for text in due}


@pytest.mark.parametrize(
    ("text", "until_eof", "says"),
    [("zmq:x", False, "no ZMQ address"), ("zmq:tcp://h:1", True, "has no end")],
)
def test_zmq(text: str, until_eof: bool, says: str) -> None:
    """A ZMQ address has a transport, and no end."""
    pytest.importorskip("zmq")
    with pytest.raises(InputError, match=says):
        source_of(text, until_eof=until_eof)


def test_zmq_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pyzmq it is said how to install it."""
    monkeypatch.setattr("monitor.follow.addresses.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"\[zmq\]"):
        source_of("zmq:tcp://h:1", until_eof=False)
