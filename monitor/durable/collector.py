"""Pauses the garbage collector while many objects are made of which none is garbage."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["paused"]


@contextmanager
def paused() -> Iterator[None]:
    """No collection of cycles inside; each would look at all objects, and find none to free."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
