"""The places where others use this project: Kubernetes, GitHub's actions, pre-commit and pipx, each
by the tool that reads them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
TOOLS: Final = ROOT / "build" / "places" / "bin"
KEPT: Final = ROOT / "monitor" / "samples" / "hard_protected_refusal.jsonl"
BROKEN: Final = ROOT / "monitor" / "samples" / "hard_protected_victim.jsonl"
MANIFESTS: Final = sorted((ROOT / "docs" / "kubernetes").glob("*.yaml"))

pytestmark = pytest.mark.skipif(not TOOLS.is_dir(), reason="make test-places installs the tools")


def tool(
    name: str, *words: object, cwd: Path = ROOT, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run one of the tools, without the modules of this environment."""
    rest = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.run(
        [TOOLS / name, *map(str, words)],
        cwd=cwd,
        env={**rest, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )


class TestKubernetes:
    """docs/kubernetes"""

    @pytest.mark.parametrize("version", ["1.29", "1.33", "1.37"])
    @pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
    def test_valid(self, path: Path, version: str) -> None:
        """Each object is as its schema says, without a field that the schema lacks."""
        done = tool("kubernetes-validate", "--strict", "-k", version, path)
        assert 0 == done.returncode, done.stdout
        assert "ERROR" not in done.stdout
        assert "WARN" not in done.stdout

    @pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
    def test_mistyped(self, path: Path, tmp_path: Path) -> None:
        """A field that is misspelt is found."""
        wrong = path.read_text().replace("readOnlyRootFilesystem", "readOnlyRootFileSystem")
        (tmp_path / "wrong.yaml").write_text(wrong)
        done = tool("kubernetes-validate", "--strict", tmp_path / "wrong.yaml")
        assert 1 == done.returncode
        assert "readOnlyRootFileSystem" in done.stdout


class TestAction:
    """action.yml"""

    def check(self, path: Path) -> int:
        """The exit code of the validation."""
        done = tool("check-jsonschema", "--builtin-schema", "vendor.github-actions", path)
        return done.returncode

    def test_valid(self) -> None:
        """It is as the published schema of actions says."""
        assert 0 == self.check(ROOT / "action.yml")

    def test_mistyped(self, tmp_path: Path) -> None:
        """A step without a shell, which GitHub refuses, is found."""
        wrong = (ROOT / "action.yml").read_text().replace("shell: bash", "shel: bash", 1)
        (tmp_path / "action.yml").write_text(wrong)
        assert 1 == self.check(tmp_path / "action.yml")


class TestHook:
    """.pre-commit-hooks.yaml"""

    def test_valid(self) -> None:
        """pre-commit takes the file."""
        assert 0 == tool("pre-commit", "validate-manifest", ".pre-commit-hooks.yaml").returncode

    def test_try_repo(self, tmp_path: Path) -> None:
        """pre-commit installs the hook from this tree; a kept trace passes, a broken one fails."""
        repository = tmp_path / "repository"
        repository.mkdir()
        subprocess.run(["git", "init", "-q"], cwd=repository, check=True)
        shutil.copy(KEPT, repository / "trace.jsonl")
        subprocess.run(["git", "add", "."], cwd=repository, check=True)
        words = ("try-repo", ROOT, "resident-claims-check", "--all-files", "--verbose")
        env = {"PRE_COMMIT_HOME": str(tmp_path / "home")}
        done = tool("pre-commit", *words, cwd=repository, env=env)
        assert 0 == done.returncode, done.stdout + done.stderr
        assert "check traces of resident claims" in done.stdout
        assert "kept: " in done.stdout
        shutil.copy(BROKEN, repository / "trace.jsonl")
        done = tool("pre-commit", *words, cwd=repository, env=env)
        assert 1 == done.returncode
        assert "victim_exclusion_before_violation" in done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    folder = tmp_path_factory.mktemp("dist")
    line = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(line, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    (found,) = folder.glob("*.whl")
    return found


class TestPipx:
    """pipx run, of the wheel"""

    @pytest.mark.parametrize(
        ("words", "code", "says"),
        [
            (("check", KEPT), 0, "kept: "),
            (("check", BROKEN), 1, "victim_exclusion_before_violation"),
            (("spec", "search", "capacity", "proof"), 0, "glossary.md"),
            (("prove", "hard_protected"), 2, "needs z3-solver"),
        ],
    )
    def test_run(
        self,
        words: tuple[object, ...],
        code: int,
        says: str,
        wheel: Path,
        tmp_path_factory: pytest.TempPathFactory,
    ) -> None:
        """The command runs from an environment of its own, elsewhere, without an extra."""
        home = tmp_path_factory.getbasetemp() / "pipx"  # of all cases: it caches the environment
        env = {"PIPX_HOME": str(home), "PIPX_DEFAULT_PYTHON": sys.executable}
        elsewhere = tmp_path_factory.mktemp("elsewhere")
        done = tool(
            "pipx", "run", "--spec", wheel, "resident-claims", *words, cwd=elsewhere, env=env
        )
        assert code == done.returncode, done.stderr
        assert says in done.stdout + done.stderr
