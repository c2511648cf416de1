"""Writes and reads the URLs of states: a start, and the numbers of the actions taken from it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from models.explorer.walk import LONGEST, Lost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from models.explorer.starts import Start

__all__ = ["numbers_of", "url"]

_DIGITS: Final = 3
_TAKEN: Final = re.compile(rf"[0-9]{{1,{_DIGITS}}}(\.[0-9]{{1,{_DIGITS}}})*")


def url(start: Start, numbers: Sequence[int] = ()) -> str:
    """The path of a state."""
    return f"/{start.word}/{'.'.join(map(str, numbers))}"


def numbers_of(text: str) -> tuple[int, ...]:
    """The numbers of actions in a URL, such as `1.0.2`.

    Raises:
        Lost: it is no list of numbers, or is longer than that of any run.
    """
    if not text:
        return ()
    if len(text) > LONGEST * (_DIGITS + 1) or _TAKEN.fullmatch(text) is None:
        raise Lost("a run is written as numbers of actions with dots between them, such as 1.0.2")
    return tuple(map(int, text.split(".")))
