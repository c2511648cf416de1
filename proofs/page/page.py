"""Puts a page together: the head, the verdict, sections, and where they come from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from monitor.page.document import sealed
from proofs.page.elements import Markup, chip, el
from spec import __version__
from spec.digest import short_digest

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ASSETS", "page_of"]

ASSETS: Final = Path(__file__).parent / "assets"


def page_of(
    title: str,
    verdict: tuple[str, str, str],
    sections: Iterable[Markup],
    *,
    ends: str,
    scripts: Iterable[str] = (),
) -> bytes:
    """The page as one file.

    Args:
        title: what the page is about.
        verdict: how the verdict looks (`chip`), its word, and the sentence.
        ends: what the page is not, in a sentence.
        scripts: names of assets that run after the page is there.
    """
    look, word, sentence = verdict
    theme = el("button", "◐", type="button", id="theme", hidden=True, aria_label=_THEME)
    body = [
        el("a", "Skip to the results", class_="skip", href="#results"),
        el("header", el("p", el("b", "resident-claims"), f" {title}", class_="brand"), theme),
        el(
            "main",
            el("section", chip(look, word), el("h1", sentence), id="verdict", class_=look),
            el("div", sections, id="results"),
        ),
        el("footer", f"resident-claims {__version__}, specification {short_digest()}. {ends}"),
    ]
    style, *parts = [(ASSETS / name).read_text("utf-8") for name in ("proofs.css", *scripts)]
    return sealed(f"{word}: {title}", "\n".join(body), style, [*parts, _READY])


_THEME: Final = "Switch between light and dark"
_READY: Final = "theme_button();\ndocument.documentElement.dataset.ready = 'yes';"
