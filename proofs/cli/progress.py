"""Says how far a search is, once it takes a while."""

from __future__ import annotations

from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from spec.cli.working import Working

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["progress"]


@contextmanager
def progress(name: str) -> Iterator[Callable[[str, int, int, int], None]]:
    """Yields what takes an obligation, states, transitions and the length of runs in events."""
    since = monotonic()
    with Working(name) as status:

        def report(obligation: str, states: int, transitions: int, longest: int) -> None:
            rate = round(transitions / max(monotonic() - since, 0.001))
            status.update(
                f"{name}: {obligation}, {states} states, {longest} events, {rate} a second"
            )

        yield report
