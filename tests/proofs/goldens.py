"""Pinned texts: each in a file of its own, rewritten where WRITE is set in the environment."""

import os
from pathlib import Path

from spec import __version__
from spec.digest import short_digest

WRITE = "RESIDENT_CLAIMS_WRITE_GOLDENS"
_FOLDER = Path(__file__).parent / "goldens"


def same_as_pinned(name: str, text: str) -> bool:
    """Whether `text` is what was pinned, whatever version of the specification is named in it."""
    page = text.replace(short_digest(), "DIGEST").replace(__version__, "VERSION")
    file = _FOLDER / f"{name}.txt"
    if os.environ.get(WRITE):
        file.parent.mkdir(exist_ok=True)
        file.write_text(page, encoding="utf-8")
    return file.read_text(encoding="utf-8") == page
