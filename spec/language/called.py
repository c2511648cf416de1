"""Names commands in hints and in help as the program that runs was called.

Each package has a command line of its own, `python -m PACKAGE`; `resident-claims` has their
commands under names of its own (spec/cli/console.py).
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["called", "calling", "retold"]

_MODULE: Final = re.compile(r"python -m ([a-z_]+)( [a-z]+)?(?!\w|\.\w)")

_names: Mapping[str, str] = {}


@contextmanager
def calling(names: Mapping[str, str]) -> Iterator[None]:
    """Within the block, commands are named by these names.

    Args:
        names: what to write for `PACKAGE COMMAND`, or for the whole of a `PACKAGE`.
    """
    global _names
    before, _names = _names, names
    try:
        yield
    finally:
        _names = before


def called(words: str) -> str:
    """A command line such as `proofs check hard_protected`, in the form to type it in."""
    return retold(f"python -m {words}")


def retold(text: str) -> str:
    """The text with each command that it names in the form to type it in."""
    return _MODULE.sub(_name, text)


def _name(found: re.Match[str]) -> str:
    package, command = found[1], found[2] or ""
    if (name := _names.get(f"{package}{command}")) is not None:
        return name
    return f"{_names[package]}{command}" if package in _names else found[0]
