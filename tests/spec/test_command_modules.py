"""Tests of spec.cli.command_modules: commands that are imported when they are asked for."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
import typer

from spec.cli.command_modules import later
from spec.cli.common import new_app, run
from spec.language.called import calling
from tests.installation import ROOT, call

Capture = pytest.CaptureFixture[str]
SAMPLE = str(ROOT / "monitor" / "samples" / "hard_protected_refusal.jsonl")


class Finder:
    """Finds no module, and notes which toys were looked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def find_spec(self, name: str, *_: object) -> None:
        if name.startswith("toy_"):
            self.asked.append(name)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The missing modules that are imported."""
    finder = Finder()
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    return finder.asked


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    """A command line of three commands; the modules of two of them are missing."""
    toy = ModuleType("toy_there")

    def there(number: int) -> None:
        """Call it by python -m toy there."""
        raise typer.Exit(number)

    def register(to: typer.Typer) -> None:
        to.command("there", epilog="Example: python -m toy there 3")(there)

    toy.register = register  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, toy.__name__, toy)
    names = {"first": "toy_first", "there": "toy_there", "last": "toy_last"}
    return new_app("toy", "A toy.", modules=names)


class TestGroup:
    """A group of commands in modules."""

    def test_called(self, app: typer.Typer, asked: list[str]) -> None:
        """A command that is called is imported, and no other is."""
        assert 3 == run(app, ["there", "3"])
        assert [] == asked

    def test_others_are_imported_then(self, app: typer.Typer, asked: list[str]) -> None:
        """The module of another one is looked for when that is called."""
        assert 70 == run(app, ["last"])
        assert ["toy_last"] == asked

    def test_mistyped(self, app: typer.Typer, asked: list[str], capsys: Capture) -> None:
        """A name that no command has is answered without an import."""
        assert 2 == run(app, ["lasd"])
        assert "No such command 'lasd'" in capsys.readouterr().err
        assert [] == asked

    def test_help(self, app: typer.Typer, capsys: Capture) -> None:
        """Its help is that of the application; a command line of the package is named as typed."""
        assert 0 == run(app, ["there", "-h"])
        out = capsys.readouterr().out
        assert out.startswith("Usage: python -m toy there ")
        assert "Call it by python -m toy there." in out

    def test_renamed(self, app: typer.Typer) -> None:
        """Help names a command as the program that runs is called."""
        with calling({"toy there": "program here"}):
            command = typer.main.get_group(app).commands["there"]
        assert "Call it by program here." == command.help
        assert "Example: program here 3" == command.epilog

    def test_order(self, app: typer.Typer, asked: list[str]) -> None:
        """The commands are listed in the order of their modules, those of the application last."""
        app.command("docs")(lambda: None)
        assert ["first", "there", "last", "docs"] == [*typer.main.get_group(app).commands]
        assert [] == asked


def test_later(asked: list[str]) -> None:
    """A function is imported when it is called."""
    make = later("toy_last", "make")
    assert [] == asked
    with pytest.raises(ModuleNotFoundError):
        make()
    assert ["toy_last"] == asked


def test_of_the_packages() -> None:
    """A judged trace needs neither what follows sources nor the naive projection."""
    code = f"import sys; from monitor.__main__ import main; main(['check', {SAMPLE!r}])"
    loaded = {*call("-c", f"{code}; print(*sys.modules)", cwd=ROOT).stdout.split()}
    assert {"monitor.cli.check", "monitor.check.files"} < loaded
    others = {"monitor.follow.cli", "monitor.cli.evidence", "asyncio"}
    assert set() == others & loaded
