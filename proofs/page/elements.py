"""Makes markup of elements, in which every text stays text."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from spec.language.prose import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Child", "Markup", "chip", "details", "el", "facts", "table", "words"]


class Markup(str):
    """Markup, which is put into a page as it is; any other text is escaped."""

    __slots__ = ()


Child = str | None
"""The content of an element: text or markup; None is left out."""


def el(tag: str, *children: Child | Iterable[Child], **attributes: str | bool | None) -> Markup:
    """An element.

    Args:
        attributes: `class_` is `class`, `data_mode` is `data-mode`; True has no value, and what is
            None or False is left out.
    """
    given = [
        f" {name.strip('_').replace('_', '-')}"
        + ("" if value is True else f'="{escape(printable(value))}"')
        for name, value in attributes.items()
        if value is not None and value is not False
    ]
    inner = []
    for child in children:
        several = [child] if child is None or isinstance(child, str) else child
        inner += [_markup(each) for each in several if each is not None]
    end = "" if tag in ("br", "wbr") else f"</{tag}>"
    return Markup(f"<{tag}{''.join(given)}>{''.join(inner)}{end}")


def _markup(text: str) -> str:
    return text if isinstance(text, Markup) else escape(printable(text))


_MARKS: Final = {"kept": "✓", "violated": "✕", "inconclusive": "?", "unknown": "?", "some": "≈"}


def chip(look: str, text: str) -> Markup:
    """A word in a colour, with a sign for those who do not see it.

    Args:
        look: kept, violated, inconclusive, unknown, some, or another word for none of these.
    """
    mark = el("span", f"{_MARKS[look]} ", aria_hidden="true") if look in _MARKS else None
    return el("span", mark, words(text), class_=f"chip {look}")


def words(name: str) -> str:
    """A name as words."""
    return name.replace("_", " ")


def table(
    head: Sequence[Child], rows: Iterable[Sequence[Child]], *, of: str, **attributes: str
) -> Markup:
    """A table whose first column names the rows.

    Args:
        of: what readers of a screen hear that it is.
    """
    body = [
        el("tr", el("th", first, scope="row"), [el("td", each) for each in rest])
        for first, *rest in rows
    ]
    columns = el("tr", [el("th", each, scope="col") for each in head])
    made = el("table", el("thead", columns), el("tbody", body), **attributes)
    return el("div", made, class_="wide", tabindex="0", role="region", aria_label=of)


def facts(rows: Iterable[tuple[str, Child]]) -> Markup:
    """Names, each with what is known of it."""
    pairs = [item for name, text in rows for item in (el("dt", name), el("dd", text))]
    return el("dl", pairs, class_="facts")


def details(summary: Child, *children: Child, **attributes: str) -> Markup:
    """What is shown on demand, and in print."""
    return el("details", el("summary", summary), *children, **attributes)
