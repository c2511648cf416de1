"""Anchors that cite the tree of their descriptor: which of them lead somewhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from models.catalog import FOLDER, NAMES, descriptor
from spec.lowering import places
from spec.lowering.load import read_descriptor
from spec.lowering.places import cites_tree, elsewhere, nowhere
from tests.spec.lowering import described

ROOT = Path(__file__).parents[3]
NOT_THERE = "no such file, beside the descriptor or above it in its tree"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a descriptor, within a checkout that has a few files."""
    at = tmp_path / "checkout" / "models" / "mine"
    (at / "runs").mkdir(parents=True)
    (tmp_path / "checkout" / "pyproject.toml").write_text("")
    (tmp_path / "checkout" / "docs").mkdir()
    (tmp_path / "checkout" / "docs" / "page.md").write_text("one\ntwo\nthree")
    (tmp_path / "outside.md").write_text("one\n")
    (at / "runs" / "join.jsonl").write_text("{}\n{}\n")
    os.mkfifo(at / "pipe")
    return at


def lost(folder: Path, path: str, **fields: Any) -> str:
    """Why an anchor with this path leads nowhere; empty where it does not."""
    anchor = described.run(path=path, **fields)
    return nowhere(described.descriptor(anchors={"cited": anchor}), folder).get("cited", "")


class TestNowhere:
    """What is looked up, and what comes of it."""

    @pytest.mark.parametrize(
        "path",
        [
            "runs/join.jsonl",
            "runs",
            "./runs/join.jsonl:2",
            "docs/page.md",
            "docs/page.md:3",
            "docs/page.md:1-3",
            "../../docs/page.md:2",
        ],
    )
    def test_there(self, folder: Path, path: str) -> None:
        """A file, a folder or a line is found beside the descriptor, or above it in its tree."""
        assert "" == lost(folder, path)

    @pytest.mark.parametrize(
        ("path", "why"),
        [
            ("runs/joint.jsonl", NOT_THERE),
            ("docs/page.md:4", "it has 3 lines"),
            ("docs/page.md:2-4", "it has 3 lines"),
            ("docs/page.md:3-2", "line 2 is before line 3"),
            ("docs/page.md:0", NOT_THERE),
            ("runs:1", "it has 0 lines"),
            ("../../../outside.md", NOT_THERE),
            ("outside.md", NOT_THERE),
            ("/etc/hostname", NOT_THERE),
            ("pipe", NOT_THERE),
            ("pipe:1", NOT_THERE),
            ("x" * 900, NOT_THERE),
        ],
    )
    def test_nowhere(self, folder: Path, path: str, why: str) -> None:
        """What is not there, or out of the tree, or no file, is told, and no pipe is waited for."""
        assert why == lost(folder, path)

    @pytest.mark.parametrize(
        "fields",
        [
            {"path": "nowhere/run.json", "source": "https://example.org/artifact"},
            {"path": "scheduler.py of a fork, pin_request"},
            {"path": None, "source": "https://example.org/artifact"},
        ],
        ids=str,
    )
    def test_elsewhere(self, folder: Path, fields: dict[str, Any]) -> None:
        """What lies below a public source, or is cited in words, is not looked up."""
        made = described.descriptor(anchors={"cited": described.run(**fields)})
        assert not cites_tree(made.anchors["cited"])
        assert "cited" in elsewhere(made)
        assert "cited" not in nowhere(made, folder)

    def test_opened(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file that exists is opened; one that cannot be is reported."""
        assert "" == lost(folder, "runs/join.jsonl")

        def denied(path: Path) -> Any:
            raise PermissionError(path)

        monkeypatch.setattr(places, "open_file", denied)
        assert "it cannot be opened" == lost(folder, "runs/join.jsonl")

    def test_no_checkout(self, tmp_path: Path) -> None:
        """Without a checkout around it a descriptor's tree is its own folder."""
        (tmp_path / "a" / "b").mkdir(parents=True)
        (tmp_path / "a" / "above.md").write_text("")
        (tmp_path / "a" / "b" / "beside.md").write_text("")
        assert "" == lost(tmp_path / "a" / "b", "beside.md")
        assert NOT_THERE == lost(tmp_path / "a" / "b", "above.md")

    def test_long_file(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of a file so much is read and no more, once, however often it is cited."""
        (folder / "long.txt").write_bytes(b"\n" * 100)
        opened: list[Path] = []
        monkeypatch.setattr(places, "_MOST_BYTES", 10)
        monkeypatch.setattr(places, "_CHUNK", 10)
        real = places.open_file
        monkeypatch.setattr(places, "open_file", lambda p: opened.append(p) or real(p))
        cited = {f"a{n}": described.run(path=f"long.txt:{n}") for n in (9, 10, 11)}
        found = nowhere(described.descriptor(anchors=cited), folder)
        assert ({"run", "a11"}, 1) == (set(found), len(opened))


class TestShipped:
    """The descriptors of this tree."""

    @pytest.mark.parametrize("name", NAMES)
    def test_models(self, name: str) -> None:
        """No shipped descriptor cites a place of this tree that is not there."""
        assert {} == nowhere(descriptor(name), FOLDER)

    def test_not_opened(self) -> None:
        """Only the descriptor of the plugin cites this tree, and it cites nothing else."""
        cited = {n: sum(map(cites_tree, descriptor(n).anchors.values())) for n in NAMES}
        assert {"vllm_plugin": len(descriptor("vllm_plugin").anchors)} == {
            name: count for name, count in cited.items() if count
        }
        assert () == elsewhere(descriptor("vllm_plugin"))

    def test_example(self) -> None:
        """Nor does the example, which cites nothing of this tree."""
        found = read_descriptor(ROOT / "docs/examples/patched.yaml")
        assert {} == nowhere(found, ROOT / "docs/examples")
        assert len(found.anchors) == len(elsewhere(found))
