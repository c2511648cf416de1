"""The spans that `check --otlp-spans` writes, read back by the messages of OTLP."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from monitor.samples import sample
from monitor.timeline.spans import MOST, SpansWriter
from spec.language.errors import SpecError
from tests.monitor.timeline.made import TRACES, made

START = 1_700_000_000_000_000_000


def requests(path: Path | str, start: int | None = START) -> list[dict[str, Any]]:
    """The requests that the spans of a trace are sent in."""
    sent: list[bytes] = []
    writer = SpansWriter(sent.append, start)
    for item in made(path)[0]:
        writer.put(item)
    writer.end()
    return [json.loads(each) for each in sent]


def spans(path: Path | str, start: int | None = START) -> list[dict[str, Any]]:
    """The spans of a trace."""
    return [
        span
        for request in requests(path, start)
        for resource in request["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def attributes(of: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a span or an event, by name."""
    return {
        each["key"].removeprefix("resident_claims."): next(iter(each["value"].values()))
        for each in of["attributes"]
    }


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_shape(path: Path) -> None:
    """Ids are of their length and differ, parents and links are spans of the trace, and nothing
    happens outside its span.
    """
    found = spans(path)
    ids = [span["spanId"] for span in found]
    assert len(set(ids)) == len(ids)
    assert {(len(s["traceId"]), len(s["spanId"])) for s in found} == {(32, 16)}
    for span in found:
        assert span["parentSpanId"] in {*ids, ""}
        assert all(link["spanId"] in ids for link in span["links"])
        begin, end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
        times = [int(event["timeUnixNano"]) for event in span["events"]]
        assert times == sorted(times)
        assert all(begin <= at <= end for at in times)
        assert len(times) <= MOST
    tops = [span for span in found if not span["parentSpanId"]]
    ends = {span["traceId"]: int(span["endTimeUnixNano"]) for span in tops}
    assert all(int(span["endTimeUnixNano"]) <= ends[span["traceId"]] for span in found)


def test_messages() -> None:
    """Each request is one that protobuf's reader of OTLP takes, with ids as bytes."""
    service: Any = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    form: Any = pytest.importorskip("google.protobuf.json_format")
    (request,) = requests(sample("hard_protected_refusal"))

    def as_bytes(value: Any) -> Any:
        if isinstance(value, list):
            return [as_bytes(each) for each in value]
        if not isinstance(value, dict):
            return value
        return {
            name: base64.b64encode(bytes.fromhex(each)).decode()
            if name in ("traceId", "spanId", "parentSpanId")
            else as_bytes(each)
            for name, each in value.items()
        }

    message = form.ParseDict(as_bytes(request), service.ExportTraceServiceRequest())
    read = message.resource_spans[0].scope_spans[0].spans
    assert [each.name for each in read] == [
        each["name"] for each in spans(sample("hard_protected_refusal"))
    ]
    (claim,) = [each for each in read if each.name.startswith("claim ")]
    assert claim.status.code == 1


def test_refusal_is_linked() -> None:
    """The request that is refused and the claim that it names are linked to one another."""
    found = {span["name"].split()[0]: span for span in spans(sample("hard_protected_refusal"))}
    request, claim = found["request"], found["claim"]
    assert [link["spanId"] for link in request["links"]] == [claim["spanId"]]
    assert [link["spanId"] for link in claim["links"]] == [request["spanId"]]


def test_violated_claim() -> None:
    """A violated claim is a span with an error, its reason, and an event where it was violated."""
    (claim,) = [s for s in spans(sample("hard_protected_victim")) if s["name"].startswith("claim ")]
    assert claim["status"]["code"] == 2
    assert claim["status"]["message"].startswith("not kept: victim_exclusion_before_violation")
    assert attributes(claim)["owner"] == "tenant-a"
    events = {event["name"]: event for event in claim["events"]}
    violated = events["violated: victim_exclusion_before_violation"]
    assert violated["timeUnixNano"] == str(START + 1_500_000)
    assert attributes(violated)["line"] == "7"


def test_many_events(tmp_path: Path) -> None:
    """Of very many events some are counted alone, and no violation is among these."""
    lines = [
        json.loads(line) for line in Path(sample("hard_protected_victim")).read_text().splitlines()
    ]
    lines[5:5] = [lines[4]] * 200
    file = tmp_path / "many.jsonl"
    file.write_text(
        "".join(json.dumps(line | {"sequence": n}) + "\n" for n, line in enumerate(lines))
    )
    (claim,) = [s for s in spans(file) if s["name"].startswith("claim ")]
    assert claim["droppedEventsCount"] > 70
    names = [event["name"] for event in claim["events"]]
    assert "violated: victim_exclusion_before_violation" in names


def test_wall_time() -> None:
    """Monotonic times need a start; ids are the same each time."""
    with pytest.raises(SpecError, match="time_ns counts from no date; give --start"):
        spans(sample("hard_protected_victim"), None)
    assert spans(sample("hard_protected_victim")) == spans(sample("hard_protected_victim"))


def test_wall_time_of_events(tmp_path: Path) -> None:
    """Times since 1970 are taken as they are."""
    file = tmp_path / "wall.jsonl"
    lines = map(json.loads, Path(sample("hard_protected_victim")).read_text().splitlines())
    later = (line | {"time_ns": START + line["sequence"]} for line in lines)
    file.write_text("".join(json.dumps(line) + "\n" for line in later))
    begins = {s["startTimeUnixNano"] for s in spans(file, None) if s["name"].startswith("claim ")}
    assert begins == {str(START)}
