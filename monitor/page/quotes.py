"""Quotes lines of the traces, without token ids unless they are asked for."""

from __future__ import annotations

import re
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
_MOST_NUMBERS: Final = 8  # in a list, or in a text
_NUMBERS: Final = re.compile(r"\b\d+\b")
_PRIVATE: Final = re.compile(r"token|input_?ids", re.IGNORECASE)
_REMOVED: Final = "(removed)"
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
    if with_tokens:
        text = content.decode("utf-8", "backslashreplace").strip()
    else:
        text = _without_tokens(content)
    half = _MOST // 2
    return text if len(text) <= _MOST else f"{text[:half]} ... {text[-half:]}"


def _without_tokens(content: bytes) -> str:
    """What a line says, written again: a name that it has twice may hide the first value."""
    try:
        return msgspec.json.encode(_pruned(_DECODE(content))).decode()
    except (msgspec.MsgspecError, RecursionError, ValueError, OverflowError):
        return _HIDDEN


def _pruned(value: Any) -> Any:
    """The same value without what may be tokens: what a name says to be some, messages that were
    not decoded, many numbers, and lists of numbers in messages whose fields have no names.
    """
    if isinstance(value, str):
        many = len(_NUMBERS.findall(value)) > _MOST_NUMBERS
        named = _PRIVATE.search(value) and _NUMBERS.search(value)
        return _REMOVED if many or named else value
    if isinstance(value, list):
        if sum(map(_is_number, value)) > _MOST_NUMBERS:
            return _REMOVED
        return [_REMOVED if _is_numbers(each) else _pruned(each) for each in value]
    if not isinstance(value, dict):
        return value
    if _PRIVATE.search(str(value.get("key", ""))):
        return _REMOVED  # an attribute of OTLP, whose name is a value
    return {
        name: _REMOVED if _is_private(name, each) else _pruned(each) for name, each in value.items()
    }


def _is_number(value: object) -> bool:
    """A number, one in a string, or an object of such, as OTLP has them."""
    if isinstance(value, dict):
        return len(value) == 1 and all(map(_is_number, value.values()))
    return isinstance(value, (int, float)) or (isinstance(value, str) and value.isdigit())


def _is_numbers(value: object) -> bool:
    return isinstance(value, list) and any(map(_is_number, value))


def _is_private(name: str, value: object) -> bool:
    private = _PRIVATE.search(name) or name.lower() == "frames"
    return bool(private) and isinstance(value, (list, dict, str))
