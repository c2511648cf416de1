"""Streams over which the monitor and the reference once differed; both come to the same now."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import pytest

from monitor.__main__ import main
from monitor.check.files import check
from monitor.check.reference import check_by_reference
from spec.claims.claim import Mode
from spec.contract.modes import Bundle
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
    "says that it is out of order": (with_line(5, {"kind": "stream_disorder"}), 1),
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
def test_same(trace: Trace, code: int, tmp_path: Path) -> None:
    """The exit code is the one that is due, with and without --reference."""
    file = tmp_path / "trace.jsonl"
    file.write_bytes(text(trace))
    arguments = [str(file), "--mode", "hard_protected"]

    assert (code, code) == (main(["check", *arguments]), main(["check", "--reference", *arguments]))


@pytest.mark.parametrize("options", [[], ["--reference"]])
def test_misnamed_fact(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The theorem does not speak of a stream in which a fact names a claim with another object."""
    file = tmp_path / "trace.jsonl"
    lost = {"kind": "block_lost", "claim_id": "a", "object_id": "q", "block_ids": [9]}
    file.write_bytes(text(with_line(5, lost)))
    arguments = [str(file), "--mode", "hard_protected", "--format", "json", *options]
    assert 1 == main(["check", *arguments])
    theorem = json.loads(capsys.readouterr().out)["theorem"]
    assert not theorem["applies"]
    assert "another object" in theorem["because"]
    assert 6 == theorem["at"]["line"]


def test_too_many_blocks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the reference would work on for minutes it refuses, and says why."""
    trace = life()
    trace[1] = trace[2] = {**trace[1], "footprint": 4_000}
    file = tmp_path / "trace.jsonl"
    file.write_bytes(text(trace))

    assert 2 == main(["check", "--reference", str(file), "--mode", "hard_protected"])
    assert "too many blocks for the reference" in capsys.readouterr().err


def registered(claim: str, **fields: object) -> Line:
    """A claim on the first two blocks of its object."""
    predicate = "leading_prefix_at_least(2)"
    return {"kind": "claim_registered", "claim_id": claim, "predicate": predicate, **fields}


def committed(claim: str, blocks: int, *keys: str) -> Line:
    """A commitment, with the contents that it states."""
    stated = {"content_keys": list(keys)} if keys else {}
    return {"kind": "claim_committed", "claim_id": claim, "footprint": blocks, **stated}


def cached(claim: str, *blocks: int) -> Line:
    """Blocks of a claim, from its first position on."""
    positions = list(range(len(blocks)))
    return {
        "kind": "block_cached",
        "claim_id": claim,
        "block_ids": list(blocks),
        "positions": positions,
    }


def arrived(needed: int, usable: int) -> Line:
    """A request."""
    return {"kind": "request_arrived", "request_id": "r", "needed": needed, "usable": usable}


def accepted(claim: str, blocks: int, **fields: object) -> Line:
    """An acceptance."""
    return {"kind": "claim_accepted", "claim_id": claim, "footprint": blocks, **fields}


PAIRS: dict[str, tuple[str, Trace]] = {
    "a contradiction about one claim leaves others alone": (
        "soft_priority",
        [
            registered("a", object_id="p"),
            {"kind": "store_finished", "object_id": "p"},
            committed("a", 3),
            registered("b", object_id="q", priority=2),
            registered("c", object_id="s", priority=1),
            cached("b", 4, 5),
            cached("c", 6, 7),
            {"kind": "block_evicted", "block_ids": [4], "lowest_priority": 1},
        ],
    ),
    "a claim that is not trusted contradicts itself": (
        "demotable",
        [
            accepted("b", 3),
            registered("b"),
            committed("b", 2),
            {"kind": "claim_retired", "claim_id": "b"},
            {"kind": "claim_retired", "claim_id": "b"},
            {"kind": "claim_released", "claim_id": "d", "by": "t"},
        ],
    ),
    "one content at two positions": (
        "hard_protected",
        [registered("a"), committed("a", 2, "k", "k")],
    ),
    "a block is cached for nobody where another position holds it": (
        "best_effort",
        [
            registered("a", object_id="p"),
            cached("a", 1, 2, 3),
            {"kind": "block_cached", "block_ids": [3], "positions": [0]},
        ],
    ),
    "a block at two positions, and a claim beside it": (
        "hard_protected",
        [
            registered("a", **IDENTITY),
            committed("a", 3),
            accepted("a", 3),
            {"kind": "block_cached", "object_id": "p", "block_ids": [3], "positions": [1]},
            cached("a", 1, 2, 3),
            registered("b", **IDENTITY),
            committed("b", 2),
            accepted("b", 2),
            arrived(4, 6),
        ],
    ),
    "a commitment states fewer contents than are accepted": (
        "hard_protected",
        [
            registered("a", **IDENTITY),
            committed("a", 3),
            registered("b", **IDENTITY),
            committed("b", 2, "k0", "k1"),
            accepted("c", 3, object_id="p"),
            arrived(4, 7),
        ],
    ),
    "another claim on the object states a content that decides": (
        "hard_protected",
        [
            committed("a", 3, "z0", "z1", "z2"),
            accepted("a", 3),
            registered("c", **IDENTITY),
            committed("c", 2, "s0", "y1"),
            accepted("c", 2),
            registered("b", **IDENTITY),
            committed("b", 1, "s0"),
            accepted("b", 2),
            arrived(4, 8),
        ],
    ),
    "the cache is stated late": (
        "hard_protected",
        [
            {"kind": "claim_materialized", "claim_id": "b", "object_id": "p"},
            registered("a", object_id="p"),
            committed("a", 3),
            accepted("a", 3),
            committed("b", 2),
            registered("b", cache_identity="m"),
            accepted("b", 2),
            arrived(4, 6),
            {
                "kind": "request_refused",
                "request_id": "r",
                "proof": {"resident": 3, "active": 4, "total": 7, "usable": 6, "shortfall": 1},
            },
        ],
    ),
    "all blocks of a claim are gone, and another holds some by a load": (
        "hard_protected",
        [
            registered("a", **IDENTITY),
            {"kind": "load_finished", "claim_id": "b", "request_id": "r", "held": 4},
            cached("a", 1, 2, 3),
            registered("b", **IDENTITY),
            committed("b", 2),
            {"kind": "block_lost", "claim_id": "a"},
        ],
    ),
    "a report names a block that a load may have replaced": (
        "best_effort",
        [
            registered("a", **IDENTITY),
            cached("a", 1, 2, 3),
            registered("b", **IDENTITY),
            {"kind": "load_finished", "claim_id": "b", "request_id": "r", "held": 2},
            {"kind": "block_evicted", "block_ids": [1]},
            {"kind": "claim_block_lost", "claim_id": "a", "block_ids": [1]},
        ],
    ),
    "another request comes under an id": (
        "hard_protected",
        [
            registered("a"),
            committed("a", 3),
            cached("a", 1, 2, 3),
            arrived(4, 7),
            {"kind": "request_finished", "request_id": "r"},
            {"kind": "block_lost"},
            arrived(3, 9),
            {"kind": "claim_harmed", "claim_id": "a"},
        ],
    ),
    "a duration is over before its unit is stated": (
        "expiring",
        [
            registered("a", duration="5 steps"),
            committed("a", 3),
            {"kind": "duration_elapsed", "claim_id": "b"},
            registered("b", duration="5 steps"),
        ],
    ),
    "one of two requests computed a block that two claims share": (
        "offloadable",
        [
            committed("a", 1, "z0"),
            arrived(1, 8),
            committed("b", 2, "z0", "z1"),
            {**arrived(5, 8), "request_id": "s"},
            cached("a", 101),
        ],
    ),
    "a block behind the end of a claim whose rank matters": (
        "soft_priority",
        [
            registered("a", priority=2, **IDENTITY),
            cached("a", 1, 2, 3),
            registered("b", priority=1, **IDENTITY),
            committed("b", 1, "k0", "k1"),
            {"kind": "block_evicted", "block_ids": [1, 4], "lowest_priority": 3},
            {"kind": "block_evicted", "block_ids": [2]},
        ],
    ),
    "a copy of an object in another cache": (
        "routed_reuse",
        [
            {"kind": "host_copy_lost", "object_id": "p", "cache_identity": "n"},
            registered("a", **IDENTITY),
            {"kind": "host_copy_lost", "object_id": "p", "cache_identity": "n"},
        ],
    ),
    "a copy of what is not watched any more": (
        "routed_reuse",
        [
            {"kind": "host_copy_lost", "object_id": "p"},
            registered("a", object_id="p", owner_scope="t"),
            {"kind": "claim_retired", "claim_id": "a", "by": "t"},
            {"kind": "host_copy_lost", "object_id": "p"},
        ],
    ),
    "a claim that is not watched any more is committed to": (
        "soft_priority",
        [
            registered("a", **IDENTITY),
            cached("a", 1, 2, 3),
            registered("b", owner_scope="t", **IDENTITY),
            {"kind": "claim_retired", "claim_id": "b", "by": "t"},
            committed("b", 2),
            {"kind": "block_evicted", "block_ids": [1, 4]},
        ],
    ),
    "all is lost, of a claim all that it held was behind its end": (
        "soft_priority",
        [
            {"kind": "block_cached", "claim_id": "b", "block_ids": [9], "positions": [2]},
            registered("b", object_id="q"),
            committed("b", 2),
            cached("b", 4, 5),
            {"kind": "block_evicted", "block_ids": [5, 4]},
            {"kind": "claim_unmaterialized", "claim_id": "b"},
            {"kind": "block_lost"},
        ],
    ),
    "a claim whose rank matters held a block before it was registered": (
        "soft_priority",
        [
            {"kind": "block_cached", "claim_id": "c", "block_ids": [150], "positions": [0]},
            registered("b", priority=1, object_id="q"),
            cached("b", 102),
            registered("c", priority=5, object_id="p"),
            {"kind": "block_evicted", "block_ids": [102]},
        ],
    ),
    "what means another object binds nothing": (
        "expiring",
        [
            registered("a", object_id="p"),
            registered("a", object_id="q", token_map="t1"),
            {"kind": "load_finished", "object_id": "p", "token_map": "t2", "request_id": "r"},
        ],
    ),
    "two durations, the second with the commitment": (
        "expiring",
        [
            registered("a", **IDENTITY, owner_scope="t", duration="10 s"),
            registered("a", duration="30 s"),
            {**committed("a", 2), "time_ns": 1},
            {**accepted("a", 2), "time_ns": 2},
            {**cached("a", 1, 2), "time_ns": 20_000_000_000},
            {"kind": "claim_expired", "claim_id": "a", "by": "runtime"},
        ],
    ),
    "a route is owed from before its request arrived": (
        "routed_reuse",
        [
            registered("a", object_id="p"),
            {"kind": "reuse_served", "claim_id": "a", "request_id": "r", "hit": True},
            {"kind": "request_arrived", "request_id": "r", "needed": 1, "usable": 9},
            {"kind": "reuse_served", "claim_id": "a", "request_id": "r", "hit": True},
            {"kind": "route_reuse_reported", "claim_id": "a", "request_id": "r", "hit": True},
        ],
    ),
    "a stream that was cut": (
        "best_effort",
        [{"kind": "stream_opened"}, registered("a", **IDENTITY)],
    ),
}


@pytest.mark.parametrize(("mode", "trace"), PAIRS.values(), ids=PAIRS)
def test_alike(mode: str, trace: Trace) -> None:
    """Both come to the same of each obligation of each claim, and of the theorem."""
    found = [
        judge(["-"], Mode(mode), Bundle.CONTRACT, stdin=BytesIO(text(trace)))
        for judge in (check, check_by_reference)
    ]
    shown = [
        {
            claim.claim_id: {n: o.verdict for n, o in claim.obligations.items()}
            for claim in each.claims
        }
        for each in found
    ]
    lines = [each.theorem.at and each.theorem.at.line for each in found]

    assert (shown[0], lines[0]) == (shown[1], lines[1])


def test_told_of_another_block(tmp_path: Path) -> None:
    """A report of a lost block may be of one behind the end of the claim: that accuses nobody."""
    file = tmp_path / "trace.jsonl"
    ranked = registered("a", **IDENTITY, mode="soft_priority", owner_scope="t", priority=1)
    told = {"kind": "claim_block_lost", "claim_id": "a", "block_ids": [3]}
    trace = [ranked, committed("a", 2), accepted("a", 2), cached("a", 1, 2, 3)]
    trace += [
        {"kind": "claim_materialized", "claim_id": "a"},
        {"kind": "block_evicted", "block_ids": [3], "lowest_priority": 1},
    ]
    codes = []
    for end in ([], [told]):
        file.write_bytes(text([*trace, *end]))
        for form in ([], ["--reference"]):
            codes.append(main(["check", *form, str(file), "--mode", "soft_priority"]))

    assert codes == [0, 0, 3, 3]
