"""Writes the page: one HTML file whose policy allows its own script and styles, and no network."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Final

__all__ = ["ASSETS", "SCRIPTS", "document"]

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
"""The parts of the script, in their order; they share one scope."""

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
<noscript><p class="plain">{headline}</p></noscript>
<script type="text/plain" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def _asset(name: str) -> str:
    return (ASSETS / name).read_text("utf-8")


def _hashed(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def document(title: str, headline: str, data: str) -> bytes:
    """The page.

    Args:
        title: of the window.
        headline: what stands there where no script runs.
        data: what `Columns.packed` made; base64, so it cannot end the element.
    """
    script = "\n".join(["'use strict';", *map(_asset, SCRIPTS)])
    script, style = f"(() => {{\n{script}\n}})();", _asset("page.css")
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hashed(script)}",
            f"style-src {_hashed(style)}",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    return _PAGE.format(
        policy=policy,
        title=escape(title),
        headline=escape(headline),
        style=style,
        script=script,
        body=_asset("page.html"),
        data=data,
    ).encode("utf-8", "replace")
