"""A judge that goes on from the value of another comes to what that one comes to."""

from __future__ import annotations

from itertools import permutations
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.framework.explore import walk
from models.framework.shims import Shim, events_of
from models.framework.stepper import relabelled, renamed
from models.framework.symmetry import relabelled as relabelled_names
from models.runtimes.vllm_pool import Prompt, VllmPool
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.stream.breaks import Line
from spec.stream.judge import Judge
from spec.stream.value import Value, freeze, thaw
from tests.streams import wide

BLOCKS = 5
POOL = VllmPool(
    BLOCKS,
    (Prompt("r1", "a", 2, 1), Prompt("r2", "b", 2, 1), Prompt("r3", "a", 1, 2)),
    {"a": 2, "b": 2},
)
KEEP = frozenset({"keep"})
OTHERS = {
    **{"claim:a": "claim:b", "claim:b": "claim:a", "a": "b", "b": "a"},
    **{"owner:a": "owner:b", "owner:b": "owner:a", "r1": "r2", "r2": "r1"},
}


def lines_of(chance: Random, mode: Mode) -> list[Line]:
    """A random stream: an honest runtime's, and a few things in it that are not so."""
    return [
        Line(
            *(each.at, each.events, each.sequence, each.time_ns, each.skips),
            observes=each.observes,
            derived=each.derived,
        )
        for each in wide.told(chance, mode)
    ]


def events_of_pool(seed: int, mode: Mode) -> list[Event]:
    """A random run of a pool, with claims."""
    shim = Shim(mode, KEEP)
    return [event for step in walk(POOL, seed, 20) for event in events_of(shim, step.emits)]


def after(mode: Mode, events: list[Event]) -> Judge:
    """The judge of these events."""
    judge = Judge(mode)
    for event in events:
        judge.take(Line(1, (event,)))
    return judge


def found_of(judge: Judge, name: str) -> Any:
    """What a claim came to, and whether that is final."""
    claim = judge.claims.get(name)
    if claim is None:
        return None
    return claim.state, claim.final, {n: each.verdict for n, each in claim.findings().items()}


def verdicts(judge: Judge) -> dict[str, Any]:
    """What each claim came to."""
    return {name: found_of(judge, name) for name in judge.claims}


def went_on(mode: Mode, value: Value) -> Judge:
    """Another judge that goes on from a value."""
    judge = Judge(mode)
    thaw(judge, value)
    return judge


@pytest.mark.slow
@settings(max_examples=150)
@given(chance=st.randoms(use_true_random=False), mode=st.sampled_from(Mode))
def test_frozen_and_thawed_at_every_line(chance: Random, mode: Mode) -> None:
    """A judge that is frozen and thawed before each line says what one says that is not."""
    whole, other = Judge(mode), Judge(mode)
    for line in lines_of(chance, mode):
        whole.take(line)
        other = went_on(mode, freeze(other))
        other.take(line)
        assert verdicts(whole) == verdicts(other)
        assert (whole.broken is None) is (other.broken is None)
        assert freeze(whole) == freeze(other)


def test_frozen_again() -> None:
    """What was thawed freezes to the same value."""
    for seed, mode in enumerate(Mode):
        value = freeze(after(mode, events_of_pool(seed, mode)))
        assert value == freeze(went_on(mode, value))
        assert {value: 1} == {freeze(went_on(mode, value)): 1}


@settings(max_examples=10)
@given(
    seed=st.integers(0, 2**32),
    mode=st.sampled_from(Mode),
    order=st.permutations(range(BLOCKS)),
    cut=st.integers(0, 40),
)
def test_renamed_blocks(seed: int, mode: Mode, order: list[int], cut: int) -> None:
    """To rename blocks and then go on is to go on and then rename."""
    events = events_of_pool(seed, mode)
    others = [
        msgspec.structs.replace(event, block_ids=tuple(order[each] for each in event.block_ids))
        for event in events
    ]
    judge = went_on(mode, renamed(freeze(after(mode, events[:cut])), order))
    for event in others[cut:]:
        judge.take(Line(1, (event,)))
    assert renamed(freeze(after(mode, events)), order) == freeze(judge)
    assert verdicts(after(mode, events)) == verdicts(judge)


def named(event: Event) -> Event:
    """The event with other names of claims, requests, objects and owners."""
    fields = ("claim_id", "object_id", "request_id", "owner_scope", "by", "blocking_claim_ids")
    return msgspec.structs.replace(
        event, **{each: relabelled_names(getattr(event, each), OTHERS) for each in fields}
    )


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32), mode=st.sampled_from(Mode), cut=st.integers(0, 40))
def test_other_names(seed: int, mode: Mode, cut: int) -> None:
    """To call claims and requests otherwise and then go on is to go on and then do so."""
    events = events_of_pool(seed, mode)
    judge = went_on(mode, relabelled(freeze(after(mode, events[:cut])), OTHERS))
    for event in map(named, events[cut:]):
        judge.take(Line(1, (event,)))
    assert relabelled(freeze(after(mode, events)), OTHERS) == freeze(judge)


def test_names_compose() -> None:
    """To rename twice is to rename once, by both."""
    value = freeze(after(Mode.HARD_PROTECTED, events_of_pool(1, Mode.HARD_PROTECTED)))
    for one in permutations(range(BLOCKS)):
        back = tuple(one.index(each) for each in range(BLOCKS))
        assert value == renamed(renamed(value, one), back)
    assert value == relabelled(relabelled(value, OTHERS), OTHERS)


def test_places_do_not_matter() -> None:
    """Where events are in a stream makes no other value, nor how many there were."""
    mode = Mode.BEST_EFFORT
    arrived = Event(kind=Kind.REQUEST_ARRIVED, request_id="r", needed=1, usable=4)
    ended = Event(kind=Kind.REQUEST_FINISHED, request_id="r")
    judge, again = Judge(mode), Judge(mode)
    for at, event in enumerate((arrived, ended)):
        judge.take(Line(at, (event,)))
    for at, event in enumerate((arrived, ended, arrived, ended)):
        again.take(Line(f"line {at}", (event,)))
    assert freeze(judge) == freeze(again)
