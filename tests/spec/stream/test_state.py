"""A judge that is saved anywhere and loaded again judges as if nothing had happened."""

from __future__ import annotations

from ast import literal_eval
from dataclasses import fields
from io import BytesIO
from itertools import islice
from random import Random

import msgspec
import pytest

from monitor.input.errors import InputError
from monitor.input.records import At, at_line, line_of
from monitor.input.sources import Source
from spec.claims.states import Mode
from spec.stream.claim import Claim
from spec.stream.judge import Judge
from spec.stream.value import VERSION, load, of_plain, plain, save
from tests.golden.traces import Case, cases
from tests.streams.wide import told

STEP, MOST = 40, 400
"""Every so many cases are tried, those of at most so many lines."""


def place(at: At) -> list[object]:
    return [at.file, at.line, at.sequence]


def stands(judge: Judge) -> object:
    """All that is concluded so far."""
    claims = [*judge.past, *judge.claims.values()]
    found = [(c.claim_id, c.period, c.state, c.final, c.findings()) for c in claims]
    return found, judge.breaks, judge.left, judge.period


def tried() -> list[Case]:
    return [*islice(cases(), 7, None, STEP)]


@pytest.mark.parametrize("case", tried(), ids=lambda case: case.key)
def test_anywhere(case: Case) -> None:
    """Both come to the same after every line, through msgpack, which has no large numbers."""
    try:
        records = [*islice(Source(["-"], stdin=BytesIO(case.lines)), MOST)]
    except InputError:
        pytest.skip("bad input")
    chance = Random(case.key)
    judges = {r.stamp.stream: Judge(case.mode, first=r.stamp.form.first) for r in records}
    saved = {name: Judge(case.mode, first=judge.order.first) for name, judge in judges.items()}
    for record in records:
        name, line = record.stamp.stream, line_of(record)
        judges[name].take(line)
        saved[name].take(line)
        assert stands(judges[name]) == stands(saved[name])
        judges[name].past.clear()  # is not saved: it belongs to whoever takes it
        saved[name].past.clear()
        if chance.random() < 0.3:
            value = msgspec.msgpack.decode(msgspec.msgpack.encode(save(saved[name], place)))
            saved[name] = load(value, lambda each: at_line(*each), lambda claim: None)
            assert stands(judges[name]) == stands(saved[name])
    for name, judge in judges.items():
        judge.finish()
        saved[name].finish()
        assert stands(judge) == stands(saved[name])


@pytest.mark.parametrize("mode", Mode)
def test_all_of_a_claim(mode: Mode) -> None:
    """Each field of each claim is as it was, but for its object and the numbers of events."""
    names = {each.name for each in fields(Claim)} - {"obj", "took", "routes", "copies"}
    for seed in range(6):
        judge = Judge(mode)
        for line in told(Random(seed), mode):
            judge.take(line)
        again = load(save(judge, repr), literal_eval, lambda claim: None)
        assert [*judge.claims] == [*again.claims]
        for name, claim in judge.claims.items():
            for each in names:
                assert getattr(claim, each) == getattr(again.claims[name], each), each


@pytest.mark.parametrize(
    "value",
    [(), ((1, -(2**70)), None), frozenset({"a", 2**63}), {"a": (True, Mode.EXPIRING)}],
    ids=lambda value: type(value).__name__,
)
def test_plain_and_back(value: object) -> None:
    """A value is made again from its plain form, through msgpack."""
    data = msgspec.msgpack.encode(plain(value, repr))
    assert value == of_plain(msgspec.msgpack.decode(data), literal_eval)


@pytest.mark.parametrize(
    "value", [{"Mode": "none"}, {"eval": "1"}, {"int": "x"}, {}, {"set": [{"map": []}]}], ids=repr
)
def test_nothing_else_is_made(value: object) -> None:
    """What names no class of the list, or no value of one, is refused."""
    with pytest.raises((KeyError, TypeError, ValueError)):
        of_plain(value, literal_eval)


def test_another_version() -> None:
    """A state of another version is refused."""
    value = save(Judge(), place) | {"version": VERSION + 1}
    with pytest.raises(ValueError, match=f"version {VERSION + 1}, and this is {VERSION}"):
        load(value, lambda each: each, lambda claim: None)
