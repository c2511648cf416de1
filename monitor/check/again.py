"""Copies standard input so that it can be read more than once."""

from __future__ import annotations

import sys
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Final

from monitor.input.errors import InputError
from monitor.input.lines import STDIN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["seekable"]

_CHUNK: Final = 1 << 20


@contextmanager
def seekable(paths: Sequence[str], stdin: BinaryIO | None) -> Iterator[BinaryIO | None]:
    """What `-` stands for, copied into a file without a name; None where no path is `-`.

    Raises:
        InputError: it cannot be read, or the disk has no room for the copy.
    """
    source = stdin or (None if sys.stdin is None else sys.stdin.buffer)
    if STDIN not in paths or source is None:
        yield None
        return
    try:
        made = tempfile.TemporaryFile()  # noqa: SIM115
    except OSError as error:
        why = f"nowhere to put a copy of it, which is read again: {error.strerror or error}"
        hint = "set TMPDIR to a folder that can be written, or name the --mode"
        raise InputError(STDIN, why, hint=hint) from None
    with made as copy:
        while chunk := _read(source):
            try:
                copy.write(chunk)
                copy.flush()
            except OSError as error:
                why = f"it must be copied to be read twice, and there is no space: {error.strerror}"
                raise InputError(STDIN, why, hint="write it to a file and name that") from None
        copy.seek(0)
        yield copy


def _read(source: BinaryIO) -> bytes:
    try:
        return source.read(_CHUNK)
    except OSError as error:
        raise InputError(STDIN, f"cannot be read: {error.strerror or error}") from None
