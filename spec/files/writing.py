"""Writes output files; what is written line by line replaces the old file when it is complete."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import contextmanager, suppress
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, BinaryIO

from spec.files.plain import open_plain
from spec.language.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = [
    "check_apart",
    "check_target",
    "read_text",
    "replacing",
    "stale",
    "write_bytes",
    "write_pages",
]


def write_bytes(path: Path, content: bytes) -> None:
    """Write `content` to `path`, making the folders above it; raises OutputError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except (OSError, ValueError) as problem:
        raise OutputError(f"cannot write {path}: {_reason(problem)}", "name another") from None


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which takes the place of `path` at the end; makes the folders above it.

    Until then, and if anything goes wrong, what is there stays as it is. A pipe or a device, and
    what is named by its place in /dev or /proc, is written at once.

    Raises:
        OutputError: it cannot be written. Other errors of the block are raised as they are.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode if _exists(path) else stat.S_IFREG
        is_place = path.absolute().parts[1:2] in {("dev",), ("proc",)}
        if is_place or not stat.S_ISREG(mode):
            with path.open("wb") as file:
                yield file
            return
        target = Path(os.path.realpath(path))
        new = target.parent / f".{secrets.token_hex(8)}.new"
        try:
            with new.open("xb") as file:
                if bits := stat.S_IMODE(mode):
                    os.fchmod(file.fileno(), bits)
                yield file
            new.replace(target)
        except BaseException:
            with suppress(OSError):
                new.unlink()
            raise
    except OSError as problem:
        raise OutputError(f"cannot write {path}: {_reason(problem)}", "name another") from None


def check_target(
    path: Path | None, *, folder: bool = False, reads: Iterable[str | Path | None] = ()
) -> None:
    """Raise OutputError now for what could not be written later; changes nothing. None is fine.

    Args:
        folder: `path` is a folder in which files will be written.
        reads: files that are read, which must not be written over.
    """
    if path is None:
        return
    try:
        if any(_same(path, each) for each in reads):
            raise OutputError(f"cannot write {path}: it is also an input", "name another")
        there = next(filter(_exists, (path, *path.parents)), path)
        is_folder = there.is_dir()
        if is_folder is (there == path and not folder):
            what = "a folder" if is_folder else "not a folder"
            raise OutputError(f"cannot write {path}: {there} is {what}", "name another")
        if is_folder:
            TemporaryFile(dir=there).close()
        elif there.is_file():  # a device or a pipe may mind being opened twice
            there.open("ab").close()
    except OSError as problem:
        raise OutputError(f"cannot write {path}: {_reason(problem)}", "name another") from None


def check_apart(**targets: Path | None) -> None:
    """Raise OutputError where two outputs are one file, or one lies in the folder of another.

    Args:
        targets: what is written, by the options that name it; `o` stands for `-o`.
    """
    given = [(name, path) for name, path in targets.items() if path is not None]
    for (one, first), (other, second) in combinations(given, 2):
        paths = [Path(os.path.realpath(path)) for path in (first, second)]
        if paths[0] in (paths[1], *paths[1].parents) or paths[1] in paths[0].parents:
            options = [f"--{name}" if len(name) > 1 else f"-{name}" for name in (one, other)]
            raise OutputError(f"{' and '.join(options)} both write {second}", "name two places")


def _same(path: Path, other: str | Path | None) -> bool:
    """Whether both are one file, by whatever names."""
    try:
        return other is not None and path.is_file() and path.samefile(other)
    except (OSError, ValueError):
        return False


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def read_text(path: Path) -> str | None:
    """The text of `path`, None where there is no such file; raises OutputError."""
    try:
        with open_plain(path) as file:
            return file.readall().decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as problem:
        raise OutputError(
            f"cannot read {path}: {_reason(problem)}", "name another folder"
        ) from None


def stale(folder: Path, pages: Mapping[str, str]) -> list[str]:
    """The paths of the pages in `folder` that are missing or differ; raises OutputError."""
    return [str(folder / name) for name, text in pages.items() if read_text(folder / name) != text]


def write_pages(folder: Path, pages: Mapping[str, str]) -> list[str]:
    """Write what is stale, and return its paths; raises OutputError."""
    changed = [name for name, text in pages.items() if read_text(folder / name) != text]
    for name in changed:
        write_bytes(folder / name, pages[name].encode("utf-8"))
    return [str(folder / name) for name in changed]


def _reason(problem: Exception) -> str:
    if isinstance(problem, FileExistsError):
        return "what should be a folder is a file"
    return (problem.strerror or str(problem)) if isinstance(problem, OSError) else str(problem)
