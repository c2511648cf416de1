"""Copies a monitor with all of its state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.durable.reader import read
from monitor.durable.state import STATE
from monitor.durable.writer import written
from monitor.engine import Monitor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monitor.durable.known import Known

__all__ = ["copies"]


def copies(monitor: Monitor, number: int, known: Known = STATE) -> Iterator[Monitor]:
    """So many copies of a monitor, as a snapshot would restore them.

    Args:
        known: what its state may contain.
    """
    state = written(known, monitor)
    for _ in range(number):
        yield read(known, state, Monitor)
