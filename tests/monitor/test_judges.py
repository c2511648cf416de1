"""Streams over which the monitor and the reference once differed; both come to the same now."""

from __future__ import annotations

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


STREAMS: dict[str, tuple[Trace, int]] = {
    "as it is": (life(), 0),
    "says that it is out of order": (with_line(5, {"kind": "stream_disorder"}), 1),
    "a block of the object, in another's name": (anothers(**IDENTITY), 0),
    "a block of nobody's object": (anothers(), 1),
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
def test_same(trace: Trace, code: int, tmp_path: Path) -> None:
    """The exit code is the one that is due, with and without --reference."""
    file = tmp_path / "trace.jsonl"
    file.write_bytes(text(trace))
    arguments = [str(file), "--mode", "hard_protected"]

    assert (code, code) == (main(["check", *arguments]), main(["check", "--reference", *arguments]))


def test_too_many_blocks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the reference would work on for minutes it refuses, and says why."""
    trace = life()
    trace[1] = trace[2] = {**trace[1], "footprint": 4_000}
    file = tmp_path / "trace.jsonl"
    file.write_bytes(text(trace))

    assert 2 == main(["check", "--reference", str(file), "--mode", "hard_protected"])
    assert "too many blocks for the reference" in capsys.readouterr().err
