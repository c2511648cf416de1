"""Tests of spec.cli.working."""

import re
import sys
import time
from io import StringIO

import pytest

from spec.cli import working
from spec.cli.working import Working


class Terminal(StringIO):
    """Takes what is written, as a terminal would."""

    def isatty(self) -> bool:
        return True


def lines_of(seconds: float, out: StringIO) -> str:
    """What standard error has after work that took so long."""
    with Working("first") as work:
        work.update("second")
        time.sleep(seconds)
    return out.getvalue()


class TestWorking:
    def test_piped(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Long work says in plain lines what it does and for how long; short work says nothing."""
        out = StringIO()
        monkeypatch.setattr(sys, "stderr", out)
        assert "" == lines_of(0, out)
        monkeypatch.setattr(working, "EVERY", 0.01)
        said = lines_of(0.2, out).splitlines()
        assert said
        assert all(re.fullmatch(r"second \(\d+ s\)", line) for line in said)

    def test_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """On a terminal one line is rewritten, and erased while something else is printed."""
        out = Terminal()
        monkeypatch.setattr(sys, "stderr", out)
        with Working("first") as work:
            with work.paused():
                before = out.getvalue()
                time.sleep(0.2)
                assert before == out.getvalue()
            time.sleep(0.2)
        assert "first" in out.getvalue()
        assert out.getvalue().endswith("\x1b[2K")  # the line is erased

    def test_hostile(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A path is shown as it is: brackets are no markup, and no terminal obeys it."""
        out = Terminal()
        monkeypatch.setattr(sys, "stderr", out)
        monkeypatch.setattr(working, "EVERY", 0.01)
        with Working("[/first] \x1b[31m"):
            time.sleep(0.2)
        assert r"[/first] \x1b[31m" in out.getvalue()
