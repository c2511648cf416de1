"""The notebooks hold what their cells give."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest

from spec.claims.states import ClaimState
from tests.notebooks import NOTEBOOKS, executed, read

KEYS = {
    "markdown": {"cell_type", "id", "metadata", "source"},
    "code": {"cell_type", "execution_count", "id", "metadata", "outputs", "source"},
}


def without_pictures(notebook: dict[str, Any]) -> dict[str, Any]:
    """A notebook with its SVGs left out: another `dot` draws another picture."""
    bare = copy.deepcopy(notebook)
    for cell in bare["cells"]:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop("image/svg+xml", None)
    return bare


def pictures(notebook: dict[str, Any]) -> list[str]:
    """The SVGs of a notebook."""
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    found = [output.get("data", {}).get("image/svg+xml") for output in outputs]
    return ["".join(lines) for lines in found if lines]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
class TestNotebook:
    def test_outputs(self, path: Path) -> None:
        """The stored outputs are those of the cells (`python -m tests.notebooks` stores them)."""
        stored = read(path)

        assert without_pictures(stored) == without_pictures(executed(stored))

    def test_form(self, path: Path) -> None:
        """It is a notebook of format 4.5: the keys of each cell, ids that are names, and texts."""
        notebook = read(path)
        cells = notebook["cells"]
        ids = [cell["id"] for cell in cells]

        assert (4, 5) == (notebook["nbformat"], notebook["nbformat_minor"])
        assert {"cells", "metadata", "nbformat", "nbformat_minor"} == set(notebook)
        assert [KEYS[cell["cell_type"]] for cell in cells] == [set(cell) for cell in cells]
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", each) for each in ids)
        assert len(set(ids)) == len(ids)
        assert all(isinstance(line, str) for cell in cells for line in cell["source"])

    def test_links(self, path: Path) -> None:
        """Each page that it links to is there."""
        text = "".join(line for cell in read(path)["cells"] for line in cell["source"])
        links = re.findall(r"\]\(([^)#]+)", text)

        assert links
        assert [True] * len(links) == [(path.parent / link).exists() for link in links]


class TestFirstClaims:
    def test_story(self) -> None:
        """It writes a trace, finds it kept, breaks it, finds that, and shows the lifecycle."""
        (path,) = [each for each in NOTEBOOKS if each.name == "first-claims.ipynb"]
        notebook = executed(read(path))
        printed = [
            "".join(output["text"])
            for cell in notebook["cells"]
            for output in cell.get("outputs", [])
            if output["output_type"] == "stream"
        ]

        assert printed[1].startswith("kept\n")
        assert printed[2].startswith("violated - not kept: victim_exclusion_before_violation")
        assert "line 8" in printed[3]
        for drawn in (*pictures(notebook), *pictures(read(path))):
            assert "<svg" in drawn
            assert all(state in drawn for state in ClaimState)
        assert 1 == len(pictures(notebook))
