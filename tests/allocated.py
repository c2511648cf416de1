"""Measures the memory that the allocators of C and Python have given out."""

from __future__ import annotations

import ctypes
import os
import re
import sys
import tempfile
from typing import Final

__all__ = ["LIBC", "in_use"]


class _Malloc(ctypes.Structure):
    """What `mallinfo2` of glibc returns, of all arenas, in bytes."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks"),
            *("uordblks", "fordblks", "keepcost"),
        )
    )


LIBC: Final = ctypes.CDLL(None)
LIBC.mallinfo2.restype = _Malloc


def in_use() -> int:
    """The bytes that glibc and the allocator of Python have given out."""
    found = LIBC.mallinfo2()
    with tempfile.TemporaryFile() as page:  # Python prints its own to stderr only
        stderr = os.dup(2)
        os.dup2(page.fileno(), 2)
        try:
            sys._debugmallocstats()
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
        page.seek(0)
        blocks = re.search(rb"# bytes in allocated blocks +=([ 0-9,]+)", page.read())
    assert blocks is not None
    return int(found.uordblks + found.hblkhd + int(blocks[1].replace(b",", b"")))
