"""Tests of generated sessions of agents."""

from itertools import groupby, pairwise
from random import Random
from statistics import mean

import pytest
from hypothesis import given, settings

from models.simulation.workload import read_workload
from models.simulation.workload.pauses import parse_distribution
from spec.language.errors import SpecError
from tests.models.simulation.workload.test_forms import specs

NOTE = (
    "agents:sessions=720,turns=8,jps=8,system=60,task=32,"
    "output=10,result=367/332/522/302/576/414/240,"
    "tools=find:uniform(0.05,0.15)/cat:uniform(0.05,0.1)/cat:uniform(0.05,0.1)"
    "/grep:uniform(0.08,0.2)/pytest:uniform(2,5)/cat:uniform(0.05,0.1)/patch:uniform(0.1,0.3)"
)
"""The benchmark of sections 9 and 10.11 of the note, at 8 jobs a second for 90 s."""


def test_the_benchmark_of_the_note() -> None:
    """Each session has the note's eight prompts, its tools in their order, and their pauses."""
    made = read_workload(NOTE)
    prompts = [92, 469, 811, 1343, 1655, 2241, 2665, 2915]
    tools = ["find", "cat", "cat", "grep", "pytest", "cat", "patch", None]
    for _, session in groupby(made, key=lambda each: each.session):
        turns = list(session)
        assert prompts == [each.prompt for each in turns]
        assert tools == [each.tool for each in turns]
        assert 2 <= turns[5].arrives <= 5
        assert all(0.05 <= turns[at].arrives <= 0.3 for at in (1, 2, 3, 4, 6, 7))
    starts = [each.arrives for each in made if each.after is None]
    assert 8.0 == pytest.approx(len(starts) / starts[-1], rel=0.1)


@settings(max_examples=60, deadline=None)
@given(specs())
def test_sessions(spec: str) -> None:
    """Sessions arrive in order, turns follow one another, and prompts go on as they began."""
    made = read_workload(spec)
    assert len(made.requests) == len(list(made))
    starts = [each.arrives for each in made if each.after is None]
    assert sorted(starts) == starts
    seen: dict[int, str | None] = {}
    for _, session in groupby(made, key=lambda each: each.session):
        turns = list(session)
        assert turns[0].after is None
        assert turns[-1].tool is None
        for one, other in pairwise(turns):
            assert one.id == other.after
            assert other.prompt >= one.prompt + one.output
            assert one.keys == other.keys[: len(one.keys)]
        for each in turns:
            assert (each.prompt + each.output) // made.block == len(each.keys)
            assert len(set(each.keys)) == len(each.keys)
            for key, before in zip(each.keys, (None, *each.keys), strict=False):
                assert seen.setdefault(key, str(before)) == str(before)


def test_shared_prompts() -> None:
    """Sessions share the full blocks of their system prompt, and no block besides."""
    made = read_workload("agents:sessions=40,turns=2,prompts=3,system=100,block=16")
    keys = [set(each.keys) for each in made if each.after is None]
    shared = {len(one & other) for at, one in enumerate(keys) for other in keys[:at]}
    assert {0, 100 // 16} == shared
    assert 3 == len({min(each.keys) for each in made})


def test_the_seed_decides() -> None:
    """The same seed makes the same requests, another seed others; a limit takes the first ones."""
    spec = "agents:sessions=30,turns=4,owners=2"
    whole = list(read_workload(spec, seed=1))
    assert whole == list(read_workload(spec, seed=1))
    assert whole != list(read_workload(spec, seed=2))
    assert whole[:50] == list(read_workload(spec, seed=1, limit=50))
    assert {"owner0", "owner1"} == {each.owner for each in whole}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3", 3.0),
        ("uniform(2,5)", 3.5),
        ("exponential(mean=4)", 4.0),
        ("lognormal(median=2,sigma=0.5)", 2 * 2.718281828**0.125),
    ],
)
def test_means_of_distributions(text: str, expected: float) -> None:
    """The mean of many draws is that of the distribution."""
    made = read_workload(f"agents:sessions=20000,turns=2,task=1,output=1,result=0,pause={text}")
    pauses = [each.arrives for each in made if each.after is not None]
    assert expected == pytest.approx(mean(pauses), rel=0.03)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("agents:session=3", "did you mean sessions"),
        ("agents:sessions", "states no value"),
        ("agents:sessions=0", "from 1 to"),
        ("agents:sessions=1.5", "from 1 to"),
        ("agents:sessions=3,sessions=4", "given twice"),
        ("agents:jps=0", "is no rate"),
        ("agents:jps=nan", "is no rate"),
        ("agents:pause=1,tools=ls:1", "exclude each other"),
        ("agents:tools=ls", "is no tool"),
        ("agents:pause=normal(1,2)", "did you mean lognormal"),
        ("agents:pause=lognormal(1)", "has 2 parameters"),
        ("agents:pause=lognormal(mean=1,sigma=1)", "is no parameter"),
        ("agents:pause=uniform(5,2)", "5 is over 2"),
        ("agents:pause=exponential(1e999)", "is no parameter"),
        ("agents:pause=constant(9999999)", "is over 1e+06"),
        ("agents:pause=lognormal(1,11)", "is over 10"),
        ("agents:pause=soon", "is no distribution"),
        ("agents:sessions=20000000,turns=2", "over 20000000 requests"),
    ],
)
def test_bad_parameters(spec: str, says: str) -> None:
    """A parameter that is unknown, stands twice or has no such value is named."""
    with pytest.raises(SpecError, match=says.replace("+", r"\+")):
        read_workload(spec)


def test_sessions_that_grow_too_long() -> None:
    """A session of more tokens than a prompt may have ends in an error, not in huge keys."""
    with pytest.raises(SpecError, match="generate fewer turns"):
        read_workload("agents:turns=100,block=65536,result=constant(1000000)")


def test_what_is_drawn_is_bounded() -> None:
    """A distribution's tail is cut at a million."""
    far = parse_distribution("lognormal(1000000,10)", "pause")
    chance = Random(1)
    assert 1e6 == max(far.draw(chance) for _ in range(20))
