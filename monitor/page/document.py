"""Writes a page: one HTML file whose policy allows its own script and styles, and no network."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ASSETS", "SCRIPTS", "document", "sealed"]

ASSETS: Final = Path(__file__).parent / "assets"

SCRIPTS: Final = (
    "data.js",
    "words.js",
    "axis.js",
    "lanes.js",
    "pool.js",
    "observer.js",
    "detail.js",
    "tables.js",
    "main.js",
)
"""The parts of the script of a report, in their order; they share one scope."""

_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
<script>{script}</script>
</body>
</html>
"""

_DATA: Final = """{body}
<noscript><p class="plain">{headline}</p></noscript>
<script type="text/plain" id="data">{data}</script>"""


def document(title: str, headline: str, data: str) -> bytes:
    """The page of a report.

    Args:
        title: of the window.
        headline: what stands there where no script runs.
        data: what `Columns.packed` made; base64, so it cannot end the element.
    """
    body = _DATA.format(body=_asset("page.html"), headline=escape(headline), data=data)
    return sealed(title, body, _asset("page.css"), map(_asset, SCRIPTS))


def sealed(title: str, body: str, style: str, scripts: Iterable[str]) -> bytes:
    """A page in one file, in the theme that all pages share.

    Args:
        body: the markup of the page; texts in it are escaped already.
        style: what is added to the theme.
        scripts: parts that share one scope, after `theme.js`.
    """
    joined = "\n".join(["'use strict';", _asset("theme.js"), *scripts])
    script, styles = f"(() => {{\n{joined}\n}})();", f"{_asset('theme.css')}{style}"
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hashed(script)}",
            f"style-src {_hashed(styles)}",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    return _PAGE.format(
        policy=policy, title=escape(title), style=styles, script=script, body=body
    ).encode("utf-8", "replace")


def _asset(name: str) -> str:
    return (ASSETS / name).read_text("utf-8")


def _hashed(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
