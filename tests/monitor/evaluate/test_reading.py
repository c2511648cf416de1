"""What a reader says of an event decides what observers and ledgers make of it."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from monitor.evaluate.compile import Compiled, compile_mode
from monitor.evaluate.constants import Constants, fixed_by
from monitor.evaluate.event_view import EventView
from monitor.evaluate.observer_state import Registers
from monitor.evaluate.product import truths_of
from monitor.evaluate.python_terms import CLAIM_REGISTERS, REQUEST_REGISTERS
from monitor.evaluate.reading import comparisons_of
from spec.claims.claim import Mode
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.contract.modes import MODES, Bundle
from spec.contract.vocabulary import EVENT_FIELDS
from spec.events.alphabet import BLOCKS_GONE, CONFLICT_ACTIONS, Kind
from spec.events.fields import ROUTE_REPORTS
from spec.language.machine import Ledger
from spec.language.terms import Scope, Sort, variables

BESIDE = (Kind.REQUEST_ARRIVED, *sorted(CONFLICT_ACTIONS), Kind.REQUEST_FINISHED)
BLOCKS = (*sorted(BLOCKS_GONE), Kind.BLOCK_CACHED, Kind.LOAD_FINISHED)
ROUTES = (*ROUTE_REPORTS, *(fact for fact, _ in ROUTE_REPORTS.values()))
CASES = [
    *((kind, False) for kind in BESIDE),
    *((kind, True) for kind in dict.fromkeys((*BLOCKS, Kind.CLAIM_COMMITTED, *ROUTES))),
]
NUMBERS = ("needed", "usable", "cost", "worker")


def drawn(chance: Random, *ledgers: Ledger) -> list[Any]:
    sorts = [r.sort for ledger in ledgers for r in ledger.registers]
    return [chance.random() < 0.5 if sort is Sort.BOOL else chance.randint(0, 4) for sort in sorts]


def with_numbers(chance: Random, registers: list[Any]) -> Registers:
    """The registers with other numbers."""
    return tuple(r if isinstance(r, bool) else chance.randint(0, 4) for r in registers)


def event(chance: Random, kind: Kind, *, about: bool, here: bool) -> EventView:
    """An event with fields by chance."""
    view = EventView(kind, None)
    for name, (sort, _) in EVENT_FIELDS.items():
        drawn = chance.random() < 0.5 if sort is Sort.BOOL else chance.randint(0, 4)
        setattr(view, name, drawn)
    view.mine = view.named = about
    view.here = here
    return view


def outcome(
    compiled: Compiled, view: EventView, constants: Constants, was: Registers, req_was: Registers
) -> Iterator[Any]:
    """What becomes of every observer, wherever it stands, and of what a product state holds."""
    yield compiled.contradicts(view, constants, was) if view.mine else -1
    now = compiled.claim(view, constants, was)
    req = compiled.request(view, constants, was, now, req_was)
    yield truths_of(now), now[CLAIM_REGISTERS.index("lead")] >= constants.threshold
    yield [value for value in req if isinstance(value, bool)]
    yield bool(compiled.delivers["opens"](view, constants, was, now, req_was, req, None))
    for observer, step in zip(compiled.observers, compiled.steps, strict=True):
        for state in range(len(observer.states)):
            for number in range(3):
                own = (number,) * len(observer.registers)
                yield step(state, own, view, constants, was, now, req_was, req)


@pytest.mark.parametrize("mode", [Mode.HARD_PROTECTED, Mode.OFFLOADABLE, Mode.ROUTED_REUSE])
@pytest.mark.parametrize(("kind", "about"), CASES)
def test_decides(mode: Mode, kind: Kind, about: bool) -> None:
    """Claims and requests that differ in numbers alone, and of which a reader says the same, are
    moved alike by an event."""
    compiled, chance = compile_mode(mode, Bundle.CONTRACT), Random(f"{mode} {kind}")
    each = compiled.kinds[kind]
    reads = each.reads_about if about else each.reads_beside
    places = [REQUEST_REGISTERS.index(name) for name in NUMBERS]
    several = 0
    for here in (True, False) * 2:
        claim, request = drawn(chance, CLAIM_FACTS, DECLARED), drawn(chance, REQUEST_FACTS)
        met: dict[Any, Any] = {}
        for _ in range(300):
            view = event(chance, kind, about=about, here=here)
            was, req_was = with_numbers(chance, claim), with_numbers(chance, request)
            constants = Constants(chance.randint(1, 3), *fixed_by(mode))
            holds = was[CLAIM_REGISTERS.index("lead")] >= constants.threshold
            numbers = tuple(req_was[place] for place in places)
            said = holds, reads(view, constants, was, numbers)
            found = list(outcome(compiled, view, constants, was, req_was))
            several += said in met
            assert met.setdefault(said, found) == found
    assert several


@pytest.mark.parametrize(("kind", "about"), CASES)
def test_at_hand(kind: Kind, about: bool) -> None:
    """Of the numbers of a request only its own event reads any; and claims whose registers are
    equal are told alike of a request, whatever their predicates ask for."""
    for mode in Mode:
        for term in comparisons_of(MODES[mode].bundle(Bundle.CONTRACT), kind, about=about):
            read = variables(term)
            if about:
                names = {v.name for v in read if v.scope is Scope.REQ_WAS}
                assert names <= ({"cost", "worker"} if kind in ROUTES else set())
            else:
                assert not [v for v in read if v.scope is Scope.CLAIM]
