"""Which dialect a line is in, what ships with the project, and that no line breaks the reader."""

import contextlib
import json
import re
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.input.dialects import Reader, allocator, canonical, connector, otlp, reference
from monitor.input.errors import InputError
from monitor.input.sources import Source
from monitor.samples import FOLDER, sample
from spec.events.alphabet import FACTS, Kind
from spec.events.canonical import EVENT_ENCODER, CapacityProof, Event, Mark
from spec.events.fields import fields_of
from tests.monitor.input.dialect_lines import (
    CLAIM,
    DEFERRED,
    DONE,
    FAILED,
    FOUND,
    HOLDS,
    LOADED,
    NEED,
    REFUSED,
    RESIDENT,
    REUSE,
    SPOKE,
    STORED,
    VICTIM,
    Line,
    alloc,
    cached,
    conn,
    feed,
    refusal,
    report,
    required,
)
from tests.monitor.traces_allocator import allocator_conflict
from tests.monitor.traces_connector import connector_end
from tests.monitor.traces_reference import (
    reference_failure,
    reference_refused,
    reference_success,
)

REF = reference_refused(event_sequence=1)


class TestTellingApart:
    def test_by_content_line_by_line(self) -> None:
        """One file may hold all four forms; each line is told by its own fields."""
        got = feed(
            {"kind": "request_finished", "request_id": "a"},
            {"event": "future", "event_sequence": 7, "timestamp_ns": 9},
            {"event": "future", "monotonic_ns": 8, "timestamp_ns": 9},
            {"event": "future_reuse_denied", "timestamp_ns": 9, "run_id": "r1"},
            {"event": "future", "event_sequence": 7, "timestamp_ns": 9, "policy": "p"},
            {"event": "future", "event_sequence": 7, "lifecycle_generation": 1},
        )
        forms = ["canonical", "connector", "connector", "allocator", *["reference_lifecycle"] * 2]
        assert forms == [r.stamp.form.name for r in got]
        assert [None, 7, None, None, 7, 7] == [r.stamp.sequence for r in got]
        assert [None, 9, 8, 9, None, None] == [r.stamp.time_ns for r in got]
        assert [None, "future", "future", None, "future", "future"] == [r.unknown for r in got]

    @pytest.mark.parametrize("dialect", [canonical, otlp, reference, connector, allocator])
    def test_each_recognises_its_own(self, dialect: ModuleType) -> None:
        """A line of each form is recognised by its module, and by none that is asked before."""
        lines = {
            canonical: {"kind": "request_finished", "request_id": "a"},
            otlp: {"resourceLogs": []},
            reference: reference_refused(event_sequence=1),
            connector: connector_end()[0] | {"event_sequence": 1, "monotonic_ns": 2},
            allocator: allocator_conflict(),
        }
        asked = list(lines)
        found = [each for each in asked if each.recognises(lines[dialect])]
        assert dialect is found[0]

    @pytest.mark.parametrize("dialect", [reference, connector, allocator])
    def test_what_is_observed(self, dialect: ModuleType) -> None:
        """What a dialect takes on trust counts as observed, and stands on its stamps."""
        assert dialect.DERIVED == dialect.FORM.derived
        assert dialect.DERIVED <= dialect.OBSERVES <= FACTS
        [record] = feed({reference: REF, connector: DONE, allocator: VICTIM}[dialect])
        assert dialect.OBSERVES == record.stamp.observes
        assert dialect.FORM is record.stamp.form

    @pytest.mark.parametrize(
        ("names", "stream"),
        [
            ({"run_id": "r1", "hook_scope": "h"}, "r1"),
            ({"hook_scope": "h"}, "h"),
            ({}, "f"),
        ],
    )
    def test_streams(self, names: Line, stream: str) -> None:
        """A stream is the run, else the hooks' scope, else the file."""
        assert [stream] == [r.stamp.stream for r in feed({"event": "x", **names})]

    def test_neither(self) -> None:
        """A line without kind and event is no event."""
        assert "an event without a kind" == refusal({"evnt": "x"}).reason


class TestCanonical:
    @given(st.sampled_from(Kind), st.integers(0, 2**62), st.text(min_size=1, max_size=20))
    def test_round_trip(self, kind: Kind, number: int, name: str) -> None:
        """What the encoder of the specification writes comes back as the same event."""
        said: dict[str, Any] = {
            **dict.fromkeys(("claim_id", "request_id", "by", "worker", "outcome"), name),
            **dict.fromkeys(("footprint", "needed", "usable", "cost"), 4),
            "block_ids": (1, 2),
            "positions": (5, 6),
            "duration": "15 s",
            "proof": CapacityProof(1, 2, 3, 4, 0),
            "hit": True,
        }
        event = Event(
            kind=kind,
            stream="s",
            sequence=number,
            time_ns=number,
            predicate="contiguous_range(2, 3)",
            **{field: said[field] for field in fields_of(kind) if field in said},
        )
        [record] = Reader("f").feed(EVENT_ENCODER.encode(event), 1)
        assert ((event, record.at),) == record.events

    @pytest.mark.parametrize(
        ("field", "value"), [("duration", "5 s"), ("held", 0), ("priority", 0), ("hit", False)]
    )
    def test_strange_field(self, field: str, value: object) -> None:
        """A field that means nothing on an event of this kind is refused, and named."""
        found = refusal({"kind": "claim_materialized", "claim_id": "c", field: value})
        assert ("claim_materialized has no such field", field) == (found.reason, found.field)


SAMPLES = sorted(path.stem for path in FOLDER.glob("*.jsonl"))


class TestSamples:
    @pytest.mark.parametrize("name", SAMPLES)
    def test_samples_are_readable(self, name: str) -> None:
        """Every line of each shipped sample is known."""
        records = [*Source([str(sample(name))])]
        assert records
        assert not [each.unknown for each in records if each.unknown]

    def test_all_samples_are_listed(self) -> None:
        """The README beside the samples names each, and no other."""
        readme = (FOLDER / "README.md").read_text()
        assert SAMPLES == sorted(re.findall(r"^\| `(.*)\.jsonl` \|", readme, re.M))


RECORDED = sample("x").parents[3] / "shared" / "traces"


class TestRecordedTraces:
    @pytest.mark.parametrize(
        ("name", "lines", "unknown"),
        [("success_path", 17, 0), ("claimed_load_failure", 21, 0), ("generic_counter_only", 2, 2)],
    )
    def test_are_read_as_they_are(self, name: str, lines: int, unknown: int) -> None:
        """Every line of the recorded traces is understood; only the generic counters are not."""
        path = RECORDED / f"{name}.jsonl"
        if not path.exists():
            pytest.skip("the recorded traces are not part of the project and not beside it")
        got = list(Source([str(path)]))
        assert (lines, unknown) == (len(got), sum(r.unknown is not None for r in got))


REFERENCE = [*reference_success(), *reference_failure()]
NAMES = sorted(
    {"kind", "event", *Event.__struct_fields__, *CLAIM, *RESIDENT, *LOADED, *REFUSED, *cached(1)}
    | {name for line in REFERENCE for name in line}
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 100)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["c", "q", "reuse", "resident", "leading_prefix_at_least(2)", "GPU", "CPU"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
LIKELY = st.sampled_from(
    [RESIDENT, REUSE, STORED, FOUND, LOADED, FAILED, SPOKE, DONE, required(1), report(1), HOLDS]
    + [VICTIM, REFUSED, DEFERRED, cached(1), alloc("resident_claim_accepted", **NEED)]
    + [conn("resident_claim_demoted"), alloc("resident_claim_expired")]
    + [{"kind": kind.value, "claim_id": "c", "request_id": "q"} for kind in Kind]
    + [{"kind": mark.value} for mark in Mark]
    + [{**line, "event_sequence": number} for number, line in enumerate(REFERENCE)]
)


class TestAnything:
    @pytest.mark.slow
    @settings(max_examples=150)
    @given(
        st.lists(
            st.builds(
                lambda base, more: {**base, **more},
                LIKELY | st.just({}),
                st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=5), VALUES, max_size=4),
            ),
            max_size=8,
        )
    )
    def test_no_object_breaks_the_reader(self, lines: list[Line]) -> None:
        """Any JSON object is read or refused with its place; a stream keeps the order of lines."""
        reader = Reader("f")
        seen: list[tuple[str, int]] = []
        refused: list[tuple[int, InputError]] = []
        for number, line in enumerate(lines, 1):
            try:
                records = reader.feed(json.dumps(line).encode(), number)
            except InputError as error:
                refused.append((number, error))
                continue
            seen += [(record.stamp.stream, record.at.line) for record in records]
            for record in records:
                for event, _ in record.events:
                    EVENT_ENCODER.encode(event)
        seen += [(record.stamp.stream, record.at.line) for record in reader.flush()]
        for stream in {stream for stream, _ in seen}:
            own = [number for name, number in seen if name == stream]
            assert sorted(own) == own
        assert len({number for _, number in seen}) == len(seen)
        assert all(("f", number) == (error.file, error.line) for number, error in refused)
        assert all(str(error).isprintable() for _, error in refused)

    @settings(max_examples=150)
    @given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
    def test_no_bytes_break_the_reader(self, text: bytes) -> None:
        """Any bytes are read or refused."""
        with contextlib.suppress(InputError):
            Reader("f").feed(text, 1)
