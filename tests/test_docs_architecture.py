"""The functions that docs/architecture.md names are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
STEP = re.compile(r"^\d+\. (.*)$", re.MULTILINE)
NAMED = re.compile(r"`([\w/]+\.py)`, `([\w.]+)`")
OTHER = re.compile(r"`([\w.]+)` of `([\w/]+\.py)`")


def ways() -> dict[str, list[tuple[str, str]]]:
    """The files and names of each way."""
    parts = re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:]
    found = {}
    for part in parts:
        title, text = part.split("\n", 1)
        steps = "\n".join(STEP.findall(text.split("\n## ")[0]))
        below = re.search(r"Paths are below `(\w+)`", text)
        folder = f"{below[1]}/" if below else ""
        pairs = NAMED.findall(steps) + [(file, name) for name, file in OTHER.findall(steps)]
        found[title] = [(folder + file, name) for file, name in pairs]
    return found


def names(tree: ast.Module) -> set[str]:
    """The functions, classes and methods of a module, its methods as `Class.method`."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    top = [node for node in tree.body if isinstance(node, kinds)]
    inner = [
        f"{node.name}.{each.name}"
        for node in top
        if isinstance(node, ast.ClassDef)
        for each in node.body
        if isinstance(each, kinds)
    ]
    return {node.name for node in top} | set(inner)


def test_six_ways() -> None:
    """There are six, each of at least five steps."""
    assert [8, 8, 5, 8, 7, 5] == [
        len(STEP.findall(part.split("\n## ")[0]))
        for part in re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:]
    ]


DEFINED = [(file, name) for name, file in OTHER.findall(PAGE.split("\n## Where to look\n")[1])]


def test_where_to_look() -> None:
    """The page says where the words that a newcomer asks for are defined."""
    assert 19 == len(DEFINED)


@pytest.mark.parametrize(("file", "name"), DEFINED, ids=str)
def test_defined(file: str, name: str) -> None:
    """Each function is where the page says that it is."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert name in names(tree)


@pytest.mark.parametrize(
    ("file", "name"), [pair for way in ways().values() for pair in way], ids=str
)
def test_there(file: str, name: str) -> None:
    """Each file has what a way names of it."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert name in names(tree)
