"""Makes the pictures of pages for the docs: `python -m tests_browser.screenshots FOLDER`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from tests_browser.pages import CHROMIUM, NONE, chromium, ready, write

_TRACE: Final = ("report", "monitor/samples/hard_protected_victim.jsonl")
_WIDE: Final = {"width": 1440, "height": 960}
_PICTURES: Final[dict[str, tuple[tuple[str, ...], dict[str, Any]]]] = {
    "report-light": (_TRACE, {"viewport": _WIDE, "color_scheme": "light"}),
    "report-dark": (_TRACE, {"viewport": _WIDE, "color_scheme": "dark"}),
    "report-phone": (
        _TRACE,
        {"viewport": {"width": 390, "height": 1500}, "color_scheme": "light"},
    ),
    "proof-light": (
        ("proofs check", "hard_protected"),
        {"viewport": _WIDE, "color_scheme": "light"},
    ),
    "labels-light": (("proofs lower", "--all"), {"viewport": _WIDE, "color_scheme": "light"}),
}
"""For each picture what writes its page, and how it is opened."""


def main(folder: Path) -> int:
    """Write each picture; 2 where there is no browser."""
    if CHROMIUM is None:
        print(f"error: {NONE}", file=sys.stderr)
        return 2
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, chromium() as browser:
        for number, (name, ((by, *arguments), options)) in enumerate(_PICTURES.items()):
            path = write(Path(place) / f"{number}.html", *arguments, by=by)
            page = browser.new_page(**options)
            page.goto(path.as_uri())
            page.wait_for_selector(ready)
            page.wait_for_timeout(300)
            page.screenshot(path=folder / f"{name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
