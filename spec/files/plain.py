"""Opens regular files, and makes new ones; refuses anything else without waiting for it."""

from __future__ import annotations

import errno
import io
import os
import stat
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["NoFile", "open_new", "open_plain", "read_plain"]

_KINDS: Final = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class NoFile(OSError):
    """What is named is a pipe, a socket or a device; `strerror` says which."""

    strerror: str


def open_plain(path: str | Path) -> io.FileIO:
    """A file, open to be read, without a buffer.

    What is no file is refused before it is opened: to open a pipe could take forever, and a device
    may mind.

    Raises:
        NoFile: it is a pipe, a socket or a device.
        OSError, ValueError: it cannot be opened.
    """
    _check_regular(path, os.stat(path))
    file = io.FileIO(path, opener=_open)
    try:
        _check_regular(path, os.fstat(file.fileno()))  # it may have been exchanged meanwhile
    except NoFile:
        file.close()
        raise
    return file


def read_plain(path: str | Path, most: int) -> bytes:
    """What a file holds.

    Raises:
        NoFile, OSError, ValueError: it cannot be read, or holds more than `most` bytes.
    """
    with io.BufferedReader(open_plain(path)) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"it has over {most} bytes")
    return content


def open_new(path: str | Path) -> io.FileIO:
    """A new file without a buffer, of which what is written can be read back.

    Whatever else writes to it: each write appends, and none writes over another.

    Raises:
        OSError, ValueError: it cannot be made, or something of that name is there already.
    """
    return io.FileIO(path, "x+", opener=_append)


def _append(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_APPEND, 0o666)


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _check_regular(path: str | Path, found: os.stat_result) -> None:
    kind = stat.S_IFMT(found.st_mode)
    if kind not in {stat.S_IFREG, stat.S_IFDIR}:  # opening a folder says what is wrong by itself
        raise NoFile(errno.EINVAL, f"it is {_KINDS.get(kind, 'no file')}", str(path))
