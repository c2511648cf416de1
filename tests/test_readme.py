"""The commands that the README shows do what it says."""

import re
import shlex
from pathlib import Path

import pytest

from tests.installation import ROOT, call, workplace

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```console\n(.*?)```", README, re.DOTALL)


def calls(block: str) -> list[list[str]]:
    """What each call in a block runs: `-m MODULE ...`, or `resident-claims ...`."""
    lines = [line.removeprefix("$ .venv/bin/") for line in block.splitlines()]
    return [shlex.split(line.removeprefix("python ")) for line in lines if line[:1] not in "$#"]


PAGES = [*(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG"))]
PAGES += sorted((ROOT / "docs").rglob("*.md"))
CASES = [(0, words) for words in calls(BLOCKS[1])] + [(1, words) for words in calls(BLOCKS[2])]
CASES += [(0, words) for words in calls(BLOCKS[5])]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the commands run in."""
    return workplace(tmp_path_factory.mktemp("readme"))


class TestReadme:
    def test_all_blocks_are_known(self) -> None:
        """Make targets, eight calls that hold, two that find something, and the rows of calls."""
        assert [8, 2, 3, 3, 2] == [len(calls(block)) for block in BLOCKS[1:]]
        assert {"make demo", "make test"} == set(re.findall(r"make \w+", BLOCKS[0]))
        assert [0] * 8 + [1] * 2 + [0] * 2 == [code for code, _ in CASES]

    @pytest.mark.parametrize(("code", "words"), CASES, ids=str)
    def test_call(self, code: int, words: list[str], place: Path) -> None:
        """The call exits as the README says and prints something, without a traceback."""
        done = call(*words, cwd=place)

        assert code == done.returncode, done.stderr
        assert done.stdout
        assert "Traceback" not in done.stderr

    def test_evidence(self, place: Path) -> None:
        """A label without evidence, the evidence, and the label with it, as the README says."""
        shown = []
        for words in calls(BLOCKS[3]):
            done = call(*words, cwd=place)
            assert 0 == done.returncode, done.stderr
            shown.append(done.stdout)
        assert "sound_with_adapter" not in shown[0]
        assert "7 of the 7 obligations" in shown[1]
        assert "backend_patch sound_with_adapter" in " ".join(shown[2].split())

    def test_in_a_row(self, tmp_path: Path, place: Path) -> None:
        """A trace is told; a certificate is written, and then checked again."""
        for told in calls(BLOCKS[4]):
            done = call(*(part.replace("build", str(tmp_path)) for part in told), cwd=place)

            assert 0 == done.returncode, done.stderr

    def test_output(self, place: Path) -> None:
        """What the README shows of an output is in it."""
        (shown,) = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
        done = call(*calls(BLOCKS[2])[0], cwd=place)

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
            assert not anchor or anchor in {head.lower().replace(" ", "-") for head in heads}
