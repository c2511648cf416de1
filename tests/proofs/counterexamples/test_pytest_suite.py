"""Tests of the pytest plug-in that runs a suite against somebody's own adapter."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from proofs.__main__ import main

pytestmark = pytest.mark.slow

ADAPTERS = '''
import json, sys, msgspec
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

class NeedsMore(Faithful):
    def __init__(self, path):
        self.path = path

class Exits(Faithful):
    def read(self, lines):
        sys.exit(0)

class ExitsOnce(Faithful):
    def __init__(self):
        sys.exit(0)

class RaisesLate(Faithful):
    def read(self, lines):
        yield from super().read(lines[:2])
        raise KeyError("late")

class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no text")

class RaisesMute(Faithful):
    def write(self, events):
        raise Mute

class Skips(Faithful):
    def read(self, lines):
        import pytest
        pytest.skip("not for me")

class Half:
    def write(self, events):
        return []

class WritesNothing(Faithful):
    def write(self, events):
        return None

class WritesText(Faithful):
    def write(self, events):
        return "\\n".join(super().write(events))

class WritesNumbers(Faithful):
    def write(self, events):
        return [7]

class WritesForEver(Faithful):
    def write(self, events):
        while True:
            yield "{}"

class WritesMuch(Faithful):
    def write(self, events):
        while True:
            yield "x" * 1_000_000

class ReadsNone(Faithful):
    def read(self, lines):
        return None

class ReadsNothing(Faithful):
    def read(self, lines):
        return []

class ReadsNumbers(Faithful):
    def read(self, lines):
        return [7]

class ReadsNoKind(Faithful):
    def read(self, lines):
        return [msgspec.structs.replace(e, kind=7) for e in super().read(lines)]

class ReadsForEver(Faithful):
    def read(self, lines):
        read = super().read(lines)
        while True:
            yield read[0]

class Prints(Faithful):
    def read(self, lines):
        print("reading")
        print("reading", file=sys.stderr)
        return super().read(lines)

class Vague(Faithful):
    """Its form numbers no lines in a way that shows a gap, so a line is lost."""
    def read(self, lines):
        read = super().read(lines)
        return read[:3] + read[4:]
'''


PASS = ("mine:Faithful", "mine:Prints")

RAISE = {
    "mine:Raising": "the adapter raises RuntimeError: no such line in read, on ",
    "mine:RaisesLate": "the adapter raises KeyError: 'late' in read, on ",
    "mine:RaisesMute": "the adapter raises Mute: without a text in write, on ",
    "mine:Exits": "the adapter raises SystemExit: 0 in read, on ",
    "mine:Skips": "the adapter raises Skipped: not for me in read, on ",
    "mine:Unmade": "cannot make mine:Unmade: RuntimeError: no config",
    "mine:NeedsMore": "cannot make mine:NeedsMore: TypeError: ",
    "mine:ExitsOnce": "cannot make mine:ExitsOnce: SystemExit: 0",
    "mine:Missing": "cannot make mine:Missing: AttributeError: ",
    "mine:Half": "mine:Half has no method read",
    "mine:json": "cannot make mine:json: TypeError: ",
    "nowhere:Adapter": "cannot make nowhere:Adapter: ModuleNotFoundError: ",
    "broken:Adapter": "cannot make broken:Adapter: SyntaxError: ",
    "leaves:Adapter": "cannot make leaves:Adapter: SystemExit: 3",
    "mine": "--adapter mine is not MODULE:CLASS",
    ":Adapter": "--adapter :Adapter is not MODULE:CLASS",
}
"""What is said of each adapter for which pytest ends with 2."""

FAIL = {
    "mine:WritesNothing": "write makes NoneType, not a list",
    "mine:WritesText": "write makes str, not a list",
    "mine:WritesNumbers": "write makes int at 1, not a line of text",
    "mine:WritesForEver": "write makes more than 10,000 items or 16 MiB of ",
    "mine:WritesMuch": "write makes more than 10,000 items or 16 MiB of ",
    "mine:ReadsNone": "read makes NoneType, not a list",
    "mine:ReadsNothing": "read makes no events of ",
    "mine:ReadsNumbers": "read makes no event at 1: InputError: ",
    "mine:ReadsNoKind": "read makes no event at 1: InputError: ",
    "mine:ReadsForEver": "read makes more than 10,000 items or 16 MiB of ",
}
"""What is said of each adapter with which each run fails."""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The suite of one runtime, with adapters beside it."""
    folder = tmp_path_factory.mktemp("adapters")
    assert 0 == main(["counterexamples", "--runtime", "vllm_pool", "-o", str(folder / "suite")])
    (folder / "mine.py").write_text(ADAPTERS)
    (folder / "broken.py").write_text("class Adapter\n")
    (folder / "leaves.py").write_text("import sys\nsys.exit(3)\n")
    return folder


EACH = """
import contextlib, io, json, sys, pytest
done = {}
for adapter in sys.argv[1:]:
    with io.StringIO() as out, contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        options = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--rootdir", "."]
        code = pytest.main([*options, "--resident-claims-suite", "suite", "--adapter", adapter])
        done[adapter] = int(code), out.getvalue()
print(json.dumps(done))
"""


@pytest.fixture(scope="module")
def ran(suite: Path) -> dict[str, tuple[int, str]]:
    """The exit code and the output of pytest with the suite, by adapter; all in one process."""
    adapters = [*PASS, *RAISE, *FAIL, "mine:Vague", "mine:Forgetful"]
    done = subprocess.run(
        [sys.executable, "-c", EACH, *adapters],
        cwd=suite,
        env=environment(suite),
        capture_output=True,
        text=True,
    )
    assert 0 == done.returncode, done.stderr
    found: dict[str, tuple[int, str]] = json.loads(done.stdout)
    return found


def environment(*paths: Path | None) -> dict[str, str]:
    """The variables of a process that imports from these folders, and from this project."""
    root = Path(__file__).parents[3]
    listed = [*(str(each) for each in (*paths, root) if each is not None)]
    listed += filter(None, [os.environ.get("PYTHONPATH")])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(listed)}


def called(folder: Path, *more: str, path: Path | None = None) -> tuple[int, str]:
    """The exit code and the output of pytest in a folder."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"),
            *("--rootdir", str(folder), *more),
        ],
        cwd=folder,
        env=environment(path, folder),
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("adapter", PASS)
def test_a_faithful_adapter_passes(ran: dict[str, tuple[int, str]], adapter: str) -> None:
    """An adapter that loses nothing gets the verdict of each run, whatever it prints."""
    code, text = ran[adapter]
    assert 0 == code, text
    assert "3 passed" in text


def test_an_adapter_that_hides_a_break_fails(ran: dict[str, tuple[int, str]]) -> None:
    """A run that breaks a mode and comes out as kept fails, with its story."""
    code, text = ran["mine:Forgetful"]
    assert 1 == code, text
    assert "the monitor says kept, and violated of the run itself" in text
    assert "This breaks victim_exclusion_before_violation" in text


def test_what_is_inconclusive_is_skipped(ran: dict[str, tuple[int, str]]) -> None:
    """A run about which nothing can be said after the adapter neither passes nor fails."""
    code, text = ran["mine:Vague"]
    assert 0 == code, text
    assert "skipped" in text
    assert "failed" not in text


@pytest.mark.parametrize("adapter", RAISE)
def test_an_adapter_that_raises_is_bad_input(ran: dict[str, tuple[int, str]], adapter: str) -> None:
    """pytest ends with 2, and a line says what the adapter raised."""
    code, text = ran[adapter]
    assert 2 == code, text
    (line,) = [line for line in text.splitlines() if "error: " in line]
    assert f"error: {RAISE[adapter]}" in line
    assert "INTERNALERROR" not in text


@pytest.mark.parametrize("adapter", FAIL)
def test_an_adapter_that_makes_something_else_fails(
    ran: dict[str, tuple[int, str]], adapter: str
) -> None:
    """Each test fails, and a line says what the adapter made instead of lines and events."""
    code, text = ran[adapter]
    assert 1 == code, text
    assert "3 failed" in text
    assert 3 == sum(
        f": {FAIL[adapter]}" in line for line in text.splitlines() if "FAILED" not in line
    )
    assert "INTERNALERROR" not in text
    assert "Traceback" not in text


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"trace": "none.jsonl"}, "the suite: FileNotFoundError"),
        ({"trace": "mine.jsonl"}, "the suite: ValueError"),
        ({"mode": "none"}, "the suite: UnknownName"),
        ({"verdict": "kept"}, "the monitor says violated, and kept of the run itself"),
    ],
)
def test_a_suite_that_is_damaged_fails(
    suite: Path, tmp_path: Path, change: dict[str, str], says: str
) -> None:
    """A row of which the run cannot be judged fails with a line."""
    for path in (suite / "suite").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "mine.jsonl").write_text("mine")
    index = json.loads((tmp_path / "index.json").read_text())
    index["rows"][0].update(change)
    (tmp_path / "index.json").write_text(json.dumps(index))
    code, text = called(
        suite, "--resident-claims-suite", str(tmp_path), "--adapter", "mine:Faithful"
    )
    assert 1 == code, text
    assert f": {says}" in text
    assert "1 failed, 2 passed" in text


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
