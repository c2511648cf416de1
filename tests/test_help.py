"""The help of every command of the command lines."""

from pathlib import Path

import pytest
import typer

from models.__main__ import app as models
from monitor.__main__ import app as monitor
from proofs.__main__ import app as proofs
from runtime_hooks.__main__ import app as runtime_hooks
from spec.__main__ import app as spec
from spec.claims.states import Mode
from spec.cli.common import run

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


class TestHelp:
    """--help"""

    def test_all(self) -> None:
        """The commands that there are."""
        assert {
            "spec": ["list", "show", "diagram", "docs", "schema"],
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
            "models": ["list", "show", "simulate", "explore", "pressure", "sweep", "docs"],
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
        writes = command in ("schema", "simulate") or (name, command) == ("models", "pressure")
        assert writes or command == "explore" or "--format" in out  # they print, or write, JSON
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
