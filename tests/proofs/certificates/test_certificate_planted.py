"""A planted change of the specification: what was certified before fails, and what is after."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from spec.claims.states import Mode
from tests.proofs.certificates.written import certify

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
PACKAGES = ("spec", "monitor", "models", "proofs", "tests")
PRESSURE = "spec/contract/obligations/pressure.py"
# "None of those named is too many" becomes "none is one too many", of this claim and of the others.
PLANTED = {
    "this claim": (
        "e.blamed.implies(room < total + share)",
        "e.blamed.implies(room <= total + share)",
    ),
    "the others": ("room < total + e.blamed_least", "room <= total + e.blamed_least"),
}
CERTIFY = """
from pathlib import Path
from spec.claims.states import Mode
from tests.proofs.certificates.written import certify
certify(Path("planted"), Mode.HARD_PROTECTED)
"""


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of the specification as it is."""
    folder = tmp_path_factory.mktemp("before")
    certify(folder, Mode.HARD_PROTECTED)
    return folder


@pytest.fixture(params=PLANTED)
def planted(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of the project with one operator changed."""
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    file = tmp_path / PRESSURE
    text, (old, new) = file.read_text(), PLANTED[request.param]
    assert 1 == text.count(old)
    file.write_text(text.replace(old, new))
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python in a copy of the project."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


@pytest.mark.deep
class TestPlanted:
    def test_older_certificate(self, planted: Path, before: Path) -> None:
        """A certificate from before the change is refused: it is about something else."""
        done = run(planted, "-m", "proofs", "recheck", str(before))

        assert (2, "") == (done.returncode, done.stdout)
        assert "was proved of specification" in done.stderr

    def test_new_certificate(self, planted: Path) -> None:
        """One that is written regardless from the changed specification fails, by both solvers."""
        done = run(planted, "-c", CERTIFY)
        assert 0 == done.returncode, done.stderr

        for solver in ("z3", "cvc5"):
            done = run(planted, "-m", "proofs", "recheck", "planted", "--solver", solver)
            assert 1 == done.returncode, done.stderr
            assert "sat: what is seen is true" in done.stdout

    @pytest.mark.parametrize("planted", ["the others"], indirect=True)
    def test_check(self, planted: Path) -> None:
        """`check` says which lemma fails, writes no certificate, and exits 1."""
        done = run(planted, "-m", "proofs", "check", "hard_protected", "--certificate", "checked")

        assert 1 == done.returncode, done.stderr
        assert "The lemma two claims fails" in " ".join(done.stdout.split())
        assert "not written" in " ".join(done.stdout.split())
        assert not (planted / "checked").exists()
