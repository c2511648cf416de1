"""The commands that the README shows do what it says."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(r"```console\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def calls(block: str) -> list[list[str]]:
    """The arguments of each call of one of our modules in a block."""
    lines = [line.removeprefix("$ ") for line in block.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith(".venv/bin/python")]


CASES = [(0, call) for call in calls(BLOCKS[1])] + [(1, call) for call in calls(BLOCKS[2])]


class TestReadme:
    def test_all_blocks_are_known(self) -> None:
        """Make targets, six calls that hold and two that find something, and nothing else."""
        assert 3 == len(BLOCKS)
        assert {"make demo", "make test"} == set(re.findall(r"make \w+", BLOCKS[0]))
        assert [0] * 6 + [1] * 2 == [code for code, _ in CASES]

    @pytest.mark.parametrize(("code", "call"), CASES, ids=str)
    def test_call(self, code: int, call: list[str]) -> None:
        """The call exits as the README says and prints something, without a traceback."""
        done = subprocess.run([sys.executable, *call], cwd=ROOT, capture_output=True, text=True)

        assert code == done.returncode, done.stderr
        assert done.stdout
        assert "Traceback" not in done.stderr
