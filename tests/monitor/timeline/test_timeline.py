"""What a timeline of a trace consists of."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monitor.check.files import check
from monitor.samples import sample
from monitor.timeline.items import (
    Axis,
    Broken,
    ClaimBegun,
    ClaimEnded,
    Counted,
    End,
    Happened,
    Item,
    Link,
    RequestBegun,
    RequestEnded,
    StateSlice,
    StreamBegun,
)
from spec.claims.states import TRANSITIONS
from spec.contract.modes import Bundle
from tests.monitor.timeline.made import TRACES, claims, made, of, slices

VICTIM = sample("hard_protected_victim")
REFUSAL = sample("hard_protected_refusal")
RESTORE = sample("offloadable_restore")
_STEPS = {(row.source, row.dest) for row in TRANSITIONS}


def check_shape(items: list[Item]) -> None:
    """Assert what holds of every timeline."""
    lanes = {each.claim for each in of(items, ClaimBegun)}
    requests = {each.request for each in of(items, RequestBegun)}
    for of_lane in slices(items).values():
        for each in of_lane:
            assert each.begin.at <= each.end.at
            assert each.begin.line <= each.end.line
        for before, after in pairwise(of_lane):
            assert before.end.at <= after.begin.at
            assert before.end.line <= after.begin.line
    for link in of(items, Link):
        for end in (link.source, link.target):
            assert end.claim in lanes or end.request in requests
            assert (end.claim is None) != (end.request is None)
        assert link.source.point.at <= link.target.point.at
    assert Counter(lanes) == Counter(each.claim for each in of(items, ClaimEnded))
    assert Counter(requests) == Counter(each.request for each in of(items, RequestEnded))
    for each in of(items, Happened):
        assert lanes.issuperset(each.claims)
        assert each.request is None or each.request in requests
        assert each.claims or each.request is not None
        assert each.lost == () or len(each.lost) == len(each.claims)
    for each in of(items, ClaimEnded):
        assert all(found.point is not None for found in each.violations.values())
    begun = Counter(each.stream for each in of(items, StreamBegun))
    assert set(begun.values()) <= {1}
    assert {each.stream for each in of(items, ClaimBegun)} <= set(begun)
    assert all(
        each.value is None or each.value >= 0 or each.name == "free" for each in of(items, Counted)
    )


def verdicts_in(items: list[Item]) -> Counter[tuple[object, ...]]:
    """Each claim with its verdict and those on its obligations, by line and sequence."""
    names, lanes = {e.stream: e.name for e in of(items, StreamBegun)}, claims(items)
    return Counter(
        (
            lanes[each.claim].claim_id,
            names[lanes[each.claim].stream],
            lanes[each.claim].period,
            each.state,
            each.verdict,
            each.why,
            *(
                (name, o.verdict, o.line, o.sequence, o.why, o.allowed, o.code)
                for name, o in each.obligations.items()
            ),
        )
        for each in of(items, ClaimEnded)
        if each.mode is not None
    )


def verdicts_of(report: object) -> Counter[tuple[object, ...]]:
    """The same as a report has it."""
    return Counter(
        (
            each.claim_id,
            each.stream,
            each.period,
            each.state,
            each.verdict,
            each.why,
            *(
                (
                    name,
                    o.verdict,
                    None if o.at is None else o.at.line,
                    None if o.at is None else o.at.sequence,
                    o.why,
                    o.allowed,
                    o.code,
                )
                for name, o in each.obligations.items()
            ),
        )
        for each in report.claims  # type: ignore[attr-defined]
    )


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_verdicts_are_those_of_a_check(path: Path) -> None:
    """Every claim of the samples and recordings has in its timeline what a check finds of it."""
    items, report = made(path)
    alone = check([str(path)], None, Bundle.CONTRACT)
    assert verdicts_of(alone) == verdicts_in(items)
    assert alone == report
    check_shape(items)


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_states_follow_the_lifecycle(path: Path) -> None:
    """One state of a claim follows another only by a transition of the specification."""
    items, _ = made(path)
    for (kind, _), of_lane in slices(items).items():
        if kind is StateSlice:
            for before, after in pairwise(of_lane):
                assert (before.state, after.state) in _STEPS


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_lines_have_a_shape(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Lines that are missing, repeated, moved, without time or torn break no timeline."""
    path = data.draw(st.sampled_from([p for p in TRACES if p.stat().st_size < 40_000]))
    lines = path.read_bytes().splitlines()[:80]
    for _ in range(data.draw(st.integers(0, 5))):
        at, to = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        match data.draw(st.sampled_from(["drop", "repeat", "move", "untime", "tear", "again"])):
            case "drop" if len(lines) > 1:
                del lines[at]
            case "repeat":
                lines.insert(to, lines[at])
            case "move":
                lines.insert(to, lines.pop(at))
            case "untime":
                lines = [
                    _without(line, "time_ns") if n >= at else line for n, line in enumerate(lines)
                ]
            case "tear":
                lines[at] = lines[at][: len(lines[at]) // 2]
            case "again":
                lines += lines[:at]
    file = tmp_path_factory.mktemp("made") / "trace.jsonl"
    file.write_bytes(b"\n".join(lines) + b"\n")
    items, report = made(file, lenient=True)
    check_shape(items)
    assert verdicts_of(check([str(file)], None, Bundle.CONTRACT, lenient=True)) == verdicts_in(
        items
    )
    assert verdicts_of(report) == verdicts_in(items)


def _links(items: list[Item]) -> list[tuple[str, str, int, str, int]]:
    """Each link: what it is, and the lane and the line of both ends."""

    def lane(end: End) -> str:
        return "request" if end.claim is None else "claim"

    return [
        (e.kind, lane(e.source), e.source.point.line, lane(e.target), e.target.point.line)
        for e in of(items, Link)
    ]


def test_loss_leads_to_its_report() -> None:
    """The eviction of a block is linked to the harm that reports it, the conflict to its end."""
    items, _ = made(VICTIM)
    assert _links(items) == [
        ("loss", "claim", 7, "claim", 8),
        ("conflict", "request", 6, "request", 9),
    ]


def test_refusal_leads_to_the_claim() -> None:
    """A refusal is linked to the claim that it names, and the conflict to the refusal."""
    items, _ = made(REFUSAL)
    (refused,) = [e.point.line for e in of(items, Happened) if e.event.kind == "request_refused"]
    (arrived,) = [e.point.line for e in of(items, Happened) if e.event.kind == "request_arrived"]
    assert sorted(_links(items)) == [
        ("conflict", "request", arrived, "request", refused),
        ("loss", "claim", 9, "claim", 10),
        ("names", "request", refused, "claim", refused),
    ]


def test_states_and_phases() -> None:
    """The states of a claim and the phases of requests stand in the order of their events."""
    items, _ = made(RESTORE)
    (of_claim,) = [each for (kind, _), each in slices(items).items() if kind is StateSlice]
    assert [str(each.state) for each in of_claim] == [
        "submitted",
        "accepted",
        "offloaded",
        "restoring",
        "materialized",
    ]
    phases = [
        [str(each.phase) for each in found]
        for (kind, _), found in slices(items).items()
        if kind is not StateSlice
    ]
    assert phases == [["waiting"], ["waiting", "restoring", "waiting", "served"]]


def test_violation_has_its_place() -> None:
    """A violation has the reason of the report, and its place on the axis."""
    items, _ = made(VICTIM)
    (ended,) = of(items, ClaimEnded)
    found = ended.violations["victim_exclusion_before_violation"]
    assert (found.line, found.sequence, found.point.at) == (7, 6, 1_001_500_000)
    assert found.why.startswith("a block of the claim was chosen as a victim")
    assert (ended.owner, ended.footprint, ended.keys) == ("tenant-a", 60, None)


def test_counts_are_those_of_the_judge() -> None:
    """Blocks of claims, requests and tiers are counted from the first event that states them."""
    items, _ = made(VICTIM)
    counts = [(e.name, e.value, e.point.line) for e in of(items, Counted)]
    assert counts == [
        ("claimed", 60, 3),
        ("tier gpu", 60, 4),
        ("active", 70, 6),
        ("usable", 80, 6),
        ("free", -50, 6),
        ("tier gpu", 59, 7),
        ("active", 0, 9),
        ("free", 20, 9),
    ]


def _lines(tmp_path: Path, *lines: dict[str, object]) -> Path:
    path = tmp_path / "trace.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def _sample_lines(**changes: object) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in Path(VICTIM).read_text().splitlines()]
    return [{k: v for k, v in (line | changes).items() if v is not None} for line in lines]


def test_axis_without_times_is_of_lines(tmp_path: Path) -> None:
    """Where no event has a time, the positions are numbers of lines, and the stream says so."""
    items, _ = made(_lines(tmp_path, *_sample_lines(time_ns=None)))
    (begun,) = of(items, StreamBegun)
    assert begun.axis is Axis.LINES
    assert all(e.point.at == e.point.line for e in of(items, Happened))


def test_break_leaves_counts_unstated(tmp_path: Path) -> None:
    """After a missing line counts are None, and states are marked as not judged."""
    lines = _sample_lines()
    del lines[5]
    items, _ = made(_lines(tmp_path, *lines))
    (broken,) = of(items, Broken)
    assert (broken.reason, broken.point.line) == ("lines-missing", 6)
    last = {each.name: each.value for each in of(items, Counted)}
    assert last == {"claimed": None, "tier gpu": None}
    judged = [(str(e.state), e.judged) for e in of(items, StateSlice)]
    assert judged[-2:] == [("materialized", True), ("harmed", False)]


def test_facts_after_a_break_are_shown(tmp_path: Path) -> None:
    """A fact that names a claim is in its lane after a break, and says nothing of losses."""
    lines = _sample_lines()
    lines[6]["claim_id"] = lines[0]["claim_id"]
    del lines[5]
    items, _ = made(_lines(tmp_path, *lines))
    (evicted,) = [e for e in of(items, Happened) if e.event.kind == "block_evicted"]
    assert (evicted.claims, evicted.lost) == ((0,), ())
    assert [] == of(items, Link)
    check_shape(items)


def test_mark_without_a_time_comes_first(tmp_path: Path) -> None:
    """A stream that opens without a time begins where its first event is."""
    mark = {"kind": "stream_opened", "stream": "b", "sequence": 0}
    lines = [
        mark,
        *(line | {"sequence": n + 1} for n, line in enumerate(_sample_lines(stream="b"))),
    ]
    items, _ = made(_lines(tmp_path, *_sample_lines(stream="a", time_ns=7), *lines))
    assert [(e.name, e.point.at) for e in of(items, StreamBegun)] == [
        ("a", 7),
        ("b", 1_000_000_000),
    ]


def test_run_with_another_clock_goes_on(tmp_path: Path) -> None:
    """A second run whose clock begins anew lies behind the first; its claim has a lane of its
    own.
    """
    first = _sample_lines()
    second = [line | {"time_ns": n} for n, line in enumerate(first)]
    items, _ = made(_lines(tmp_path, *first, *second))
    assert [each.period for each in of(items, ClaimBegun)] == [1, 2]
    end = first[-1]["time_ns"]
    assert [e.point.at for e in of(items, ClaimBegun)] == [first[0]["time_ns"], end]
    again = [e.point.at for e in of(items, Happened) if e.point.line > len(first)]
    assert again == [end + n for n in range(len(first))]
    check_shape(items)


def test_streams_of_a_file_have_lanes_of_their_own(tmp_path: Path) -> None:
    """Two streams that alternate in a file have a lane for each claim, each by its own clock."""
    one, two = _sample_lines(stream="a"), _sample_lines(stream="b", time_ns=5)
    items, _ = made(
        _lines(tmp_path, *[line for both in zip(one, two, strict=True) for line in both])
    )
    assert [(e.name, e.point.at) for e in of(items, StreamBegun)] == [
        ("a", 1_000_000_000),
        ("b", 5),
    ]
    assert [each.stream for each in of(items, ClaimBegun)] == [0, 1]


def _without(line: bytes, name: str) -> bytes:
    try:
        fields = json.loads(line)
    except ValueError:
        return line
    fields.pop(name, None)
    return json.dumps(fields).encode()
