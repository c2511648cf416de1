"""Tests of the pytest plug-in that runs a suite against somebody's own adapter."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from proofs.__main__ import main

ADAPTERS = '''
import json, msgspec
from spec.events.canonical import EVENT_ENCODER, Event

class Faithful:
    """Its own form is a list of pairs."""
    def write(self, events):
        return [json.dumps(sorted(json.loads(EVENT_ENCODER.encode(e)).items())) for e in events]
    def read(self, lines):
        return [msgspec.convert(dict(json.loads(line)), Event) for line in lines]

class Forgetful(Faithful):
    """It has no words for blocks and requests."""
    def read(self, lines):
        read = [event for event in super().read(lines) if event.claim_id]
        return [msgspec.structs.replace(event, sequence=n) for n, event in enumerate(read)]

class Raising(Faithful):
    def read(self, lines):
        raise RuntimeError("no such line")

class Unmade:
    def __init__(self):
        raise RuntimeError("no config")
'''


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The suite of one runtime, with adapters beside it."""
    folder = tmp_path_factory.mktemp("adapters")
    assert 0 == main(["counterexamples", "--runtime", "vllm_pool", "-o", str(folder / "suite")])
    (folder / "mine.py").write_text(ADAPTERS)
    return folder


def run(suite: Path, adapter: str) -> tuple[int, str]:
    """The exit code and the output of pytest with the suite."""
    return called(suite, "--resident-claims-suite", "suite", "--adapter", adapter)


def called(folder: Path, *more: str, path: Path | None = None) -> tuple[int, str]:
    """The exit code and the output of pytest in a folder."""
    root = Path(__file__).parents[3]
    paths = [str(each) for each in (path, root, folder) if each is not None]
    paths += filter(None, [os.environ.get("PYTHONPATH")])
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"),
            *("--rootdir", str(folder), *more),
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_faithful_adapter_passes(suite: Path) -> None:
    """An adapter that loses nothing gets the verdict of each run."""
    code, text = run(suite, "mine:Faithful")
    assert 0 == code, text
    assert "3 passed" in text


def test_an_adapter_that_hides_a_break_fails(suite: Path) -> None:
    """A run that breaks a mode and comes out as kept fails, with its story."""
    code, text = run(suite, "mine:Forgetful")
    assert 1 == code, text
    assert "the monitor says kept, and violated of the run itself" in text
    assert "This breaks victim_exclusion_before_violation" in text


@pytest.mark.parametrize(
    ("adapter", "says"),
    [
        ("mine:Raising", "the adapter raises RuntimeError"),
        ("mine:Unmade", "cannot make mine:Unmade: RuntimeError: no config"),
        ("mine:Missing", "cannot make mine:Missing"),
        ("nowhere:Adapter", "cannot make nowhere:Adapter"),
    ],
)
def test_an_adapter_that_raises_is_bad_input(suite: Path, adapter: str, says: str) -> None:
    """pytest ends with 2, and a line says what the adapter raised."""
    code, text = run(suite, adapter)
    assert 2 == code, text
    assert says in text


class TestElsewhere:
    """In a project that has nothing to do with the suite."""

    @pytest.fixture
    def project(self, tmp_path: Path) -> Path:
        """A project with a test."""
        folder = tmp_path / "project"
        folder.mkdir()
        (folder / "test_own.py").write_text("def test_own(): pass\n")
        return folder

    @pytest.fixture
    def no_solver(self, tmp_path: Path) -> Path:
        """A folder that makes importing Z3 fail."""
        folder = tmp_path / "none"
        folder.mkdir()
        (folder / "z3.py").write_text("raise ImportError('there is no z3')\n")
        return folder

    def test_without_a_solver(self, project: Path, no_solver: Path) -> None:
        """pytest runs where Z3 cannot be imported, as beside an engine."""
        code, text = called(project, path=no_solver)
        assert 0 == code, text
        assert "1 passed" in text

    def test_with_an_option_of_its_own(self, project: Path) -> None:
        """pytest runs in a project that has an option --adapter."""
        own = "def pytest_addoption(parser):\n    parser.addoption('--adapter')\n"
        (project / "conftest.py").write_text(own)
        code, text = called(project, "--adapter", "x")
        assert 0 == code, text
        assert "1 passed" in text

    @pytest.mark.parametrize("name", ["models", "monitor", "proofs"])
    def test_beside_a_package_of_the_same_name(self, project: Path, name: str) -> None:
        """pytest runs in a project that has a package called like one of ours."""
        (project / name).mkdir()
        (project / name / "__init__.py").write_text("")
        code, text = called(project)
        assert 0 == code, text
        assert "1 passed" in text

    def test_the_suite_needs_our_packages(self, suite: Path, project: Path) -> None:
        """Where the suite is asked for, a package that shadows one of ours is named."""
        (project / "models").mkdir()
        (project / "models" / "__init__.py").write_text("")
        code, text = called(project, "--resident-claims-suite", str(suite / "suite"))
        assert 70 == code, text
        assert "is imported as models" in text
