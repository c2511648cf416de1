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


def run(suite: Path, adapter: str, *more: str) -> tuple[int, str]:
    """The exit code and the output of pytest in the folder."""
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"),
            *("--rootdir", str(suite)),
            *("--resident-claims-suite", "suite", *more, "--adapter", adapter),
        ],
        cwd=suite,
        env={**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{suite}"},
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
