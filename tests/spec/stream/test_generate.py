"""Functions that are made from terms, in two values and in three."""

from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from spec.claims.states import Mode
from spec.contract.vocabulary import EVENT_FIELDS
from spec.events.alphabet import Kind
from spec.language.terms import Sort
from spec.stream.generate import CLAIM, REQUEST, Watch, compiled, outcomes

_WATCHES = [
    (kind, watch)
    for kind in Kind
    for mode in Mode
    for of_kind in [compiled(kind, mode)]
    for watch in (*of_kind.own, *of_kind.scoped)
]
_VALUES = {Sort.BOOL: st.booleans(), Sort.INT: st.integers(0, 3)}


def _values(sorts: list[Sort]) -> st.SearchStrategy[list[Any]]:
    return st.tuples(*(_VALUES[sort] for sort in sorts)).map(list)


_EVENTS = st.fixed_dictionaries({name: _VALUES[sort] for name, (sort, _) in EVENT_FIELDS.items()})
_CLAIMS = _values([register.sort for register in CLAIM])
_REQUESTS = _values([register.sort for register in REQUEST])


@st.composite
def _inputs(draw: st.DrawFn) -> tuple[Watch, tuple[Any, ...], int, tuple[Any, ...]]:
    """An observer with known inputs, in one of its states."""
    _, watch = draw(st.sampled_from(_WATCHES))
    inputs = (
        draw(_EVENTS),
        draw(st.booleans()),
        draw(st.integers(1, 3)),
        draw(_CLAIMS),
        draw(_CLAIMS),
        draw(_REQUESTS),
        draw(_REQUESTS),
    )
    states = sorted({state for rule in watch.rules for state in rule.sources})
    own = draw(st.tuples(st.integers(0, 3)) | st.tuples(st.booleans()))
    return watch, inputs, draw(st.sampled_from(states)), own


@settings(max_examples=400)
@given(_inputs())
def test_the_same_where_all_is_known(
    drawn: tuple[Watch, tuple[Any, ...], int, tuple[Any, ...]],
) -> None:
    """In three values there is one step where all is known: the one in two values."""
    watch, inputs, state, own = drawn
    found = watch.step(*inputs, (state, own))
    ((after, rule),) = outcomes(watch, state, own, *inputs).items()
    assert found == (None if rule is None else (rule, *after))


@settings(max_examples=300)
@given(_inputs(), st.data())
def test_every_step_is_among_the_outcomes(
    drawn: tuple[Watch, tuple[Any, ...], int, tuple[Any, ...]], data: st.DataObject
) -> None:
    """Whatever the unknown inputs are, the step is one of those that three values allow."""
    watch, inputs, state, own = drawn
    fields = data.draw(st.lists(st.sampled_from(sorted(EVENT_FIELDS)), max_size=2, unique=True))
    registers = data.draw(st.lists(st.integers(0, len(CLAIM) - 1), max_size=1, unique=True))
    event, here, threshold, was, now, *rest = inputs
    unknown = dict(event) | dict.fromkeys(fields)
    blurred = [None if place in registers else value for place, value in enumerate(was)]
    steps = outcomes(watch, state, own, unknown, here, threshold, blurred, now, *rest)
    sorts = [EVENT_FIELDS[name][0] for name in fields]
    sorts += [CLAIM[place].sort for place in registers]
    domains = [(False, True) if sort is Sort.BOOL else (0, 1, 5) for sort in sorts]
    for values in product(*domains):
        known = event | dict(zip(fields, values, strict=False))
        before = list(was)
        for place, value in zip(registers, values[len(fields) :], strict=True):
            before[place] = value
        found = watch.step(known, here, threshold, before, now, *rest, (state, own))
        assert any(_may_be(step, (state, own) if found is None else found[1:]) for step in steps)


def _may_be(step: tuple[int, tuple[Any, ...]], known: tuple[int, tuple[Any, ...]]) -> bool:
    """Whether a step with unknown registers may be this one."""
    (state, own), (expected, values) = step, known
    pairs = zip(own, values, strict=True)
    return state == expected and all(one in (None, other) for one, other in pairs)
