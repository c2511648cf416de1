"""Lets the garbage collector rest while many objects are made of which few are garbage."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["begun", "paused", "seldom"]

_MADE: Final = 200_000
"""Objects that are made between two collections; by default they are 700."""


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


def begun() -> None:
    """A process begins that makes such objects: fewer collections from now on, and none looks at
    what is there from the start.
    """
    gc.freeze()
    _collect_less()


@contextmanager
def seldom() -> Iterator[None]:
    """Fewer collections of cycles inside: claims live long, and few are part of a cycle."""
    before = gc.get_threshold()
    _collect_less()
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _collect_less() -> None:
    """Collect cycles after so many objects, unless collections are turned off."""
    young, *older = gc.get_threshold()
    if young:
        gc.set_threshold(max(young, _MADE), *older)
