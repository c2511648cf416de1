"""Says on standard error what long work does: in place on a terminal, else a line at a time."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Final

import typer

from spec.cli.common import console
from spec.language.prose import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

__all__ = ["EVERY", "Working"]

EVERY: Final = 10.0
"""Seconds between two lines where standard error is no terminal."""


class Working:
    """Enter it to say what is done, and for how many seconds: on a terminal each second, else every
    ten. `update` says what comes next.
    """

    def __init__(self, text: str = "") -> None:
        out = console(stderr=True)
        self._text, self._since, self._ended = text, monotonic(), Event()
        self._status = out.status(_plain(text)) if out.is_terminal else None
        self._every = 1.0 if self._status else EVERY
        self._thread = Thread(target=self._go_on, daemon=True)

    def update(self, text: str) -> None:
        """From now on, something else is done."""
        self._text = text

    def __enter__(self) -> Working:
        if self._status:
            self._status.start()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        if self._status:
            self._status.stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing is shown in place meanwhile, so that output may be printed."""
        if self._status:
            self._status.stop()
        yield
        if self._status:
            self._status.start()

    def _go_on(self) -> None:
        while not self._ended.wait(self._every):
            said = f"{self._text} ({monotonic() - self._since:.0f} s)".strip()
            if self._status:
                self._status.update(_plain(said))
            else:
                typer.echo(printable(said), err=True)


def _plain(text: str) -> Text:
    """A text that is no markup, such as a path, and that no terminal obeys."""
    from rich.text import Text  # rich takes a string for markup

    return Text(printable(text))
