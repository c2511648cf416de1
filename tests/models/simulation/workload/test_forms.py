"""Tests that a generated workload is the same after it was written and read in each form."""

import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.simulation.request import Request, Workload
from models.simulation.workload import WRITERS, Form, read_workload

DISTRIBUTIONS = st.sampled_from(
    ["0", "7", "constant(900)", "uniform(1,50)", "exponential(mean=30)", "lognormal(120,0.7)"]
)
FLOWS = st.lists(DISTRIBUTIONS, min_size=1, max_size=3).map("/".join)


@st.composite
def specs(draw: st.DrawFn) -> str:
    """The parameters of a few sessions, of all kinds."""
    parts = [
        f"sessions={draw(st.integers(1, 12))}",
        f"turns={draw(st.integers(1, 5))}",
        f"jps={draw(st.sampled_from(['0.2', '2.0', '800']))}",
        f"prompts={draw(st.integers(1, 4))}",
        f"system={draw(st.integers(0, 3000))}",
        f"block={draw(st.sampled_from([1, 16, 512]))}",
        f"owners={draw(st.integers(0, 2))}",
        *(f"{name}={draw(FLOWS)}" for name in ("task", "output", "result")),
    ]
    if draw(st.booleans()):
        parts.append(f"pause={draw(DISTRIBUTIONS)}")
    else:
        parts.append(f"tools=ls:{draw(DISTRIBUTIONS)}/pytest:{draw(DISTRIBUTIONS)}")
    return "agents:" + ",".join(parts)


def stated(workload: Workload, form: Form) -> list[Request]:
    """What a form states: public ones of an answer no keys, and Mooncake's no tools."""
    if form is Form.FULL:
        return list(workload)
    return [
        replace(
            each,
            keys=each.keys[: each.prompt // workload.block],
            tool=each.tool if form is Form.DYNAMO else None,
            owner=None,
        )
        for each in workload
    ]


def by_number(requests: Iterable[Request]) -> list[Request]:
    """The requests as the generator numbers them; NVIDIA Dynamo's trace is in order of time."""
    return sorted(requests, key=lambda each: int(each.id))


@settings(max_examples=60, deadline=None)
@given(specs(), st.sampled_from(Form), st.integers(0, 3), st.booleans())
def test_written_and_read(spec: str, form: Form, seed: int, packed: bool) -> None:
    """Requests, times, keys, turns and tools come back, as far as the form states them."""
    made = read_workload(spec, seed=seed)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "workload"
        lines = b"".join(WRITERS[form](made))
        path.write_bytes(gzip.compress(lines) if packed else lines)
        read = read_workload(str(path), block=made.block if form is Form.MOONCAKE else None)
        assert made.block == read.block
        assert stated(made, form) == by_number(read)
        assert len(made.requests) == len(read.requests)
        assert list(read) == list(read)


@settings(max_examples=25, deadline=None)
@given(specs(), st.sampled_from(Form))
def test_written_again(spec: str, form: Form) -> None:
    """A workload that was read is written with the same requests."""
    with TemporaryDirectory() as folder:
        first, again = Path(folder) / "first", Path(folder) / "again"
        made = read_workload(spec)
        block = made.block if form is Form.MOONCAKE else None
        first.write_bytes(b"".join(WRITERS[form](made)))
        read = read_workload(str(first), block=block)
        again.write_bytes(b"".join(WRITERS[form](read)))
        found = read_workload(str(again), block=block)
        if form is Form.MOONCAKE:
            assert list(read) == list(found)
        else:
            assert by_number(read) == by_number(found)


@pytest.mark.parametrize("form", [Form.MOONCAKE, Form.DYNAMO])
def test_unshared_blocks(form: Form) -> None:
    """A block that a prompt does not fill has a hash that stands nowhere else."""
    made = read_workload("agents:sessions=9,turns=3,system=700,task=uniform(0,300),block=512")
    found = [
        ids if form is Form.MOONCAKE else ids["request"]["replay"]["input_sequence_hashes"]
        for ids in hashed(made, form)
    ]
    whole = [each.prompt // 512 for each in made]
    last = [hashes[-1] for hashes, full in zip(found, whole, strict=True) if len(hashes) > full]
    assert len(last) > 20
    assert all(1 == sum(key in hashes for hashes in found) for key in last)


def hashed(workload: Workload, form: Form) -> Iterator[Any]:
    """What is written of each request."""
    for line in WRITERS[form](workload):
        said = json.loads(line)
        if form is Form.MOONCAKE:
            yield said["hash_ids"]
        elif said["event"]["event_type"] == "request_end":
            yield said["event"]


@pytest.mark.parametrize("form", Form)
def test_limit(form: Form, tmp_path: Path) -> None:
    """A limit takes the first requests, and takes the same ones again."""
    made = read_workload("agents:sessions=5,turns=3,block=512")
    path = tmp_path / "w.jsonl"
    path.write_bytes(b"".join(WRITERS[form](made)))
    read = read_workload(str(path), limit=7)
    assert ["1", "2", "3", "4", "5", "6", "7"] == [each.id for each in by_number(read)]
    assert 7 == len(read.requests)


def test_order_of_lines(tmp_path: Path) -> None:
    """Requests that stand out of order arrive at their times, and turns stay behind their first."""
    path = tmp_path / "workload"
    sent = [Request("a", 10, 9, 1, ()), Request("b", 5, 9, 1, ()), Request("c", 2, 9, 1, (), "b")]
    path.write_bytes(b"".join(WRITERS[Form.FULL](Workload("w", 16, tuple(sent)))))
    assert ["b", "c", "a"] == [each.id for each in read_workload(str(path))]


def test_name(tmp_path: Path) -> None:
    """A name that a terminal would obey is escaped: one in the file, and that of the file."""
    inside, outside = tmp_path / "inside", tmp_path / "\x1b[31m"
    inside.write_bytes(b"".join(WRITERS[Form.FULL](Workload("\x1b[2J", 16, ()))))
    outside.write_text('{"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": []}')
    assert r"\x1b[2J" == read_workload(str(inside)).name
    assert r"\x1b[31m" == read_workload(str(outside)).name
