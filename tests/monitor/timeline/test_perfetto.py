"""The trace that `check --perfetto` writes, read back by the messages of Perfetto."""

from __future__ import annotations

import io
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from monitor.samples import sample
from monitor.timeline.items import Item
from monitor.timeline.output import Output
from monitor.timeline.perfetto import PerfettoWriter
from spec.language.errors import SpecError
from tests.monitor.timeline.made import TRACES, made

proto: Any = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
BEGIN, END = proto.TrackEvent.TYPE_SLICE_BEGIN, proto.TrackEvent.TYPE_SLICE_END
INSTANT, COUNTER = proto.TrackEvent.TYPE_INSTANT, proto.TrackEvent.TYPE_COUNTER


class Read:
    """A trace as Perfetto reads it: events in the order of time, those of one time as they came."""

    def __init__(self, content: bytes) -> None:
        packets = proto.Trace.FromString(content).packet
        self.tracks = {
            p.track_descriptor.uuid: p.track_descriptor
            for p in packets
            if p.HasField("track_descriptor")
        }
        events = [p for p in packets if p.HasField("track_event")]
        self.events = [
            (p.timestamp, p.track_event) for p in sorted(events, key=lambda p: p.timestamp)
        ]
        self.packets = packets

    def path(self, uuid: int) -> str:
        """The names of a track and of those above it; of a process without what is in brackets."""
        track = self.tracks[uuid]
        if not track.parent_uuid:
            return str(track.process.process_name.split(" (axis")[0])
        return f"{self.path(track.parent_uuid)}/{track.name}"

    def on(self, *path: str) -> list[tuple[int, Any]]:
        """The events of a track."""
        return [(at, e) for at, e in self.events if self.path(e.track_uuid) == "/".join(path)]


def written(items: list[Item]) -> bytes:
    """The trace of these items."""
    file = io.BytesIO()
    writer = PerfettoWriter(file)
    for item in items:
        writer.put(item)
    writer.end()
    return file.getvalue()


def read(path: Path | str) -> Read:
    """The trace of a file, read back."""
    return Read(written(made(path)[0]))


def notes(event: Any) -> dict[str, str]:
    """The notes of an event."""
    return {each.name: each.string_value for each in event.debug_annotations}


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_shape(path: Path) -> None:
    """Each event has a track, slices nest, and each flow leads from one place to one that is no
    earlier.
    """
    trace = read(path)
    assert trace.packets[0].sequence_flags == proto.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
    described = set[int]()
    for packet in trace.packets:
        if packet.HasField("track_descriptor"):
            assert packet.track_descriptor.parent_uuid in described | {0}
            described.add(packet.track_descriptor.uuid)
        else:
            assert packet.track_event.track_uuid in described
    depth: Counter[int] = Counter()
    sources, targets = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for at, event in trace.events:
        depth[event.track_uuid] += {BEGIN: 1, END: -1}.get(event.type, 0)
        assert depth[event.track_uuid] in (0, 1)
        for flow in event.flow_ids:
            sources[flow].append(at)
        for flow in event.terminating_flow_ids:
            targets[flow].append(at)
    assert not +depth
    assert sources.keys() == targets.keys()
    assert all(len(ends) == 1 for ends in (*sources.values(), *targets.values()))
    assert all(sources[flow] <= targets[flow] for flow in sources)


def test_victim() -> None:
    """The sample that is violated: states as slices, the pool as counters, a violation with its
    reason, the loss linked to its report.
    """
    trace = read(sample("hard_protected_victim"))
    stream, claim = "sample:victim", "claim:system-prompt"
    on_claim = trace.on(stream, "claims", claim)
    states = [(at, e.name) for at, e in on_claim if e.type == BEGIN]
    assert states == [
        (1_000_000_000, "submitted"),
        (1_000_500_000, "accepted"),
        (1_001_000_000, "materialized"),
        (1_001_750_000, "harmed"),
    ]
    violated = [(at, notes(e)) for at, e in on_claim if e.name.startswith("violated: victim")]
    ((at, said),) = violated
    assert (at, said["line"], said["sequence"]) == (1_001_500_000, "7", "6")
    assert said["why"].startswith("a block of the claim was chosen")
    phases = [e.name for _, e in trace.on(stream, "requests", "active-1") if e.type == BEGIN]
    assert phases == ["waiting"]
    free = [(at, e.counter_value) for at, e in trace.on(stream, "pool", "free")]
    assert free == [(1_001_250_000, -50), (1_002_000_000, 20)]
    ends = [e.name for _, e in on_claim if e.flow_ids or e.terminating_flow_ids]
    assert ends == ["loss of claim:system-prompt", "report of a loss of claim:system-prompt"]
    verdicts = [e.name for _, e in on_claim if list(e.categories) == ["verdict"]]
    assert verdicts == ["verdict: violated"]


def test_refusal_is_linked() -> None:
    """A flow leads from the refusal in the track of the request to the claim that it names."""
    trace = read(sample("hard_protected_refusal"))
    ends = {
        flow: trace.path(e.track_uuid)
        for _, e in trace.events
        if e.name.startswith(("names the claim", "named by"))
        for flow in (*e.flow_ids, *(-each for each in e.terminating_flow_ids))
    }
    (source,) = [flow for flow in ends if flow > 0]
    assert ends[source].split("/")[1] == "requests"
    assert ends[-source].split("/")[1] == "claims"


def test_axis_of_lines(tmp_path: Path) -> None:
    """Without times a line is a millisecond, and the name of the process says so."""
    lines = Path(sample("hard_protected_victim")).read_text().splitlines()
    file = tmp_path / "untimed.jsonl"
    file.write_text("\n".join(line.replace('"time_ns"', '"priority"') for line in lines[:3]))
    text = file.read_text()
    for number in (1_000_000_000, 1_000_250_000, 1_000_500_000):
        text = text.replace(f'"priority":{number},', "")
    file.write_text(text)
    trace = read(file)
    (name,) = [t.process.process_name for t in trace.tracks.values() if not t.parent_uuid]
    assert name == "sample:victim (axis: line numbers, not time: 1 ms is a line)"
    assert [at for at, e in trace.events if e.type == BEGIN] == [1_000_000, 3_000_000]


def test_counts_that_are_not_stated_any_more(tmp_path: Path) -> None:
    """After a break an instant beside the counters says that they are not stated."""
    lines = Path(sample("hard_protected_victim")).read_text().splitlines()
    file = tmp_path / "gap.jsonl"
    file.write_text("\n".join(lines[:5] + lines[6:]))
    trace = read(file)
    said = {e.name for _, e in trace.on("sample:victim", "pool")}
    assert said == {"claimed: not stated from here on", "tier gpu: not stated from here on"}
    broken = [e.name for _, e in trace.on("sample:victim", "claims")]
    assert broken == ["RC101 lines-missing"]


def test_verdict_is_where_the_claim_ends(tmp_path: Path) -> None:
    """The verdict on a claim that ended is at the end of its states, though lines follow."""
    claim = {"claim_id": "a", "cache_identity": "m", "object_id": "o"}
    terms = {"predicate": "leading_prefix_at_least(1)", "mode": "hard_protected"}
    lines: list[dict[str, object]] = [
        {"kind": "claim_registered", **claim, **terms, "owner_scope": "t"},
        {"kind": "claim_committed", **claim, "footprint": 1},
        {"kind": "claim_accepted", **claim, "footprint": 1},
        {"kind": "claim_retired", **claim, "by": "t"},
        {"kind": "claim_released", **claim, "by": "t"},
        {"kind": "request_arrived", "request_id": "r", "needed": 1, "usable": 9},
        {"kind": "request_finished", "request_id": "r"},
    ]
    file = tmp_path / "trace.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    trace = read(file)
    ends = [(at, e.name) for at, e in trace.on(str(file), "claims", "a") if "verdict" in e.name]
    assert ends == [(5_000_000, "verdict: kept")]


def test_cap() -> None:
    """A file that reaches its size ends whole, says so, and has no end of a flow alone."""
    items, _ = made(sample("hard_protected_victim"))
    file, failed = io.BytesIO(), list[SpecError]()
    output = Output("--perfetto x", PerfettoWriter(file, 2_000), file=None, failed=failed.append)
    for item in items:
        output.put(item)
    output.close()
    content = file.getvalue()
    assert len(content) < 2_300
    assert [str(e).split("; ")[0] for e in failed] == [
        "--perfetto x: the file is as large as it may be"
    ]
    trace = Read(content)
    assert "the file is as large as it may be" in {e.name for _, e in trace.events}
    assert {f for _, e in trace.events for f in e.flow_ids} == {
        f for _, e in trace.events for f in e.terminating_flow_ids
    }
    begun = Counter(e.type for _, e in trace.events)
    assert begun[BEGIN] == begun[END]
