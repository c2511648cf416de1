"""The files by which other repositories check their traces: a hook of pre-commit, and an action."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from subprocess import CompletedProcess
from typing import Final

import pytest
import yaml

from tests.installation import ROOT, call

KEPT: Final = "monitor/samples/hard_protected_refusal.jsonl"
BROKEN: Final = "monitor/samples/hard_protected_victim.jsonl"


class TestHook:
    """.pre-commit-hooks.yaml"""

    (HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())

    def test_keys(self) -> None:
        """It has the keys that pre-commit requires, and only keys that pre-commit knows."""
        required = {"id", "name", "entry", "language"}
        known = {*required, "description", "files", "require_serial"}
        assert required <= set(self.HOOK) <= known
        assert self.HOOK["language"] == "python"

    def test_files(self) -> None:
        """Its pattern takes traces, and neither pages nor compressed files."""
        names = [BROKEN, "README.md", "a.jsonl.gz"]
        assert [BROKEN] == [name for name in names if re.search(self.HOOK["files"], name)]

    def test_entry(self) -> None:
        """Its entry is a command that takes file names, and exits with the verdict on them."""
        name, *rest = shlex.split(self.HOOK["entry"])
        assert name == "resident-claims"
        for code, traces in ((0, [KEPT]), (1, [BROKEN]), (1, [KEPT, BROKEN])):
            assert code == call(name, *rest, *traces, cwd=ROOT).returncode


class TestAction:
    """action.yml, whose steps are run as GitHub's runners do."""

    ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
    INSTALL, CHECK = ACTION["runs"]["steps"]

    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        """A repository with two traces, and beside it the command where the first step puts it."""
        traces = tmp_path / "repository" / "my traces" / "deep"
        traces.mkdir(parents=True)
        shutil.copy(ROOT / KEPT, traces / "kept.jsonl")
        shutil.copy(ROOT / BROKEN, traces / "-broken.jsonl")
        commands = tmp_path / "resident-claims" / "bin"
        commands.mkdir(parents=True)
        installed = Path(sys.executable).with_name("resident-claims")
        (commands / "resident-claims").symlink_to(installed)
        return tmp_path

    def run(
        self, step: int, place: Path, env: dict[str, str] | None = None, **inputs: str
    ) -> CompletedProcess[str]:
        """Run the bash of a step, with the variables of a runner and those that it names."""
        steps = self.ACTION["runs"]["steps"]
        values = {name: each.get("default", "") for name, each in self.ACTION["inputs"].items()}
        values |= inputs
        stated = {
            name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: values[found[1]], text)
            for name, text in steps[step].get("env", {}).items()
        }
        runner = {"RUNNER_TEMP": str(place), "GITHUB_ACTION_PATH": str(ROOT)}
        script = place / "step.sh"
        script.write_text(steps[step]["run"])
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=place / "repository",
            env={**os.environ, **(env or {"PYTHONPATH": str(ROOT)}), **runner, **stated},
            capture_output=True,
            text=True,
            check=False,
        )

    def test_shape(self) -> None:
        """Its steps are bash that no input is pasted into, and each input reaches a step."""
        steps = self.ACTION["runs"]["steps"]
        assert self.ACTION["runs"]["using"] == "composite"
        assert ["bash", "bash"] == [step["shell"] for step in steps]
        assert not any("${{" in step["run"] for step in steps)
        assert self.CHECK["env"].keys() == {name.upper() for name in self.ACTION["inputs"]}

    def test_kept(self, place: Path) -> None:
        """A trace that is kept passes, with a notice; a space in its name is a part of it."""
        done = self.run(1, place, traces="my traces/deep/kept.jsonl")
        assert (0, "") == (done.returncode, done.stderr)
        assert done.stdout.startswith("::notice title=resident-claims::kept")

    @pytest.mark.parametrize("traces", ["**/*.jsonl\n", "my traces/*/k*\n./**/-*.jsonl"])
    def test_violated(self, place: Path, traces: str) -> None:
        """Patterns, one a line, find traces at any depth; a violation is an error at its line."""
        done = self.run(1, place, traces=traces)
        assert 1 == done.returncode
        assert "deep/-broken.jsonl,line=7," in done.stdout

    @pytest.mark.parametrize(
        ("traces", "mode", "says"),
        [
            ("", "auto", "Missing argument"),
            ("none/*.jsonl", "auto", "none/*.jsonl"),
            ("**/kept.jsonl", "hard", "hard"),
            ("$(touch made)\n`touch made`; touch made", "$(touch made)", "touch made"),
        ],
    )
    def test_mistyped(self, place: Path, traces: str, mode: str, says: str) -> None:
        """Inputs that name nothing fail with exit code 2, and none is run as a command."""
        done = self.run(1, place, traces=traces, mode=mode)
        assert 2 == done.returncode
        assert says in done.stderr
        assert not list(place.rglob("made"))

    @pytest.mark.slow
    def test_install(self, tmp_path: Path) -> None:
        """The first step installs this tree, beside which the second one finds the command.

        What the package depends on is not fetched, but taken from the environment of the test.
        """
        (tmp_path / "repository").mkdir()
        shutil.copy(ROOT / KEPT, tmp_path / "repository")
        (tmp_path / "repository" / "pip.py").write_text("raise SystemExit('imported')")
        env = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": sysconfig.get_path("purelib"),
            "PIP_NO_DEPS": "1",
            "PIP_NO_BUILD_ISOLATION": "0",
        }
        done = self.run(0, tmp_path, env)
        assert 0 == done.returncode, done.stderr
        done = self.run(1, tmp_path, env, traces="*.jsonl")
        assert (0, "") == (done.returncode, done.stderr)
        assert (tmp_path / "resident-claims/bin/resident-claims").exists()
