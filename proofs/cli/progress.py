"""Shows on a terminal how far a search is, once it takes a while."""

from __future__ import annotations

from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Final

from spec.cli.common import working

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["PATIENCE", "progress"]

PATIENCE: Final = 2.0
"""Seconds after which progress is shown."""


@contextmanager
def progress(name: str) -> Iterator[Callable[[str, int, int, int], None]]:
    """Yields what takes an obligation, states, transitions and the length of runs in events."""
    since = monotonic()
    with working() as status:

        def report(obligation: str, states: int, transitions: int, longest: int) -> None:
            passed = monotonic() - since
            if passed > PATIENCE:
                rate = round(transitions / passed)
                status.update(
                    f"{name}: {obligation}, {states} states, {longest} events, {rate} a second"
                )

        yield report
