"""Streams written for what streams by chance hardly ever show of the projection, by families."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from spec.claims import Mode
from spec.projection.lines import Line
from tests.projection_cases.conflicts import conflicts, proofs
from tests.projection_cases.durations import durations
from tests.projection_cases.losses import losses
from tests.projection_cases.ranks import ranks
from tests.projection_cases.restores import restores, restores_again, restores_for_two
from tests.projection_cases.routes import routes

__all__ = ["FAMILIES", "Case"]


class Case(NamedTuple):
    """A stream that is judged in one mode."""

    name: str
    mode: Mode
    lines: list[Line]


def _all(mode: Mode, cases: Iterable[tuple[str, list[Line]]]) -> Sequence[Case]:
    return tuple(Case(name, mode, stream) for name, stream in cases)


def _families() -> Iterator[tuple[str, Sequence[Case]]]:
    yield "durations", _all(Mode.EXPIRING, durations())
    steps = ((name, stream) for name, stream in durations() if "seconds," not in name)
    yield "who ends a claim", _all(Mode.DEMOTABLE, steps)
    yield "ranks", _all(Mode.SOFT_PRIORITY, ranks())
    yield "losses", _all(Mode.SOFT_PRIORITY, losses())
    yield "routes", _all(Mode.ROUTED_REUSE, routes())
    for mode in (Mode.OFFLOADABLE, Mode.HARD_PROTECTED):
        yield f"restores, {mode}", _all(mode, restores(mode))
    yield "restores for two", _all(Mode.OFFLOADABLE, restores_for_two(Mode.OFFLOADABLE))
    yield "restores again", _all(Mode.OFFLOADABLE, restores_again(Mode.OFFLOADABLE))
    yield "conflicts", _all(Mode.HARD_PROTECTED, conflicts(Mode.HARD_PROTECTED))
    yield "proofs", _all(Mode.HARD_PROTECTED, proofs(Mode.HARD_PROTECTED))


FAMILIES: Final = dict(_families())
"""The cases that are about one thing, by what that is."""
