"""Short streams of one claim, each with the exit code that it must get."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from monitor.__main__ import main
from tests.monitor.traces import Line, Trace, text

IDENTITY = {"cache_identity": "m", "object_id": "p"}
ANOTHERS = {"kind": "block_cached", "claim_id": "b", "block_ids": [1], "positions": [0]}


def life() -> Trace:
    """A claim on two blocks, from its registration until it is released."""
    named = {"claim_id": "a"}
    terms = {
        "predicate": "leading_prefix_at_least(2)",
        "mode": "hard_protected",
        "owner_scope": "t",
    }
    return [
        {"kind": "claim_registered", **named, **IDENTITY, **terms},
        {"kind": "claim_committed", **named, "footprint": 2},
        {"kind": "claim_accepted", **named, "footprint": 2},
        {"kind": "block_cached", **named, "block_ids": [1, 2], "positions": [0, 1]},
        {"kind": "claim_materialized", **named},
        {"kind": "claim_retired", **named, "by": "t"},
        {"kind": "claim_released", **named, "by": "t"},
    ]


def with_line(at: int, *lines: Line) -> Trace:
    """The life with these lines before the one at a place."""
    trace = life()
    return [*trace[:at], *lines, *trace[at:]]


def anothers(**fields: object) -> Trace:
    """The life where the first block is cached in the name of a claim that nobody registered."""
    trace = with_line(3, {**ANOTHERS, **fields})
    trace[4] = {**trace[4], "block_ids": [2], "positions": [1]}
    return trace


def stating(predicate: str) -> Trace:
    """The life where the acceptance states a predicate, too."""
    trace = life()
    trace[2] = {**trace[2], "predicate": predicate}
    return trace


def elsewhere(cache: str) -> Line:
    """The blocks of the claim, cached for an object of this cache and for no claim."""
    about = {"object_id": "q", "cache_identity": cache}
    return {"kind": "block_cached", "block_ids": [1, 2], "positions": [0, 1], **about}


STREAMS: dict[str, tuple[Trace, int]] = {
    "as it is": (life(), 0),
    "a block of the object, in another's name": (anothers(**IDENTITY), 0),
    "a block of nobody's object": (anothers(), 1),
    "its predicate in other words": (stating("contiguous_range(0, 2)"), 0),
    "another owner": (with_line(1, {**life()[0], "owner_scope": "u"}), 3),
    "another predicate": (stating("contiguous_range(1, 2)"), 1),
    "its blocks for another object of its cache": (with_line(5, elsewhere("m")), 0),
    "its blocks for an object of another cache": (with_line(5, elsewhere("n")), 3),
    "a block behind the claim's end": (
        with_line(
            5,
            {"kind": "block_cached", "claim_id": "a", "block_ids": [3], "positions": [2]},
            {"kind": "block_evicted", "block_ids": [3]},
        ),
        0,
    ),
}


@pytest.mark.parametrize(("trace", "code"), STREAMS.values(), ids=STREAMS)
def test_code(trace: Trace, code: int, tmp_path: Path) -> None:
    """The exit code is the one that is due."""
    file = tmp_path / "trace.jsonl"
    file.write_bytes(text(trace))

    assert code == main(["check", str(file), "--mode", "hard_protected"])


def test_misnamed_fact(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The theorem does not speak of a stream in which a fact names a claim with another object."""
    file = tmp_path / "trace.jsonl"
    lost = {"kind": "block_lost", "claim_id": "a", "object_id": "q", "block_ids": [9]}
    file.write_bytes(text(with_line(5, lost)))
    arguments = [str(file), "--mode", "hard_protected", "--format", "json"]
    assert 3 == main(["check", *arguments])
    theorem = json.loads(capsys.readouterr().out)["theorem"]
    assert not theorem["applies"]
    assert "another object" in theorem["because"]
    assert 6 == theorem["at"]["line"]
