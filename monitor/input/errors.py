"""Defines errors of what is read: location, reason and remedy."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar

import msgspec

from spec.language.errors import SpecError
from spec.language.suggest import did_you_mean

__all__ = [
    "Corrupt",
    "InputError",
    "Unreadable",
    "did_you_mean",
    "is_utf8",
    "kept_state",
    "shown",
    "utf8",
]

T = TypeVar("T")


class Corrupt(Exception):
    """The data of a file are damaged, end too early, or are in no form that is read; says why."""


class Unreadable(Exception):
    """A file that nothing here reads, although it may be whole; says why.

    Attributes:
        hint: what to do about it.
    """

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.hint = hint


class InputError(SpecError):
    """A file or a line of it that cannot be read; a part that is not known is None or empty.

    Attributes:
        file: as the user named it; `-` is standard input.
        line: counted from 1.
        field: as the file itself calls it, such as `proof.usable`.
        reason: what is wrong.
        hint: what to do about it.
    """

    def __init__(
        self,
        file: str,
        reason: str,
        line: int | None = None,
        field: str | None = None,
        hint: str = "",
    ) -> None:
        place = file if line is None else f"{file}:{line}"
        super().__init__(f"{place}: {f'{field}: ' if field else ''}{reason}", hint)
        self.args = file, reason, line, field, hint  # by which pickle makes it again
        self.file = file
        self.reason = reason
        self.line = line
        self.field = field
        self.hint = hint


def is_utf8(text: str) -> bool:
    """Whether a text can be written as UTF-8; the name of a file may be none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def kept_state(content: bytes, kind: type[T], of: str) -> T:
    """The state that was kept as msgpack; raises SpecError where it is torn or modified.

    Args:
        of: what the state is of, for the message.
    """
    try:
        return msgspec.msgpack.decode(content, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        hint = "begin anew in another folder of checkpoints"
        raise SpecError(f"the state of {of} cannot be read: {error}", hint) from None


@lru_cache(maxsize=64)
def utf8(text: str) -> str:
    """The text as UTF-8 can encode it: names of files may hold other bytes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def shown(value: object, limit: int = 60) -> str:
    """`value` quoted for a message: no control characters, at most `limit` characters of it."""
    if isinstance(value, str):
        return repr(value if len(value) <= limit else value[:limit] + "…")
    if isinstance(value, int) and abs(value) >= 10**20:
        return "a number of over 20 digits"
    text = repr(value)
    return text if len(text) <= limit else text[:limit] + "…"
