"""Events in OpenTelemetry log records are judged as the lines that they stand for."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.check.files import check_files
from monitor.follow.judge import Judge
from monitor.follow.verdict_line import Counts, VerdictLine
from monitor.input.dialects import Reader
from monitor.input.dialects.otlp import EVENT
from monitor.input.errors import InputError
from monitor.input.lines import LINE_LIMIT
from monitor.report.verdict import Report
from spec.events.canonical import EVENT_ENCODER
from tests.monitor.follow.traces import trace
from tests.monitor.input.otlp_lines import FORMS, any_value, exported, foreign
from tests.monitor.test_hostile import FOLDER

SAMPLES = Path(__file__).parents[3] / "monitor" / "samples"
EVENTS: list[dict[str, Any]] = [json.loads(line) for line in trace(9)]
END = {"kind": "request_finished", "request_id": "r", "sequence": 0}
Form = Callable[[dict[str, Any]], dict[str, Any]]


def is_canonical(path: Path) -> bool:
    return b'"kind"' in path.read_bytes().split(b"\n", 1)[0]


TRACES = [p for p in sorted([*FOLDER.glob("*.jsonl"), *SAMPLES.glob("*.jsonl")]) if is_canonical(p)]


def numbered(path: Path) -> list[dict[str, Any]]:
    """The events of a trace, numbered where they are not."""
    lines = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    return [{"sequence": number, **fields} for number, fields in enumerate(lines)]


def verdicts(report: Report) -> Any:
    """What is concluded, without the places."""
    return (
        report.verdict,
        report.why,
        [
            (c.stream, c.claim_id, c.verdict, {n: f.verdict for n, f in c.obligations.items()})
            for c in report.claims
        ],
    )


def checked(path: Path, lines: list[bytes]) -> Report:
    path.write_bytes(b"\n".join(lines) + b"\n")
    return check_files(path)


class TestRoundTrip:
    @pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
    def test_each_trace(self, form: Form, tmp_path: Path) -> None:
        """Written as log records and read again, each trace has the verdicts that it had, at the
        lines at which it had them."""
        path = tmp_path / "trace.jsonl"
        seen = set()
        for source in TRACES:
            events = numbered(source)
            plain = checked(path, [json.dumps(fields).encode() for fields in events])
            records = checked(path, [exported([form(fields)]) for fields in events])
            assert plain.claims == records.claims
            assert verdicts(plain) == verdicts(records)
            assert plain.theorem == records.theorem
            seen.add(str(plain.verdict))
        assert {"kept", "violated", "inconclusive"} == seen

    @pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
    def test_batches(self, form: Form, tmp_path: Path) -> None:
        """So it is with many on a line, among the log records of others."""
        path = tmp_path / "trace.jsonl"
        plain = checked(path, [json.dumps(fields).encode() for fields in EVENTS])
        batches = [EVENTS[at : at + 7] for at in range(0, len(EVENTS), 7)]
        lines = [exported([*foreign(), *map(form, batch), *foreign()]) for batch in batches]
        assert verdicts(plain) == verdicts(checked(path, lines))
        assert "violated" == plain.verdict

    def test_reordered(self, tmp_path: Path) -> None:
        """What came twice and out of order is put back, by its numbers."""
        path, chance = tmp_path / "trace.jsonl", random.Random(7)
        plain = checked(path, [json.dumps(fields).encode() for fields in EVENTS])
        lines = [exported([FORMS["map"](fields)]) for fields in EVENTS]
        lines = [line for at in range(0, len(lines), 5) for line in shuffled(chance, lines, at)]
        path.write_bytes(b"\n".join(lines) + b"\n")
        assert verdicts(plain) == verdicts(check_files(path, reorder="50"))

    def test_lost(self, tmp_path: Path) -> None:
        """A log record that is missing is a gap; nothing is kept by what was not seen."""
        path = tmp_path / "trace.jsonl"
        kept = numbered(SAMPLES / "hard_protected_refusal.jsonl")
        lines = [exported([FORMS["text"](fields)]) for fields in kept]
        assert "kept" == checked(path, lines).verdict
        assert "inconclusive" == checked(path, [*lines[:3], *lines[4:]]).verdict

    @pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
    def test_followed(self, form: Form) -> None:
        """A follower decides the same, event by event, and as much of them all on one line."""
        plain = followed([line.rstrip() for line in trace(9)])
        assert plain == followed([exported([form(fields)]) for fields in EVENTS])
        once = followed([exported(map(form, EVENTS))])
        assert [each.at.sequence for each in plain] == [each.at.sequence for each in once]
        assert [type(each) for each in plain] == [type(each) for each in once]


def shuffled(chance: random.Random, lines: list[bytes], at: int) -> list[bytes]:
    few = [*lines[at : at + 5], lines[at]]
    chance.shuffle(few)
    return few


def followed(lines: list[bytes]) -> list[VerdictLine]:
    """What a follower decides; its ids are of the lines, and so not compared."""
    judge = Judge("s", None, Counts())
    found = [each for line in lines for each in judge.take(line)]
    return [*map(without_id, found), *map(without_id, judge.finish()[0])]


def without_id(line: VerdictLine) -> Any:
    return type(line)(**{name: getattr(line, name) for name in line.__struct_fields__} | {"id": ""})


def refusal(*records: Any, line: bytes | None = None) -> InputError:
    """What the reader says of a line with these log records."""
    with pytest.raises(InputError) as caught:
        Reader("f").feed(line or exported(records), 3)
    assert ("f", 3) == (caught.value.file, caught.value.line)
    return caught.value


def attribute(key: str, value: Any) -> dict[str, Any]:
    return {"key": key, "value": value}


def named(**fields: Any) -> dict[str, Any]:
    """An event, by its name."""
    return {"eventName": EVENT, "body": any_value(fields)}


DEEP: dict[str, Any] = {"stringValue": "x"}
for _ in range(30):
    DEEP = {"arrayValue": {"values": [DEEP]}}

BAD: list[tuple[dict[str, Any], str, str]] = [
    (named(kind="request_finishd"), "logRecords[0]: kind", "there is no kind"),
    (named(**{**END, "held": 1}), "held", "has no such field"),
    (named(kind="request_finished", sequence=1), "request_id", "names no request"),
    (named(kind="request_finished", request_id="r"), "sequence", "missing"),
    (named(**{**END, "sequence": -1}), "sequence", "below 0"),
    (named(**{**END, "sequence": 2**63}), "sequence", "out of range"),
    (named(), "kind", "an event without a kind"),
    ({"eventName": EVENT}, "logRecords[0]", "a log record of an event without one"),
    ({"eventName": EVENT, "body": {"stringValue": "no event"}}, "body", "not JSON"),
    ({"eventName": EVENT, "body": {"stringValue": '{"a": 1, "a": 2}'}}, "body", "occurs twice"),
    (
        {"eventName": EVENT, "body": {"stringValue": "[" * 5_000}},
        "body",
        "nested too deep",
    ),
    (
        {"body": {"kvlistValue": {"values": [attribute("kind", any_value("stream_opened"))] * 2}}},
        "body[1]",
        "occurs twice",
    ),
    (named(**END) | {"body": any_value({**END, "proof": {}})}, "proof", "missing"),
    (
        {"attributes": [attribute("event.name", any_value(EVENT))]},
        "logRecords[0]",
        "a log record of an event without one",
    ),
]

VALUES: list[tuple[Any, str]] = [
    (DEEP, "nested too deep"),
    ({"intValue": "07"}, "no whole number"),
    ({"intValue": "9" * 400_000}, "no whole number"),
    ({"intValue": "1e3"}, "no whole number"),
    ({"intValue": True}, "no intValue"),
    ({"intValue": 1.5}, "no intValue"),
    ({"doubleValue": 1.5}, "may have been rounded"),
    ({"doubleValue": 2.0**60}, "may have been rounded"),
    ({"doubleValue": 1e308}, "may have been rounded"),
    ({"doubleValue": "NaN"}, "no doubleValue"),
    ({"bytesValue": "AA=="}, "no bytesValue"),
    ({"stringValue": 7}, "no stringValue"),
    ({"stringValue": "a", "intValue": "1"}, "no value"),
    ({"textValue": "a"}, "no value"),
    (7, "no value"),
    ([], "no value"),
    ({"arrayValue": []}, "no arrayValue"),
    ({"arrayValue": {"values": 7}}, "expected a list"),
    ({"kvlistValue": {"values": [7]}}, "no pair"),
    ({"kvlistValue": {"values": [attribute("a", {})] * 2}}, "occurs twice"),
]

LINES: list[tuple[Any, str]] = [
    ({"resourceLogs": {}}, "resourceLogs: expected a list"),
    ({"resourceLogs": [7]}, "resourceLogs[0]: expected an object"),
    ({"resourceLogs": [{"scopeLogs": 7}]}, "resourceLogs[0].scopeLogs: expected a list"),
    ({"resourceLogs": [{"scopeLogs": ["x"]}]}, "scopeLogs[0]: expected an object"),
    ({"resourceLogs": [{"scopeLogs": [{"logRecords": {}}]}]}, "logRecords: expected a list"),
    ({"resourceLogs": [{"scopeLogs": [{"logRecords": [7]}]}]}, "logRecords[0]: no log record"),
]


class TestRefused:
    @pytest.mark.parametrize(("record", "field", "reason"), BAD)
    def test_events(self, record: dict[str, Any], field: str, reason: str) -> None:
        """An event that is none is bad input: the log record and the field are named."""
        found = refusal(record)
        assert "resourceLogs[0].scopeLogs[0].logRecords[0]" in str(found.field)
        assert field in str(found.field)
        assert reason in found.reason

    @pytest.mark.parametrize(("value", "reason"), VALUES)
    def test_values(self, value: Any, reason: str) -> None:
        """A value that is none, or that may be another one than it was, is refused in short."""
        fields = [attribute("kind", any_value("request_finished")), attribute("worker", value)]
        found = refusal({"body": {"kvlistValue": {"values": fields}}})
        assert reason in found.reason
        assert len(str(found)) < 500

    @pytest.mark.parametrize(("line", "says"), LINES)
    def test_lines(self, line: Any, says: str) -> None:
        """So is a line that is not of that form."""
        assert says in str(refusal(line=json.dumps(line).encode()))

    def test_all_or_none(self) -> None:
        """A line of which one event cannot be read is rejected as a whole."""
        refusal(named(**END), named(kind="x"))

    def test_other_signals(self) -> None:
        """Traces and metrics in the same file are of somebody else."""
        for name in ("resourceSpans", "resourceMetrics"):
            assert () == tuple(Reader("f").feed(json.dumps({name: [7]}).encode(), 1))

    def test_streams(self) -> None:
        """A follower lets in no more streams by one line than by many."""
        events = ({**END, "stream": f"s{number}"} for number in range(1_100))
        judge = Judge("s", None, Counts())
        assert [] == judge.take(exported(map(FORMS["map"], events)))
        assert 1_000 == len(judge._names)
        assert {"s": 1} == judge._counts.rejected

    @given(st.data())
    def test_anything(self, data: st.DataObject) -> None:
        """Whatever stands where something of OTLP is expected, a line is read or refused."""
        leaf = st.one_of(
            *(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
            st.sampled_from(["kind", "request_finished", EVENT, '{"kind": "stream_closed"}']),
        )
        keys = st.sampled_from(
            [
                "body",
                "attributes",
                "eventName",
                "key",
                "value",
                "values",
                "stringValue",
                "kvlistValue",
                "arrayValue",
                "intValue",
                "doubleValue",
                "x",
            ]
        )
        tree = st.recursive(
            leaf,
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
            max_leaves=12,
        )
        line = exported(data.draw(st.lists(tree, max_size=3)))
        with contextlib.suppress(InputError):
            Reader("f").feed(line, 1)

    def test_large(self) -> None:
        """The most that fits on a line is read in time that is in proportion to it."""
        record = json.dumps(FORMS["map"]({**END, "worker": None})).encode()
        many = LINE_LIMIT // len(record) - 1
        line = exported(json.loads(record) for _ in range(many))
        assert many == len(Reader("f").feed(line, 1))


def test_written_by_the_encoder() -> None:
    """An event of every form is the one that its line is."""
    for form in FORMS.values():
        (record,) = Reader("f").feed(exported([form(END)]), 1)
        ((event, _),) = record.events
        assert END == json.loads(EVENT_ENCODER.encode(event))
