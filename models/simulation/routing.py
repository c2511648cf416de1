"""Chooses the engine of each request, where there are several."""

from __future__ import annotations

from enum import StrEnum
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from models.simulation.engine import Engine, Run

__all__ = ["Routing", "router"]


class Routing(StrEnum):
    """How requests are spread over engines."""

    ROUND_ROBIN = "round_robin"
    LEAST_LOADED = "least_loaded"
    PREFIX = "prefix"
    SESSION = "session"


def router(routing: Routing) -> Callable[[Sequence[Engine], Run], Engine]:
    """A function that chooses an engine.

    `round_robin` takes them in turn; `least_loaded` that with the fewest unfinished requests;
    `prefix` that with the longest cached prefix of the prompt, then the least loaded; `session`
    that of the turn before, and the least loaded for a first turn.
    """
    turns, homes = count(), dict[str, int]()

    def least(engines: Sequence[Engine], run: Run) -> Engine:
        return min(engines, key=lambda engine: engine.load)

    def prefix(engines: Sequence[Engine], run: Run) -> Engine:
        most = len(run.keys)
        found = [(-len(each.pool.find(run.keys, most)), each.load) for each in engines]
        return engines[min(range(len(engines)), key=found.__getitem__)]

    def session(engines: Sequence[Engine], run: Run) -> Engine:
        name = run.request.session
        if name is None:
            return least(engines, run)
        if name not in homes:
            homes[name] = least(engines, run).name
        return engines[homes[name]]

    def in_turn(engines: Sequence[Engine], run: Run) -> Engine:
        return engines[next(turns) % len(engines)]

    chosen = {
        Routing.ROUND_ROBIN: in_turn,
        Routing.LEAST_LOADED: least,
        Routing.PREFIX: prefix,
        Routing.SESSION: session,
    }
    return chosen[routing]
