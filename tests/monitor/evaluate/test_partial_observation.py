"""What is left of an observer where nobody knows some fields accuses nobody in error."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, Final

import pytest
from msgspec.structs import fields

from monitor.evaluate import partial_observation
from monitor.evaluate.compile import CLAIM_REGISTERS, REQUEST_REGISTERS, compile_observer
from monitor.evaluate.constants import Constants
from monitor.evaluate.event_view import EventView
from monitor.evaluate.partial_observation import without
from spec.contract.obligations import OBLIGATIONS
from spec.events.alphabet import Kind
from spec.language.machine import Observer
from spec.language.terms import KindIn, Term, children
from spec.language.verdicts import Verdict

SINGLE: Final = [
    getattr(partial_observation, name) for name in partial_observation.__all__ if name.isupper()
]
UNKNOWN: Final = [*SINGLE, frozenset[str]().union(*SINGLE)]
PAIRS: Final = [
    (observer, unknown)
    for observer in OBLIGATIONS.values()
    for unknown in UNKNOWN
    if without(observer.name, unknown) is not None
]
NUMBERS: Final = [f.name for f in fields(EventView) if f.type is int]
FLAGS: Final = [f.name for f in fields(EventView) if str(f.type) == "bool"]
CONSTANTS: Final = Constants(threshold=2, lapses=True, tiered=True, watched=True, ranked=True)


def kinds_of(term: Term) -> Iterator[Kind]:
    """The kinds of events that a term tells from others."""
    if isinstance(term, KindIn):
        yield from term.kinds
    for inner in children(term):
        yield from kinds_of(inner)


def some(random: Random, kinds: list[Kind]) -> tuple[Any, ...]:
    """Any event, with any registers before and after it."""
    numbers = {name: random.randrange(4) for name in NUMBERS}
    flags = {name: random.random() < 0.7 for name in FLAGS}
    registers = (CLAIM_REGISTERS, CLAIM_REGISTERS, REQUEST_REGISTERS, REQUEST_REGISTERS)
    held = [tuple(random.randrange(4) for _ in names) for names in registers]
    return (EventView(random.choice(kinds), None, **numbers, **flags), CONSTANTS, *held)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("observer", "unknown"),
    PAIRS,
    ids=[f"{o.name}-{min(unknown)}-{len(unknown)}" for o, unknown in PAIRS],
)
def test_sound(observer: Observer, unknown: frozenset[str]) -> None:
    """What it takes for broken is broken, whatever the fields would have said."""
    random, whole, left = Random(0), compile_observer(observer), without(observer.name, unknown)
    assert left is not None
    kinds = sorted({kind for rule in observer.rules for kind in kinds_of(rule.when)})
    broken = {n for n, s in enumerate(observer.states) if s.verdict is Verdict.VIOLATED}
    begins = [n for n in range(len(observer.states)) if n not in broken]
    for _ in range(1_000):
        held = tuple(random.randrange(4) for _ in observer.registers)
        there = here = (random.choice(begins), held)
        for _ in range(3):
            view, *rest = some(random, kinds)
            there, here = whole(*there, view, *rest)[:2], left(*here, view, *rest)[:2]
            assert here[0] not in broken or there[0] in broken
