"""Chooses the engine of each request, where there are several."""

from __future__ import annotations

from enum import StrEnum
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from models.simulation.policies.base import Host
    from models.simulation.request import Run

__all__ = ["Routing", "router"]


class Routing(StrEnum):
    """How requests are spread over engines."""

    ROUND_ROBIN = "round_robin"
    LEAST_LOADED = "least_loaded"
    PREFIX = "prefix"
    SESSION = "session"


def router(routing: Routing) -> Callable[[Sequence[Host], Run], int]:
    """A function that chooses an engine, by its number.

    `round_robin` takes them in turn; `least_loaded` that with the fewest unfinished requests;
    `prefix` that with the longest cached prefix of the prompt, then the least loaded; `session`
    that of the turn before, and the least loaded for a first turn.
    """
    turns, homes = count(), dict[str, int]()

    def least(engines: Sequence[Host], run: Run) -> int:
        return min(engines, key=lambda engine: engine.load).name

    def prefix(engines: Sequence[Host], run: Run) -> int:
        most = len(run.keys)
        found = [(-len(each.pool.find(run.keys, most)), each.load) for each in engines]
        return min(range(len(engines)), key=found.__getitem__)

    def session(engines: Sequence[Host], run: Run) -> int:
        name = run.request.session
        if name is None:
            return least(engines, run)
        if name not in homes:
            homes[name] = least(engines, run)
        return homes[name]

    def in_turn(engines: Sequence[Host], run: Run) -> int:
        return next(turns) % len(engines)

    chosen = {
        Routing.ROUND_ROBIN: in_turn,
        Routing.LEAST_LOADED: least,
        Routing.PREFIX: prefix,
        Routing.SESSION: session,
    }
    return chosen[routing]
