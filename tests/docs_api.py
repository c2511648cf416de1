"""Runs the examples of docs/python-api.md: `python -m tests.docs_api` writes what they print."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any, Final

__all__ = ["PAGE", "refreshed"]

PAGE: Final = Path(__file__).parents[1] / "docs" / "python-api.md"
_EXAMPLE: Final = re.compile(
    r"(```python\n(?P<code>.*?)```\n\n```text\n)(?P<prints>.*?)```", re.DOTALL
)


def refreshed(page: str) -> str:
    """The page with what its examples print, run from top to bottom in one namespace.

    Their working folder holds the descriptor of docs/examples, and nothing else.
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}

    def run(example: re.Match[str]) -> str:
        printed = io.StringIO()
        line = page[: example.start("code")].count("\n")
        code = compile("\n" * line + example["code"], str(PAGE), "exec")
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
        return f"{example[1]}{printed.getvalue()}```"

    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(PAGE.parent / "examples" / "patched.yaml", folder)
        os.chdir(folder)
        try:
            return _EXAMPLE.sub(run, page)
        finally:
            os.chdir(before)


if __name__ == "__main__":
    PAGE.write_text(refreshed(PAGE.read_text()))
