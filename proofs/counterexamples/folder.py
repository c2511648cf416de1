"""Writes a suite to a folder, and nothing over what is of no suite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from proofs.counterexamples.reading import read_suite
from proofs.counterexamples.suite import INDEX, file_name
from spec.files.writing import check_target, write_bytes
from spec.language.errors import OutputError, SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["check_folder", "write_folder"]

_BESIDE: Final = (INDEX, "index.md", "index.csv")


def check_folder(folder: Path, *, force: bool) -> None:
    """Raise OutputError if the folder is not writable, or holds files that are of no suite."""
    check_target(folder, folder=True)
    strange = sorted(_there(folder) - {each for each in _of_suite(folder) if _plain(folder / each)})
    if strange and not force:
        cause = f"{folder} holds files of no suite: {', '.join(strange[:3])}"
        raise OutputError(cause, "name another folder, or use --force")


def _plain(path: Path) -> bool:
    """Whether it is a file of its own: what a link leads to is not."""
    return path.is_file() and not path.is_symlink()


def _there(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()} if folder.is_dir() else set()


def _of_suite(folder: Path) -> set[str]:
    """The files that the index of the suite in a folder, if there is one, answers for."""
    try:
        suite = read_suite(folder)
    except SpecError:
        return set()
    named = {file_name(row.inference) for row in suite.rows if row.trace is not None}
    return {*_BESIDE, *(f"{name}{suffix}" for name in named for suffix in (".jsonl", ".itf.json"))}


def write_folder(folder: Path, made: Mapping[str, bytes]) -> list[str]:
    """Write the files of a suite; files of the suite that was there before are removed."""
    there, old = _there(folder), _of_suite(folder)
    gone = {name for name in old - set(made) if _plain(folder / name)}
    gone |= {name for name in made if (folder / name).is_symlink()}  # not what they lead to
    for name in sorted(gone & there):
        try:
            (folder / name).unlink()
        except OSError as problem:
            cause = f"cannot remove {folder / name}: {problem.strerror}"
            raise OutputError(cause, "name another folder") from None
    for name, content in made.items():
        write_bytes(folder / name, content)
    return list(made)
