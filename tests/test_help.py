"""The help of every command of the command lines."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from models.__main__ import app as models
from monitor.__main__ import app as monitor
from proofs.__main__ import app as proofs
from runtime_hooks.__main__ import app as runtime_hooks
from spec.__main__ import app as spec
from spec.claims.states import Mode
from spec.cli.common import run
from spec.cli.console import app as console
from spec.cli.console import load, main

ROOT = Path(__file__).parents[1]
APPS = {
    "spec": spec,
    "monitor": monitor,
    "models": models,
    "proofs": proofs,
    "runtime_hooks": runtime_hooks,
}
NAMES = [
    (name, str(command))
    for name, app in APPS.items()
    for command in typer.main.get_group(app).commands
]
Capture = pytest.CaptureFixture[str]


def within(group: Any, *called: str) -> Iterator[tuple[str, ...]]:
    """The words by which a command is called, and those of each command within it."""
    yield called
    for name, command in getattr(group, "commands", {}).items():
        yield from within(load(name) if group is WHOLE else command, *called, str(name))


WHOLE = typer.main.get_group(console)
EVERY = [
    *within(WHOLE, "resident-claims"),
    *(words for name, app in APPS.items() for words in within(typer.main.get_group(app), name)),
]


class TestHelp:
    """--help"""

    @pytest.mark.parametrize("words", EVERY, ids=" ".join)
    def test_example(self, words: tuple[str, ...], capsys: Capture) -> None:
        """Each command and each group ends its help with an example; that of a group calls one of
        its commands.
        """
        name, *inner = words
        whole = name == "resident-claims"
        line = [*inner, "--help"]
        assert 0 == (main(line) if whole else run(APPS[name], line))
        called = " ".join([name if whole else f"python -m {name}", *inner])
        out = capsys.readouterr().out
        example = " ".join(out.partition("Example: ")[2].split())
        short = f"resident-claims {words[-1]}"  # `resident-claims spec diagram` has a shorter name
        assert f"{example} ".startswith((f"{called} ", f"{short} " if whole else f"{called} "))
        if "\nCommands:" in out:
            command = example.removeprefix(called).split()[0]
            assert f"\n  {command} " in out.partition("\nCommands:")[2]

    def test_all(self) -> None:
        """The commands that there are."""
        assert {
            "spec": ["list", "show", "search", "diagram", "mcp", "docs", "schema"],
            "monitor": [
                "check",
                "report",
                "evidence",
                "follow",
                "watch",
                "fleet",
                "routes",
                "pressure",
                "repeat",
                "samples",
                "docs",
                "schema",
            ],
            "proofs": [
                "check",
                "explain",
                "recheck",
                "cores",
                "counterexamples",
                "compare",
                "accepts",
                "lower",
                "docs",
                "schema",
            ],
            "models": [
                "simulate",
                "workload",
                "calibrate",
                "list",
                "show",
                "walk",
                "explore",
                "pressure",
                "sweep",
                "budget",
                "experiments",
                "docs",
            ],
            "runtime_hooks": ["doctor", "demo", "claims"],
        } == {name: [c for n, c in NAMES if n == name] for name in APPS}

    @pytest.mark.parametrize("name", APPS)
    def test_overview(self, name: str, capsys: Capture) -> None:
        """Each command has a line of the overview, and none is cut short."""
        assert 0 == run(APPS[name], ["--help"])
        out = capsys.readouterr().out
        assert all(f"\n  {command} " in out for n, command in NAMES if n == name)
        assert "..." not in out.replace("[ARGS]...", "")

    @pytest.mark.parametrize(("name", "command"), NAMES)
    def test_each(self, name: str, command: str, capsys: Capture) -> None:
        """Each command has an example, and one that gives a result can give it as JSON."""
        assert 0 == run(APPS[name], [command, "--help"])
        out = capsys.readouterr().out
        assert f"Example: python -m {name} {command}" in out
        writes = command in ("schema", "walk") or (name, command) == ("models", "pressure")
        serves = command in ("explore", "mcp")
        assert writes or serves or "--format" in out  # they print, or write, JSON
        example = out.split("Example: ")[1].split()
        assert all((ROOT / each).exists() for each in example if each.startswith("monitor/"))

    @pytest.mark.parametrize(
        ("called", "arguments"),
        {
            "monitor check": "TRACE...",
            "monitor routes": "REGISTRY RECORDS...",
            "proofs accepts": "NAME TRACE",
            "proofs lower": "[DESCRIPTOR...]",
            "runtime_hooks claims show": "CLAIM",
            "runtime_hooks doctor": "[-- MODEL FLAGS...]",
        }.items(),
    )
    def test_usage(self, called: str, arguments: str, capsys: Capture) -> None:
        """The usage shows which arguments may be left out, and of which several are taken."""
        name, *command = called.split()
        assert 0 == run(APPS[name], [*command, "--help"])
        usage = capsys.readouterr().out.partition("\n")[0]
        assert f"Usage: python -m {called} [OPTIONS] {arguments}" == usage

    @pytest.mark.parametrize(
        ("name", "command"),
        [
            *(("monitor", c) for c in ("check", "evidence")),
            *(("proofs", c) for c in ("check", "explain", "lower")),
        ],
    )
    def test_modes(self, name: str, command: str, capsys: Capture) -> None:
        """Where a mode is asked for the seven are listed."""
        assert 0 == run(APPS[name], [command, "--help"])
        words = capsys.readouterr().out.replace(",", " ").replace(".", " ").split()
        assert set(Mode) <= set(words)
