"""The commands that the README shows do what it says."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```console\n(.*?)```", README, re.DOTALL)


def calls(block: str) -> list[list[str]]:
    """The arguments of each call of one of our modules in a block."""
    lines = [line.removeprefix("$ ") for line in block.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith(".venv/bin/python")]


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CASES = [(0, call) for call in calls(BLOCKS[1])] + [(1, call) for call in calls(BLOCKS[2])]


class TestReadme:
    def test_all_blocks_are_known(self) -> None:
        """Make targets, eight calls that hold, two that find something, twice three in a row."""
        assert [8, 2, 3, 3] == [len(calls(block)) for block in BLOCKS[1:]]
        assert {"make demo", "make test"} == set(re.findall(r"make \w+", BLOCKS[0]))
        assert [0] * 8 + [1] * 2 == [code for code, _ in CASES]

    @pytest.mark.parametrize(("code", "call"), CASES, ids=str)
    def test_call(self, code: int, call: list[str]) -> None:
        """The call exits as the README says and prints something, without a traceback."""
        done = subprocess.run([sys.executable, *call], cwd=ROOT, capture_output=True, text=True)

        assert code == done.returncode, done.stderr
        assert done.stdout
        assert "Traceback" not in done.stderr

    def test_evidence(self) -> None:
        """A label without evidence, the evidence, and the label with it, as the README says."""
        shown = []
        for call in calls(BLOCKS[3]):
            done = subprocess.run([sys.executable, *call], cwd=ROOT, capture_output=True, text=True)
            assert 0 == done.returncode, done.stderr
            shown.append(done.stdout)
        assert "sound_with_adapter" not in shown[0]
        assert "7 of the 7 obligations" in shown[1]
        assert "backend_patch sound_with_adapter" in " ".join(shown[2].split())

    def test_in_a_row(self, tmp_path: Path) -> None:
        """A trace is told; a certificate is written, and then checked again."""
        for told in calls(BLOCKS[4]):
            call = [part.replace("build", str(tmp_path)) for part in told]
            done = subprocess.run([sys.executable, *call], cwd=ROOT, capture_output=True, text=True)

            assert 0 == done.returncode, done.stderr

    def test_output(self) -> None:
        """What the README shows of an output is in it."""
        (shown,) = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
        call = calls(BLOCKS[2])[0]
        done = subprocess.run([sys.executable, *call], cwd=ROOT, capture_output=True, text=True)

        assert shown in done.stdout

    @pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
    def test_links(self, page: Path) -> None:
        """Each link of a page leads to a file or folder that is there, and to a heading in it."""
        text = page.read_text()
        for target, anchor in re.findall(r"\]\((?!http)([\w./-]*)(?:#([\w-]+))?\)", text):
            there = page.parent / target if target else page
            assert there.exists(), target
            heads = re.findall("^#+ (.*)$", there.read_text(), re.M) if anchor else []
            assert not anchor or anchor in {head.lower().replace(" ", "-") for head in heads}
