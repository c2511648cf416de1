"""Quotes lines of the files that were judged, if the files are unchanged."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from monitor.input.errors import InputError
from monitor.input.lines import STDIN, Lines
from spec.language.prose import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from monitor.report.verdict import Input, Place

__all__ = ["QuotedLine", "quotes", "shortened"]

BEFORE: Final = 2
"""Lines that are quoted before the one that is meant."""

_MOST: Final = 2048  # bytes at each end of a line that are looked at
_CUT: Final = " ... "


class QuotedLine(NamedTuple):
    """A line of a file by its number, which counts blank ones; it may be cut short."""

    number: int
    text: str


def quotes(inputs: Iterable[Input], places: Iterable[Place]) -> dict[Place, list[QuotedLine]]:
    """The line of each place that can be quoted, with those before it.

    Standard input cannot be read again; of a file that is not what was judged nothing is quoted.
    """
    wanted: dict[str, dict[int, list[Place]]] = {}
    for place in places:
        wanted.setdefault(place.file, {}).setdefault(place.line, []).append(place)
    found: dict[Place, list[QuotedLine]] = {}
    for each in inputs:
        if each.file in wanted and each.file != STDIN:
            found |= _of_file(each, wanted[each.file])
    return found


def _of_file(judged: Input, wanted: dict[int, list[Place]]) -> dict[Place, list[QuotedLine]]:
    lines = Lines(judged.file)
    found: dict[Place, list[QuotedLine]] = {}
    last = deque[QuotedLine](maxlen=BEFORE + 1)
    try:
        for number, content in lines:
            last.append(QuotedLine(number, _text(content)))
            for place in wanted.get(number, ()):
                *before, line = last
                found[place] = [*map(_discreet, before), line]
    except InputError:
        return {}
    return found if lines.sha256 == judged.sha256 else {}


def _text(content: bytes | InputError) -> str:
    if isinstance(content, InputError):
        return ""
    if len(content) > 2 * _MOST:
        content = content[:_MOST] + content[-_MOST:]
    return content.decode("utf-8", "backslashreplace")


def _discreet(line: QuotedLine) -> QuotedLine:
    """A line before the one that is meant, if it has no tokens and is of no other program."""
    private = '"token_ids"' in line.text or '"frames"' in line.text
    return line if "{" in line.text and not private else line._replace(text="(not shown)")


def shortened(text: str, width: int) -> str:
    """The text on one line of at most so many columns, with nothing a terminal would obey; of one
    that is too long its beginning and its end.
    """
    shown = printable(text.strip())
    begin = (width - len(_CUT) + 1) // 2
    end = width - len(_CUT) - begin
    if shown.isascii():
        return shown if len(shown) <= width else shown[:begin] + _CUT + shown[-end:]
    from rich.cells import cell_len, set_cell_size

    if cell_len(shown) <= width:
        return shown
    return set_cell_size(shown, begin) + _CUT + set_cell_size(shown[::-1], end)[::-1]
