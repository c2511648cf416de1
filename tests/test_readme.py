"""The commands that the README shows do what it says."""

import re
import shlex
from pathlib import Path

import pytest

from tests.installation import ROOT, call, workplace

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```console\n(.*?)```", README, re.DOTALL)


def calls(block: str) -> list[tuple[int, list[str]]]:
    """The exit code that each line of a block states, 0 by default, and the words of the call."""
    lines = [line.removeprefix("$ .venv/bin/") for line in block.splitlines()]
    found = [(re.search(r"# exits (\d)$", line), line) for line in lines]
    return [(int(says[1]) if says else 0, shlex.split(line, comments=True)) for says, line in found]


PAGES = [*(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG"))]
PAGES += sorted((ROOT / "docs").rglob("*.md"))
SERVER, RUNTIME, PAPER = (calls(block) for block in BLOCKS[1:])
CERTIFIED = [(code, words) for code, words in PAPER if any("certificate" in w for w in words)]
PROVED = [each for each in PAPER if each not in CERTIFIED]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the commands run in."""
    return workplace(tmp_path_factory.mktemp("readme"))


def _anchor(head: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-")


class TestReadme:
    def test_all_blocks_are_known(self) -> None:
        """Make targets, and the calls of three readers, four of which find something."""
        assert [3, 5, 8] == [len(block) for block in (SERVER, RUNTIME, PAPER)]
        assert {"make demo", "make test"} == set(re.findall(r"make \w+", BLOCKS[0]))
        assert 4 == sum(code for code, _ in (*SERVER, *RUNTIME, *PAPER))

    @pytest.mark.parametrize(
        "block",
        [
            pytest.param(SERVER, id="server"),
            pytest.param(RUNTIME, id="runtime"),
            pytest.param(PROVED, id="paper", marks=pytest.mark.deep),
            pytest.param(CERTIFIED, id="certificate", marks=pytest.mark.deep),
        ],
    )
    def test_calls(self, block: list[tuple[int, list[str]]], place: Path, tmp_path: Path) -> None:
        """Each call of a block exits as the README says and prints something, no traceback."""
        for code, words in block:
            done = call(*(w.replace("build", str(tmp_path)) for w in words), cwd=place)

            assert code == done.returncode, done.stderr
            assert done.stdout or "-o" in words
            assert "Traceback" not in done.stderr

    @pytest.mark.slow
    def test_evidence(self, tmp_path: Path, place: Path) -> None:
        """A label without evidence, the evidence, and the label with it, as the README says."""
        shown = []
        for _, words in RUNTIME[:3]:
            done = call(*(w.replace("build", str(tmp_path)) for w in words), cwd=place)
            assert 0 == done.returncode, done.stderr
            shown.append(done.stdout)
        assert "sound_with_adapter" not in shown[0]
        assert "7 of the 7 obligations" in shown[1]
        assert "backend_patch sound_with_adapter" in " ".join(shown[2].split())

    def test_output(self, place: Path) -> None:
        """What the README shows of an output is in it."""
        (shown,) = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
        done = call(*SERVER[0][1], cwd=place)

        assert shown in done.stdout

    @pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
    def test_no_index(self, page: Path) -> None:
        """No page installs the project from an index, where it is not."""
        assert not re.search(r"pip install\b[^`\n]*resident[-_]claims", page.read_text())

    @pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
    def test_links(self, page: Path) -> None:
        """Each link of a page leads to a file or folder that is there, and to a heading in it."""
        text = page.read_text()
        for target, anchor in re.findall(r"\]\((?!http)([\w./-]*)(?:#([\w-]+))?\)", text):
            there = page.parent / target if target else page
            assert there.exists(), target
            heads = re.findall("^#+ (.*)$", there.read_text(), re.M) if anchor else []
            assert not anchor or anchor in {_anchor(head) for head in heads}
