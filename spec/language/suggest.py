"""Suggests names that are close to a mistyped one."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, TypeVar

from spec.language.called import called
from spec.language.errors import UnknownName, type_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["did_you_mean", "resolve"]

S = TypeVar("S", bound=str)

_LONGEST = 100
_LISTED = 12
_SHORT = 3
_NOTHING = "none"  # "did you mean none?" would read as if there were nothing to suggest


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The hint `did you mean X?` for the known word nearest to `word`; empty where none is near."""
    close = difflib.get_close_matches(word[:_LONGEST], list(known), n=1)
    return f"did you mean {close[0]}?" if close else ""


def resolve(
    text: str,
    known: Iterable[S],
    *,
    what: str = "name",
    aliases: Mapping[str, str] | None = None,
    listed: str = "spec list",
) -> S:
    """The name among `known` that `text` stands for, whatever its case and its dashes.

    Args:
        what: the kind of thing, for the error: "mode", "obligation".
        aliases: other names, each for one of `known`.
        listed: the command that lists them, where they are many.

    Raises:
        UnknownName: there is none; the remedy is the nearest names, or a list of all where short.
    """
    names: dict[str, S] = {name: name for name in known}
    if not isinstance(text, str):
        raise UnknownName(f"the {what} is of type {type_name(text)}", "give its name")
    if text in names:
        return names[text]  # which may be of another type than the text
    meant = {_plain(alias): names[of] for alias, of in (aliases or {}).items() if of in names}
    meant.update((_plain(name), found) for name, found in names.items())
    typed = _plain(text[:_LONGEST])
    if typed in meant and len(text) <= _LONGEST:
        return meant[typed]
    worth = [word for word in meant if len(word) >= _SHORT or len(typed) < _SHORT]
    worth = [word for word in worth if word != _NOTHING]
    close = difflib.get_close_matches(typed, worth, n=3)
    raise UnknownName(
        f"there is no {what} {text[:_LONGEST]!r}",
        _remedy(tuple(dict.fromkeys(meant[word] for word in close))[:2], tuple(names), listed),
    )


def _plain(text: str) -> str:
    return "_".join(text.strip().casefold().replace("-", "_").split())


def _remedy(close: tuple[str, ...], names: tuple[str, ...], listed: str) -> str:
    if close:
        return f"did you mean {' or '.join(close)}?"
    if len(names) <= _LISTED:
        return f"use one of {', '.join(names)}"
    return f"{called(listed)} shows the names"
