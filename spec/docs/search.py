"""Searches the pages that define the contract, by words.

These are the generated pages, and WRITTEN ones: the wheel has a copy of each.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from spec.docs.pages import pages
from spec.language.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["WRITTEN", "Passage", "Search", "search"]

WRITTEN: Final = ("glossary.md", "stream.md", "theorem.md", "writing-a-trace.md")
"""Pages of `docs` that are written by hand; pyproject.toml puts a copy of each in the wheel."""

_FOLDERS: Final = (Path(__file__).parent / "written", Path(__file__).parents[2] / "docs")
_HEADING: Final = re.compile(r"#{1,6} +(?P<text>.+)")
_ITEM: Final = re.compile(r"\|(?!\s*-{3})|[*-] |\d+\. ")
_WORD: Final = re.compile(r"[^\W_]+")
_MOST_WORDS: Final = 32


class Passage(msgspec.Struct, frozen=True):
    """A paragraph, a bullet or a row of a table, with its page of `docs` and its heading."""

    page: str
    heading: str
    text: str


class Search(msgspec.Struct, frozen=True):
    """The passages with the most of the words, best first; `more` are not listed."""

    words: tuple[str, ...]
    passages: tuple[Passage, ...]
    more: int


class _Indexed(NamedTuple):
    passage: Passage
    heading: frozenset[str]
    all: frozenset[str]


def search(text: str, most: int) -> Search:
    """The passages that have the most words of `text`, in any order; names count word by word.

    Args:
        most: how many are listed.

    Raises:
        SpecError: `text` has no word, or more than 32.
    """
    words = tuple(dict.fromkeys(_words(text)))
    if not 0 < len(words) <= _MOST_WORDS:
        raise SpecError(f"there are {len(words)} words to search for", "give 1 to 32")
    asked = frozenset(words)
    ranked = [(len(asked & each.all), len(asked & each.heading), each.passage) for each in _index()]
    best = max(count for count, _, _ in ranked) or 1
    found = [each for each in ranked if each[0] == best]
    found.sort(key=lambda each: -each[1])
    return Search(words, tuple(each for _, _, each in found[:most]), max(0, len(found) - most))


@cache
def _index() -> tuple[_Indexed, ...]:
    written = {name: _read(name) for name in WRITTEN}
    generated = {name: text for name, text in pages().items() if name.endswith(".md")}
    return tuple(
        _indexed(each)
        for page, text in (written | generated).items()
        for each in _passages(page, text)
    )


def _indexed(passage: Passage) -> _Indexed:
    heading = frozenset(_words(passage.heading))
    return _Indexed(passage, heading, heading | frozenset(_words(passage.text)))


def _read(name: str) -> str:
    for folder in _FOLDERS:
        if (at := folder / name).is_file():
            return at.read_text("utf-8")
    raise SpecError(f"{name} is missing from the installation", "install resident-claims again")


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _passages(page: str, text: str) -> Iterator[Passage]:
    heading, held, fenced = "", list[str](), False
    for line in [*text.splitlines(), ""]:
        starts = fenced or line.startswith(("```", "<!--")) or not line.strip()
        title = None if starts else _HEADING.fullmatch(line)
        if held and (starts or title or _ITEM.match(line) or line.startswith("|")):
            yield Passage(page, heading, " ".join(held))
            held = []
        if line.startswith("```"):
            fenced = not fenced
        elif title:
            heading = title["text"]
        elif not starts and not line.startswith("| ---") and not line.startswith("|---"):
            held.append(line.strip())
