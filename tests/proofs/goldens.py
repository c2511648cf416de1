"""Pinned texts: each in a file of its own, rewritten where WRITE is set in the environment."""

import os
from difflib import unified_diff
from pathlib import Path

from spec import __version__
from spec.digest import short_digest

WRITE = "RESIDENT_CLAIMS_WRITE_GOLDENS"
_FOLDER = Path(__file__).parent / "goldens"


def assert_pinned(name: str, text: str) -> None:
    """`text` is what was pinned, whatever version of the specification is named in it.

    Raises:
        AssertionError: it is another; the message is the difference, line by line.
    """
    page = text.replace(short_digest(), "DIGEST").replace(__version__, "VERSION")
    file = _FOLDER / f"{name}.txt"
    if os.environ.get(WRITE):
        file.parent.mkdir(exist_ok=True)
        file.write_text(page, encoding="utf-8")
    pinned = file.read_text(encoding="utf-8")
    if pinned != page:
        both = pinned.splitlines(), page.splitlines()
        different = unified_diff(*both, f"{name}.txt, pinned", "now", lineterm="")
        raise AssertionError("\n".join(different) or "only the ends of lines differ")
