"""Writes a suite to a folder, and nothing over what is of no suite."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from proofs.counterexamples.suite import INDEX
from proofs.counterexamples.verify import read_suite
from spec.files.writing import check_target, write_bytes
from spec.language.errors import OutputError, SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["check_folder", "write_folder"]

_NAME: Final = re.compile(r"[a-z0-9-]+\.jsonl")
_BESIDE: Final = (INDEX, "index.md", "index.csv")


def check_folder(folder: Path, *, force: bool) -> None:
    """Raise OutputError if the folder is not writable, or holds files that are of no suite."""
    check_target(folder, folder=True)
    strange = sorted(_there(folder) - _of_suite(folder))
    if strange and not force:
        cause = f"{folder} holds files of no suite: {', '.join(strange[:3])}"
        raise OutputError(cause, "name another folder, or use --force")


def _there(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()} if folder.is_dir() else set()


def _of_suite(folder: Path) -> set[str]:
    """The files that the index of the suite in a folder, if there is one, answers for."""
    try:
        suite = read_suite(folder)
    except SpecError:
        return set()
    traces = [row.trace for row in suite.rows if row.trace and _NAME.fullmatch(row.trace)]
    return {*_BESIDE, *traces, *(f"{each.removesuffix('.jsonl')}.itf.json" for each in traces)}


def write_folder(folder: Path, made: Mapping[str, bytes]) -> list[str]:
    """Write the files of a suite; files of the suite that was there before are removed."""
    for name in sorted((_of_suite(folder) & _there(folder)) - set(made)):
        (folder / name).unlink()
    for name, content in made.items():
        write_bytes(folder / name, content)
    return list(made)
