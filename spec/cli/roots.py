"""Reads files for a client that may name any path, from given folders alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spec.language.errors import SpecError
from spec.language.prose import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MOST_BYTES", "Roots"]

MOST_BYTES: Final = 64 << 20
"""A larger file is refused."""

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC  # a pipe does not block


class Roots:
    """The folders from which files may be read; links are followed as long as they stay within.

    Raises:
        SpecError: one of the folders is no folder.
    """

    def __init__(self, folders: Iterable[Path]) -> None:
        self._roots = tuple(map(_real, folders))

    def read(self, path: str, most: int = MOST_BYTES) -> bytes:
        """What a file contains.

        Args:
            path: absolute, or below one of the folders: the first one that has it counts.
            most: bytes that it may have.

        Raises:
            SpecError: it is not within the folders, no regular file, too large, or not readable.
        """
        for root in self._roots:
            try:
                found = (root / path).resolve(strict=True)
                if any(found.is_relative_to(each) for each in self._roots):
                    return _read(found, most)
            except SpecError:
                raise
            except (OSError, ValueError, RuntimeError):  # no file, no path, or a loop of links
                continue
        # One answer whether or not it exists: no client learns what is elsewhere.
        raise SpecError(
            f"{printable(path)} is not a file within the roots",
            "name a file below a folder that was given with --root",
        )


def _real(folder: Path) -> Path:
    try:
        found = folder.resolve(strict=True)
    except (OSError, RuntimeError):
        found = None
    if found is None or not found.is_dir():
        raise SpecError(f"{printable(str(folder))} is not a folder", "give --root a folder")
    return found


def _read(path: Path, most: int) -> bytes:
    """Read a file by its path without links: one that has become a link since is refused."""
    *folders, name = path.parts[1:]
    at = os.open(path.anchor, _FOLDER)
    try:
        for each in folders:
            at, above = os.open(each, _FOLDER, dir_fd=at), at
            os.close(above)
        with os.fdopen(os.open(name, _FILE, dir_fd=at), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError
            content = file.read(most + 1)
    finally:
        os.close(at)
    if len(content) > most:
        raise SpecError(f"{printable(path.name)} has more than {most} bytes", "cut it")
    return content
