"""Hypothesis strategies that several test modules share: streams of events, and terms."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from hypothesis import strategies as st

from spec.claims.states import Mode
from spec.contract.ledgers import CLAIM_FACTS, DECLARED, REQUEST_FACTS
from spec.contract.vocabulary import CONSTANTS, EVENT_FIELDS
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.language.terms import (
    And,
    Arith,
    Compare,
    Const,
    Ite,
    KindIn,
    Not,
    Or,
    Scope,
    Sort,
    Term,
    Var,
)
from tests.streams.chains import ACTIONS, CHAINS, STORIES
from tests.streams.stories import CLAIMS, REQUESTS

Stamped = tuple[int, Event]


def asking(events: list[Stamped], mode: Mode) -> list[Stamped]:
    """The stream where every claim that asks for a mode asks for this one."""
    return [
        (number, msgspec.structs.replace(event, mode=mode.value) if event.mode else event)
        for number, event in events
    ]


# Streams. A uniform choice of events hardly ever tells a story; these start from told ones, mix
# them, and then spoil a few events.

_claims, _requests = st.sampled_from(CLAIMS), st.sampled_from(REQUESTS)
_counts = st.integers(0, 8)
_ids = st.lists(st.sampled_from((*CLAIMS, "claim:stranger")), max_size=3, unique=True).map(tuple)
_FIELDS: Final[dict[str, st.SearchStrategy[Any]]] = {
    "footprint": _counts,
    "needed": _counts,
    "usable": _counts,
    "held": _counts,
    "asked": _counts,
    "lowest_priority": _counts,
    "found": st.booleans(),
    "cost": _counts,
    "priority": st.integers(0, 5),
    "blocking_claim_ids": st.none() | _ids,
    "outcome": st.sampled_from(("refusal", "demotion", "harm", "fallback_recompute")),
    "outcome_claim_id": _claims,
    "by": st.sampled_from(("owner", "runtime", "somebody")),
    "restore": st.booleans(),
    "echo": st.booleans(),
    "from_tier": st.booleans(),
    "hit": st.booleans(),
    "worker": st.sampled_from(("worker:1", "worker:2")),
    "object_id": st.sampled_from([f"object of {claim}" for claim in CLAIMS]),
    "claim_id": _claims,
    "request_id": _requests,
}
_alterations = st.sampled_from(sorted(_FIELDS)).flatmap(
    lambda name: st.tuples(st.just(name), _FIELDS[name])
)
_SPOILING: Final = ("drop", "twice", "later", "alter", "insert", "action")


def _spoil(draw: st.DrawFn, events: list[Event]) -> None:
    """One event is dropped, repeated, delayed, altered or put between."""
    where = draw(st.integers(0, len(events) - 1))
    match draw(st.sampled_from(_SPOILING)):
        case "drop" if len(events) > 1:
            del events[where]
        case "twice":
            events.insert(draw(st.integers(where, len(events))), events[where])
        case "later":
            moved = events.pop(where)
            events.insert(draw(st.integers(where, len(events))), moved)
        case "alter":
            name, value = draw(_alterations)
            events[where] = msgspec.structs.replace(events[where], **{name: value})
        case "insert":
            told = draw(st.sampled_from(STORIES))(draw(_claims), draw(_requests))
            events[where:where] = told
        case "action":
            kind = draw(st.sampled_from(ACTIONS))
            blame: dict[str, Any] = {"blocking_claim_ids": draw(_ids)}
            events.insert(where, Event(kind=kind, request_id=draw(_requests), **blame))


@st.composite
def streams(draw: st.DrawFn) -> list[Stamped]:
    """Events of one stream about three claims and two requests, each with its sequence number."""
    tales: list[list[Event]] = []
    requests = draw(st.permutations(REQUESTS) | st.lists(_requests, min_size=3, max_size=3))
    claims = draw(st.lists(_claims, min_size=1, max_size=3, unique=True))
    for claim, request in zip(claims, requests, strict=False):
        chain = draw(st.sampled_from(CHAINS))
        tales.append([event for story in chain for event in story(claim, request)])
    events: list[Event] = []
    for turn in draw(st.lists(st.integers(0, 2), max_size=30)):
        if turn < len(tales) and tales[turn]:
            events.append(tales[turn].pop(0))
    events += [event for tale in tales for event in tale]
    for _ in range(draw(st.sampled_from((0, 0, 1, 2, 4)))):
        _spoil(draw, events)
    numbers = list(range(len(events)))
    if draw(st.integers(0, 7)) == 7:  # a gap, or a step back
        where, jump = draw(st.integers(0, len(events) - 1)), draw(st.sampled_from((-2, 1)))
        numbers = [max(0, n + jump) if i >= where else n for i, n in enumerate(numbers)]
    return list(zip(numbers, events, strict=True))


# Terms.

_B, _I = Sort.BOOL, Sort.INT
SMALL: Final = 15
"""The largest number in a random term and its assignment: sums of forty stay within 12 bits."""

_CLAIM_SORTS: Final = {
    r.name: r.sort for ledger in (CLAIM_FACTS, DECLARED) for r in ledger.registers
}
_REQUEST_SORTS: Final = {r.name: r.sort for r in REQUEST_FACTS.registers}
OWN_SORTS: Final = {"stage": _I, "count": _I, "flag": _B}
"""Registers of an observer that random terms may read."""

VARIABLES: Final[dict[Scope, dict[str, Sort]]] = {
    Scope.EVENT: {name: sort for name, (sort, _) in EVENT_FIELDS.items()},
    Scope.CLAIM: {name: sort for name, (sort, _) in CONSTANTS.items()},
    Scope.WAS: _CLAIM_SORTS,
    Scope.NOW: _CLAIM_SORTS,
    Scope.REQ_WAS: _REQUEST_SORTS,
    Scope.REQ: _REQUEST_SORTS,
    Scope.OWN: OWN_SORTS,
}
"""Every variable that a guard may read, by scope."""


def _variables(sort: Sort) -> st.SearchStrategy[Term]:
    return st.sampled_from(
        [
            Var(scope, name, sort)
            for scope, names in VARIABLES.items()
            for name, of in names.items()
            if of is sort
        ]
    )


_kinds = st.sampled_from(tuple(Kind))
_numbers: st.SearchStrategy[Term] = st.integers(-SMALL, SMALL).map(Const)
_truths: st.SearchStrategy[Term] = st.booleans().map(Const)
_members = st.frozensets(_kinds, max_size=4).map(KindIn)


def terms(sort: Sort, depth: int = 4) -> st.SearchStrategy[Term]:
    """Well-typed terms of this sort: every node, every scope, at most `depth` nodes deep."""
    leaves = _numbers if sort is _I else _truths | _members
    leaves |= _variables(sort)
    if depth <= 1:
        return leaves
    truth, number = (
        st.deferred(lambda: terms(_B, depth - 1)),
        st.deferred(lambda: terms(_I, depth - 1)),
    )
    if sort is _I:
        return (
            leaves
            | st.builds(Arith, st.sampled_from("+-"), number, number)
            | st.builds(Ite, truth, number, number)
        )
    several = st.lists(truth, min_size=1, max_size=3).map(tuple)
    return (
        leaves
        | st.builds(Not, truth)
        | st.builds(And, several)
        | st.builds(Or, several)
        | st.builds(Compare, st.sampled_from(("<", "<=", "==")), number, number)
        | st.builds(Compare, st.just("=="), truth, truth)
        | st.builds(Ite, truth, truth, truth)
    )


def _values(sort: Sort, least: int) -> st.SearchStrategy[bool | int]:
    return st.booleans() if sort is _B else st.integers(least, SMALL)


@st.composite
def assignments(
    draw: st.DrawFn, least: int = -SMALL
) -> tuple[Kind, dict[Scope, dict[str, bool | int]]]:
    """A kind, and a value for every variable of every scope; integers from `least` on."""
    values: dict[Scope, dict[str, bool | int]] = {}
    for scope, names in VARIABLES.items():
        fixed = {name: _values(sort, least) for name, sort in names.items()}
        values[scope] = draw(st.fixed_dictionaries(fixed))
    return draw(_kinds), values
