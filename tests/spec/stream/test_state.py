"""A judge that is saved anywhere and loaded again judges as if nothing had happened."""

from __future__ import annotations

from io import BytesIO
from itertools import islice
from random import Random

import msgspec
import pytest

from monitor.core import line_of
from monitor.input.errors import InputError
from monitor.input.records import At, at_line
from monitor.input.sources import read
from spec.stream.judge import Judge
from spec.stream.state import VERSION, load, save
from tests.golden.traces import Case, cases

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
        records = [*islice(read(["-"], stdin=BytesIO(case.lines)), MOST)]
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


def test_another_version() -> None:
    """A state of another version is refused."""
    value = save(Judge(), place) | {"version": VERSION + 1}
    with pytest.raises(ValueError, match=f"version {VERSION + 1}, and this is {VERSION}"):
        load(value, lambda each: each, lambda claim: None)
