"""The commands that the README shows do what it says."""

import json
import re
import shlex
from collections.abc import Callable
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from monitor import check_files
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
CALLS = {"server": SERVER, "runtime": RUNTIME, "paper": PROVED, "certificate": CERTIFIED}
Ran = Callable[[str], list[CompletedProcess[str]]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the commands run in."""
    return workplace(tmp_path_factory.mktemp("readme"))


@pytest.fixture(scope="module")
def ran(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """What the calls of a block came to, one after another; each block is run once."""

    @cache
    def of(block: str) -> list[CompletedProcess[str]]:
        build = str(tmp_path_factory.mktemp(block))
        return [
            call(*(w.replace("build", build) for w in words), cwd=place)
            for _, words in CALLS[block]
        ]

    return of


def _anchor(head: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-")


STORY = (
    "claim_registered",
    "claim_committed",
    "claim_accepted",
    "block_cached",
    "claim_materialized",
    "request_arrived",
    "block_evicted",
    "claim_harmed",
    "request_finished",
)
"""What each line of the story's trace states."""


class TestStory:
    """The story at the top is that of its trace, line for line."""

    TRACE = ROOT / "monitor" / "samples" / "hard_protected_victim.jsonl"

    def test_lines(self) -> None:
        """Each line of the trace is one of the story, in its order, and has the numbers told."""
        (drawn,) = re.findall(r"```mermaid\n(.*?)```", README, re.DOTALL)
        told = re.findall(r": (\d) (.*)$", drawn, re.M)
        events = [json.loads(line) for line in self.TRACE.read_text().splitlines()]
        assert STORY == tuple(event["kind"] for event in events)
        assert [str(n + 1) for n in range(len(events))] == [number for number, _ in told]
        for (_, says), event in zip(told, events, strict=True):
            assert set(re.findall(r"\d+", says)) <= set(re.findall(r"\d+", json.dumps(event)))

    def test_faults(self) -> None:
        """The promise is broken at the two lines that the text blames, and at no other."""
        (blamed,) = re.findall(r"Line (\d) broke the promise, and\nline (\d) served", README)
        (claim,) = check_files(self.TRACE).claims
        found = [each.at.line for each in claim.obligations.values() if each.verdict == "violated"]
        assert [*map(int, blamed)] == sorted(found)


class TestReadme:
    def test_all_blocks_are_known(self) -> None:
        """Make targets, and the calls of three readers, four of which find something."""
        assert [4, 5, 9] == [len(block) for block in (SERVER, RUNTIME, PAPER)]
        assert {"make demo", "make test"} == set(re.findall(r"make \w+", BLOCKS[0]))
        assert 4 == sum(code for code, _ in (*SERVER, *RUNTIME, *PAPER))

    @pytest.mark.parametrize(
        "block",
        [
            "server",
            pytest.param("runtime", marks=pytest.mark.slow),
            pytest.param("paper", marks=pytest.mark.deep),
            pytest.param("certificate", marks=pytest.mark.deep),
        ],
    )
    def test_calls(self, block: str, ran: Ran) -> None:
        """Each call of a block exits as the README says and prints something, no traceback."""
        for (code, words), done in zip(CALLS[block], ran(block), strict=True):
            assert code == done.returncode, done.stderr
            assert done.stdout or "-o" in words
            assert "Traceback" not in done.stderr

    @pytest.mark.slow
    def test_evidence(self, ran: Ran) -> None:
        """A label without evidence, the evidence, and the label with it, as the README says."""
        bare, evidence, shown = (done.stdout for done in ran("runtime")[:3])
        assert "sound_with_adapter" not in bare
        assert "7 of the 7 obligations" in evidence
        assert "backend_patch sound_with_adapter" in " ".join(shown.split())

    def test_output(self, ran: Ran) -> None:
        """What the README shows of an output is in it."""
        (shown,) = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
        assert shown in ran("server")[0].stdout

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
