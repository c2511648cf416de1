"""Shows on a terminal how far the reading of long files is."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from monitor.input.lines import size_of
from spec.cli.common import console

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["LONG_BYTES", "progress_of"]

LONG_BYTES = 32 << 20
"""From this size on a terminal is shown how far the reading is."""

_EVERY: Final = 0.1  # seconds


@contextmanager
def progress_of(paths: list[str], asked: bool | None) -> Iterator[Callable[[int], None] | None]:
    """A bar on standard error, or nothing where that is no terminal."""
    total = sum(map(size_of, set(paths)))
    wanted = total >= LONG_BYTES if asked is None else asked
    if not (wanted and sys.stderr.isatty()):
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn())
    shown = -_EVERY
    # Not by a thread: `--jobs` copies this process, where it has one thread alone.
    options: dict[str, Any] = {"auto_refresh": False, "transient": True}
    with Progress(*columns, console=console(stderr=True), **options) as bar:
        task = bar.add_task("", total=total or None)

        def step(read: int) -> None:
            nonlocal shown
            due = (now := time.monotonic()) - shown >= _EVERY
            shown = now if due else shown
            bar.update(task, completed=read, refresh=due)

        yield step
