"""Resolves anchors that cite the source tree of their descriptor.

An anchor cites that tree where it has a path and no source: `docs/a.md`, `src/b.py:12` or
`src/b.py:12-20`. The path is looked for beside the descriptor, and in the folders above it up to
the root of its checkout. A path with blanks is a citation in words; it cannot be resolved here.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spec.language.errors import DocumentError
from spec.language.prose import counted
from spec.lowering.load import open_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spec.lowering.descriptor import Anchor, Descriptor

__all__ = ["cites_tree", "elsewhere", "nowhere"]

_LINES: Final = re.compile(r"(?P<file>.+?):(?P<first>[1-9]\d{0,8})(?:-(?P<last>[1-9]\d{0,8}))?")
_ROOTS: Final = (".git", "pyproject.toml")
"""What the root of a checkout holds, one or the other."""
_MOST_BYTES: Final = 16 << 20
_CHUNK: Final = 1 << 18


def cites_tree(anchor: Anchor) -> bool:
    """Whether what an anchor names can be looked up in the tree of its descriptor."""
    return anchor.source is None and anchor.path is not None and len(anchor.path.split()) == 1


def elsewhere(descriptor: Descriptor) -> tuple[str, ...]:
    """The anchors outside the tree of their descriptor, by name: they are not opened."""
    return tuple(name for name, each in descriptor.anchors.items() if not cites_tree(each))


def nowhere(descriptor: Descriptor, folder: Path) -> dict[str, str]:
    """The anchors that lead nowhere in the tree, by name, and why; each one in it is opened.

    Args:
        folder: where the descriptor lies.
    """
    tree = _Tree(folder)
    cited = ((name, each.path) for name, each in descriptor.anchors.items() if cites_tree(each))
    found = {name: tree.why_not(path) for name, path in cited if path is not None}
    return {name: why for name, why in found.items() if why}


class _Tree:
    """The folder of a descriptor and those above it, up to the root of a checkout."""

    def __init__(self, folder: Path) -> None:
        self._folders = tuple(_up_to_root(Path(os.path.realpath(folder))))
        self._lines: dict[Path, int] = {}

    def why_not(self, cited: str) -> str:
        """What is wrong with a path as it is cited; empty where it leads somewhere."""
        if (at := self._there(cited)) is not None:
            return "" if os.path.isdir(at) or _opens(at) else "it cannot be opened"
        if (match := _LINES.fullmatch(cited)) is None or (at := self._there(match["file"])) is None:
            return "no such file, beside the descriptor or above it in its tree"
        first, last = int(match["first"]), int(match["last"] or match["first"])
        if last < first:
            return f"line {last} is before line {first}"
        lines = self._count(at)
        return f"it has {counted(lines, 'line')}" if lines < last else ""

    def _there(self, cited: str) -> Path | None:
        """The file or folder of this path in the tree, seen from the nearest folder that has it."""
        root = self._folders[-1]
        found = (Path(os.path.normpath(folder / cited)) for folder in self._folders)
        return next((p for p in found if p.is_relative_to(root) and _is_there(p)), None)

    def _count(self, path: Path) -> int:
        """The lines of a file, as far as it is read; a folder has none."""
        if path not in self._lines:
            try:
                self._lines[path] = _count(path)
            except (OSError, ValueError, DocumentError):
                self._lines[path] = 0
        return self._lines[path]


def _up_to_root(folder: Path) -> Iterator[Path]:
    """The folder and those above it; where no checkout is around it, the folder alone."""
    chain = (folder, *folder.parents)
    root = next((each for each in chain if any(os.path.exists(each / m) for m in _ROOTS)), folder)
    yield from chain[: chain.index(root) + 1]


def _is_there(path: Path) -> bool:
    return os.path.isfile(path) or os.path.isdir(path)


def _opens(path: Path) -> bool:
    try:
        with open_file(path):
            return True
    except (OSError, ValueError, DocumentError):
        return False


def _count(path: Path) -> int:
    lines, size, rest = 0, 0, b""
    with open_file(path) as file:
        while size < _MOST_BYTES and (chunk := file.read(_CHUNK)):
            lines, size, rest = lines + chunk.count(b"\n"), size + len(chunk), chunk[-1:]
    return lines + (rest not in {b"", b"\n"})
