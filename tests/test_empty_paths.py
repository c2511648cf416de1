"""An empty path stands for nothing: it is bad input wherever a command takes a path."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import typer

from monitor.__main__ import app as monitor
from proofs.__main__ import app as proofs
from runtime_hooks.__main__ import app as runtime_hooks
from spec.__main__ import app as spec
from spec.cli.common import run

APPS = {"spec": spec, "monitor": monitor, "proofs": proofs, "runtime_hooks": runtime_hooks}
NAMED = {
    ("monitor", "check"),
    ("monitor", "evidence"),
    ("monitor", "follow"),
    ("proofs", "explain"),
}
"""The commands whose argument is a path that messages cite as it was typed: a text."""


def of_type_path(command: Any) -> Iterator[str]:
    """Each parameter of a command that holds a path."""
    for parameter, kind in get_type_hints(inspect.unwrap(command.callback)).items():
        if Path in (kind, *get_args(kind)):
            yield parameter


def options() -> list[tuple[str, str, str]]:
    """The command lines that end in a path, without that path: package, command, option."""
    found = []
    for package, app in APPS.items():
        for name, command in typer.main.get_group(app).commands.items():
            for parameter in () if hasattr(command, "commands") else of_type_path(command):
                (param,) = [each for each in command.params if each.name == parameter]
                found += [(package, name, option) for option in param.opts if option[0] == "-"]
                found += [(package, name, "")] * (param.param_type_name == "argument")
    return found


OPTIONS = options()


def refused(package: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What is said where a command line is bad input, in one line."""
    assert 2 == run(APPS[package], words)
    out, err = capsys.readouterr()
    assert ("", 1) == (out, err.count("\n"))
    return err


def test_found() -> None:
    """The parameters are found: some of each package, and those that write among them."""
    assert {package for package, _, _ in OPTIONS} == {*APPS}
    assert {("proofs", "check", "--certificate"), ("proofs", "check", "--junit")} < {*OPTIONS}
    assert ("proofs", "recheck", "") in OPTIONS


@pytest.mark.parametrize(("package", "command", "option"), OPTIONS)
def test_refused(
    package: str,
    command: str,
    option: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One line says which option is empty, and nothing is written into the working folder."""
    monkeypatch.chdir(tmp_path)
    words = [command, *([option] if option else []), ""]
    err = refused(package, words, capsys)
    assert f"it is empty; give a path. See python -m {package} {command} --help\n" in err
    assert option in err
    assert [] == [*tmp_path.iterdir()]


@pytest.mark.parametrize(("package", "command"), sorted(NAMED))
def test_trace(package: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """So it is for the traces and the socket that a command reads."""
    assert "it is empty; give a path" in refused(package, [command, ""], capsys)


@pytest.mark.parametrize(("package", "command"), [("monitor", "check"), ("proofs", "explain")])
def test_claim(package: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty text is the id of no claim."""
    err = refused(package, [command, "t.jsonl", "--claim", ""], capsys)
    assert "it names no claim; give the id of one, or leave it out" in err


def test_standard_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-o -` makes no file of that name; `./-` does."""
    monkeypatch.chdir(tmp_path)
    assert 2 == run(spec, ["diagram", "lifecycle", "-o", "-"])
    assert 2 == run(spec, ["schema", "-o", "-"])
    assert [] == [*tmp_path.iterdir()]
    assert 0 == run(spec, ["schema", "-o", "./-"])
    assert ["-"] == [each.name for each in tmp_path.iterdir()]
