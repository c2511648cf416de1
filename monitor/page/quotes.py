"""Quotes lines of the traces, without token ids unless they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from monitor.input.errors import InputError
from monitor.input.lines import STDIN, Lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from monitor.report.verdict import Input

__all__ = ["MOST_LINES", "quoted"]

MOST_LINES: Final = 1_000
"""Lines that a page quotes."""

_MOST: Final = 2_400  # characters of a line; the middle of a longer one is left out
_DECODE: Final = msgspec.json.Decoder().decode
_HIDDEN: Final = "(not shown: it may have token ids; --with-tokens shows it)"


def quoted(
    inputs: Iterable[Input], wanted: Sequence[tuple[str, int]], *, with_tokens: bool
) -> dict[str, dict[int, str]]:
    """The text of the first of the wanted lines, by file and number.

    Standard input cannot be read again; a file that is not what was judged is not quoted.
    """
    numbers: dict[str, set[int]] = {}
    for file, line in wanted[:MOST_LINES]:
        numbers.setdefault(file, set()).add(line)
    return {
        each.file: found
        for each in inputs
        if each.file in numbers and each.file != STDIN
        for found in [_of_file(each, numbers[each.file], with_tokens)]
        if found
    }


def _of_file(judged: Input, numbers: set[int], with_tokens: bool) -> dict[int, str]:
    lines, found = Lines(judged.file), dict[int, str]()
    try:
        for number, content in lines:
            if number in numbers and not isinstance(content, InputError):
                found[number] = _shown(content, with_tokens)
    except InputError:
        return {}
    return found if lines.sha256 == judged.sha256 else {}


def _shown(content: bytes, with_tokens: bool) -> str:
    """A line as text, without token ids; its middle is left out where it is long."""
    text = content.decode("utf-8", "backslashreplace").strip()
    if not with_tokens:
        text = _without_tokens(content, text)
    half = _MOST // 2
    return text if len(text) <= _MOST else f"{text[:half]} ... {text[-half:]}"


def _without_tokens(content: bytes, text: str) -> str:
    try:
        value = _DECODE(content)
    except (msgspec.DecodeError, RecursionError):
        return _HIDDEN
    pruned = _pruned(value)
    return text if pruned == value else msgspec.json.encode(pruned).decode()


def _pruned(value: Any) -> Any:
    """The same value without tokens: lists whose name says so, messages that were not decoded, and
    lists of numbers in messages whose fields have no names.
    """
    if isinstance(value, list):
        return [_removed(each) if _is_numbers(each) else _pruned(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _removed(each) if _is_private(name, each) else _pruned(each)
        for name, each in value.items()
    }


def _is_numbers(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(each, int) for each in value)


def _is_private(name: object, value: object) -> bool:
    return isinstance(value, list) and ("token" in str(name) or name == "frames")


def _removed(value: list[object]) -> str:
    return f"({len(value)} removed)"
