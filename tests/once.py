"""Computes what several tests need once, in whatever processes they run."""

from __future__ import annotations

import fcntl
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

__all__ = ["SHARED", "once"]

SHARED: Final = "RESIDENT_CLAIMS_SHARED"
"""The environment variable with the folder that the processes of a test run share."""

_T = TypeVar("_T")


def once(name: str, make: Callable[[], _T]) -> _T:
    """What `make` gives: the first process to ask makes it, the others wait and read it.

    Args:
        name: what it is, for all tests; the name of a file.
    """
    folder = os.environ.get(SHARED)
    if folder is None:
        return make()
    with (Path(folder) / name).open("a+b") as shared:
        fcntl.flock(shared, fcntl.LOCK_EX)
        shared.seek(0)
        if known := shared.read():
            found: _T = pickle.loads(known)
            return found
        made = make()
        shared.write(pickle.dumps(made))
    return made
