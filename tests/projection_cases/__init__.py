"""Streams written for what streams by chance hardly ever show of the projection, by families."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple, overload

import msgspec

from spec.claims.claim import Mode
from spec.events.canonical import MARKS, Event, StreamMark
from spec.projection.lines import Line, line_of
from tests.projection_cases.adopted import adopted, ahead, past_the_end
from tests.projection_cases.breaks import hidden, opened_again, stated_twice
from tests.projection_cases.conflicts import conflicts, proofs
from tests.projection_cases.contents import contents
from tests.projection_cases.copies import copies
from tests.projection_cases.durations import durations, guests, unseen_ends
from tests.projection_cases.gaps import gaps
from tests.projection_cases.losses import losses
from tests.projection_cases.names import names
from tests.projection_cases.others import beside_others
from tests.projection_cases.partial import doubts, unobserved
from tests.projection_cases.ranks import ranks
from tests.projection_cases.restores import (
    restores,
    restores_after_harm,
    restores_again,
    restores_by_halves,
    restores_for_two,
    restores_misreported,
)
from tests.projection_cases.routes import routes
from tests.projection_cases.uses import uses_of_a_route, uses_of_a_tier
from tests.projection_cases.withdrawals import withdrawals
from tests.streams.shared import shared

__all__ = ["FAMILIES", "FOUND", "Case", "Found", "said"]

FOUND: Final = Path(__file__).with_name("found.jsonl")
"""Streams that `tests.projection_mutants.grow` found."""

_CHANCES: Final = 250


class Case(NamedTuple):
    """A stream that is judged in one mode."""

    name: str
    mode: Mode
    lines: list[Line]


class _Cases(Sequence[Case]):
    """The cases of a family, made when the first one is needed: there are tens of thousands."""

    def __init__(self, mode: Mode, cases: Iterable[tuple[str, list[Line]]]) -> None:
        self._mode, self._cases = mode, cases

    @cached_property
    def _made(self) -> Sequence[Case]:
        return tuple(Case(name, self._mode, stream) for name, stream in self._cases)

    def __len__(self) -> int:
        return len(self._made)

    @overload
    def __getitem__(self, index: int) -> Case: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Case]: ...

    def __getitem__(self, index: int | slice) -> Case | Sequence[Case]:
        return self._made[index]

    def __iter__(self) -> Iterator[Case]:
        return iter(self._made)


def _all(mode: Mode, cases: Iterable[tuple[str, list[Line]]]) -> Sequence[Case]:
    return _Cases(mode, cases)


class Found(msgspec.Struct, frozen=True):
    """A stream in the canonical form, and the change of the projection that it was found for."""

    notices: str
    mode: Mode
    lines: list[dict[str, Any]]


def said(line: dict[str, Any]) -> Event | StreamMark:
    """A line of such a stream."""
    if line["kind"] in MARKS:
        return msgspec.convert(line, StreamMark)
    return msgspec.convert(line, Event)


def _found() -> Iterator[Case]:
    for line in FOUND.read_bytes().splitlines():
        found = msgspec.json.decode(line, type=Found)
        stream = [line_of(said(each), at) for at, each in enumerate(found.lines, 1)]
        yield Case(found.notices, found.mode, stream)


def _families() -> Iterator[tuple[str, Sequence[Case]]]:
    yield "durations", _all(Mode.EXPIRING, durations())
    yield "unseen ends", _all(Mode.EXPIRING, unseen_ends())
    yield "guests", _all(Mode.HARD_PROTECTED, guests())
    steps = ((name, stream) for name, stream in durations() if "seconds," not in name)
    yield "who ends a claim", _all(Mode.DEMOTABLE, steps)
    yield "ranks", _all(Mode.SOFT_PRIORITY, ranks())
    yield "losses", _all(Mode.SOFT_PRIORITY, losses())
    yield "routes", _all(Mode.ROUTED_REUSE, routes())
    yield "uses of a route", _all(Mode.ROUTED_REUSE, uses_of_a_route())
    yield "uses of a tier", _all(Mode.OFFLOADABLE, uses_of_a_tier())
    for mode in (Mode.OFFLOADABLE, Mode.HARD_PROTECTED):
        yield f"restores, {mode}", _all(mode, restores(mode))
    yield "restores for two", _all(Mode.OFFLOADABLE, restores_for_two(Mode.OFFLOADABLE))
    yield "restores again", _all(Mode.OFFLOADABLE, restores_again(Mode.OFFLOADABLE))
    yield "restores by halves", _all(Mode.OFFLOADABLE, restores_by_halves(Mode.OFFLOADABLE))
    yield "restores after harm", _all(Mode.OFFLOADABLE, restores_after_harm(Mode.OFFLOADABLE))
    yield "restores misreported", _all(Mode.OFFLOADABLE, restores_misreported(Mode.OFFLOADABLE))
    yield "conflicts", _all(Mode.HARD_PROTECTED, conflicts(Mode.HARD_PROTECTED))
    found = [*_found()]
    for mode in Mode:
        if some := tuple(case for case in found if case.mode is mode):
            yield f"found, {mode}", some
    for mode in (Mode.HARD_PROTECTED, Mode.OFFLOADABLE):
        yield f"gaps, {mode}", _all(mode, gaps(mode))
    for mode in (Mode.HARD_PROTECTED, Mode.OFFLOADABLE, Mode.EXPIRING):
        yield f"unobserved, {mode}", _all(mode, unobserved(mode))
        yield f"doubts, {mode}", _all(mode, doubts(mode))
    for mode in (Mode.HARD_PROTECTED, Mode.SOFT_PRIORITY, Mode.OFFLOADABLE):
        yield f"contents, {mode}", _all(mode, contents(mode))
    for mode in (Mode.HARD_PROTECTED, Mode.OFFLOADABLE, Mode.BEST_EFFORT):
        yield f"copies, {mode}", _all(mode, copies(mode))
        yield f"contents of an object, {mode}", _all(mode, adopted(mode))
        yield f"held before, {mode}", _all(mode, ahead(mode))
        yield f"past the end, {mode}", _all(mode, past_the_end(mode))
        chances = ((f"seed {n}", shared(Random(n), mode)) for n in range(_CHANCES))
        yield f"shared by chance, {mode}", _all(mode, chances)
    for mode in Mode:
        yield f"names, {mode}", _all(mode, names(mode))
    for mode in (Mode.HARD_PROTECTED, Mode.BEST_EFFORT):
        yield f"hidden, {mode}", _all(mode, hidden(mode))
        yield f"opened again, {mode}", _all(mode, opened_again(mode))
        yield f"stated twice, {mode}", _all(mode, stated_twice(mode))
    for mode in Mode:
        yield f"beside others, {mode}", _all(mode, beside_others(mode))
    for mode in (Mode.BEST_EFFORT, Mode.SOFT_PRIORITY):
        yield f"withdrawals, {mode}", _all(mode, withdrawals(mode))
    yield "proofs", _all(Mode.HARD_PROTECTED, proofs(Mode.HARD_PROTECTED))


FAMILIES: Final = dict(_families())
"""The cases that are about one thing, by what that is."""
