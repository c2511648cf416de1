"""Makes the pictures of a report for the docs: `python -m tests_browser.screenshots FOLDER`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from tests_browser.pages import CHROMIUM, NONE, chromium, ready, write

_TRACE: Final = "monitor/samples/hard_protected_victim.jsonl"
_PICTURES: Final[dict[str, dict[str, Any]]] = {
    "report-light": {"viewport": {"width": 1440, "height": 960}, "color_scheme": "light"},
    "report-dark": {"viewport": {"width": 1440, "height": 960}, "color_scheme": "dark"},
    "report-phone": {"viewport": {"width": 390, "height": 1500}, "color_scheme": "light"},
}


def main(folder: Path) -> int:
    """Write each picture; 2 where there is no browser."""
    if CHROMIUM is None:
        print(f"error: {NONE}", file=sys.stderr)
        return 2
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, chromium() as browser:
        report = write(Path(place) / "report.html", _TRACE)
        for name, options in _PICTURES.items():
            page = browser.new_page(**options)
            page.goto(report.as_uri())
            page.wait_for_selector(ready)
            page.wait_for_timeout(300)
            page.screenshot(path=folder / f"{name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
