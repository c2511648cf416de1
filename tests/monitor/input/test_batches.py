"""Reading many lines at once gives what reading them one by one gives, whatever the lines are."""

from __future__ import annotations

import gzip
import io
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.input.batches import Batch, event_of, run_of
from monitor.input.errors import InputError
from monitor.input.lines import LINE_LIMIT
from monitor.input.records import Record, Stamp, at_line
from monitor.input.sources import Account, Source, read
from monitor.samples import sample
from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import EVENT_ENCODER, Event
from spec.events.fields import fields_of, required_of
from tests.streams.traffic import Traffic, as_events

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FIELDS = Event.__struct_fields__
PREDICATE = "leading_prefix_at_least(1)"
NEEDS: dict[str, Any] = {"claim_id": "c", "request_id": "r", "block_ids": [1], "positions": [0]}
NEEDS |= {"predicate": PREDICATE, "footprint": 1, "needed": 1, "usable": 9, "by": "runtime"}
NEEDS |= {"cost": 1, "worker": "w", "hit": True, "outcome": "refusal"}
EVENTS = [
    EVENT_ENCODER.encode(event)
    for mode in Mode
    for event in as_events(Traffic(40, 2, (mode,), narrow=True, shared=mode is Mode.DEMOTABLE))
]
MARKS = [
    b'{"kind":"stream_opened","stream":"s","sequence":0,"observes":["block_cached"]}',
    b'{"kind":"stream_closed","stream":"s","sequence":9}',
]
RECORDED = [
    line
    for name in ("allocator_refusal", "offloadable_restore")
    for line in sample(name).read_bytes().splitlines()[:12]
]
ODD = [
    b'{"kind":"claim_materialized","claim_id":"a","claim_id":"a"}',
    b'{"kind":"claim_materialized","claim_id":"a","claim_id":null}',
    b'{"kind":"claim_materialized","claim_id" :"a","claim_id":"a"}',
    b'{"kind":"claim_materialized","claim_id"  :"a","claim_id":"a"}',
    b'{"kind":"claim_materialized","kind":"claim_harmed","claim_id":"a"}',
    b'{"kind": "claim_materialized", "claim_id": "a"}',
    b'{"claim_id": "a", "kind": "claim_materialized"}',
    b'{"kind":"claim_materialized","claim_id":"\\u00e9"}',
    b'{"kind":"claim_materialized","claim_id":"a\\":b"}',
    b'{"kind":"claim_materialized","claim_id":"a","held":null}',
    b'{"kind":"claim_materialized","claim_id":"a","held":3}',
    b'{"kind":"claim_materialized","claim_id":"a","request_id":null}',
    b'{"kind":"claim_materialized","claim_id":""}',
    b'{"kind":"claim_materialized","claim_id":"a\\u0022:","claim_id":"a\\u0022:"}',
    b'{"kind": "claim_materialized", "claim_id": "\xff"}',
    b'{"kind": "claim_materialized", "claim_id": "\xed\xa0\x80"}',
    b'{"kind": "claim_materialized", "claim_id": "\xc0\xaf"}',
    b'{"kind": "claim_materialized", "claim_id": "\xc3\xa9"}',
    b'{"kind":"claim_materialized","claim_id":"\xff"}',
    b'{"kind":"claim_materialized","claim_id":"\xc3\xa9"}',
    b'{"kind":"claim_materialized"}',
    b'{"kind":"claim_materialised","claim_id":"a"}',
    b'{"kind":"claim_materialized","claim_id":"a","sequence":1.0}',
    b'{"kind":"claim_materialized","claim_id":"a","sequence":1e2}',
    b'{"kind":"claim_materialized","claim_id":"a","sequence":9223372036854775808}',
    b'{"kind":"claim_materialized","claim_id":"a","sequence":9223372036854775807}',
    b'{"kind":"claim_materialized","claim_id":"a","sequence":-1}',
    b'{"kind":"claim_materialized","claim_id":"a","sequence":NaN}',
    b'{"kind":"claim_materialized","claim_id":"a","sequence":"1"}',
    b'{"kind":"claim_materialized","claim_id":"a","predicate":"leading"}',
    b'{"kind":"claim_materialized","claim_id":"a","predicate":"leading_prefix_at_least(2)"}',
    b'{"kind":"claim_committed","claim_id":"a","footprint":1,"duration":"15"}',
    b'{"kind":"claim_committed","claim_id":"a","footprint":1,"duration":"15 s"}',
    b'{"kind":"claim_committed","claim_id":"a","footprint":1,"mode":"hard"}',
    b'{"kind":"claim_committed","claim_id":"a","footprint":1,"priority":-9223372036854775808}',
    b'{"kind":"claim_committed","claim_id":"a","footprint":null}',
    b'{"kind":"block_cached","block_ids":[1,2],"positions":[0]}',
    b'{"kind":"block_cached","block_ids":[1,1],"positions":[0,1]}',
    b'{"kind":"block_cached","block_ids":[1,2],"positions":[0,0]}',
    b'{"kind":"block_cached","block_ids":[],"positions":[]}',
    b'{"kind":"block_evicted","block_ids":[1,2]}',
    b'{"kind":"block_evicted","block_ids":[1],"block_ids":[2]}',
    b'{"kind":"block_lost"}{"kind":"block_lost"}',
    b'{"kind":"block_lost"} {"kind":"block_lost"}',
    b'{"kind":"block_lost",',
    b'"block_ids":[1]}',
    b' {"kind":"block_lost"} ',
    b'{"kind":"block_lost"}\r',
    b"",
    b"  ",
    b"[]",
    b"[" * 2000,
    b"7",
    b"\x00",
]


class Got(NamedTuple):
    """What a file came to: each record, with its events field by field; and the account of it."""

    records: list[tuple[Any, ...]]
    accounts: list[tuple[Any, ...]]
    error: str


def shown(record: Record) -> tuple[Any, ...]:
    events = [([getattr(event, name) for name in FIELDS], at) for event, at in record.events]
    return record.at, record.stamp, events, record.unknown, record.doubts


def each_of(items: Iterable[Batch | Record]) -> Iterator[Record]:
    for item in items:
        if isinstance(item, Record):
            yield item
            continue
        for line, event in zip(item.lines, item.events, strict=True):
            at = at_line(item.file, line, event.sequence)
            stamp = Stamp(event.stream or item.file, event.sequence, event.time_ns)
            yield Record(at, stamp, ((event, at),))


def account(of: Account) -> tuple[Any, ...]:
    return of.file, of.sha256, of.lines, of.rejected, str(of.rejection)


def got(content: bytes, *, batches: bool, lenient: bool) -> Got:
    """What is read of a file, up to the first error, where the reading is not lenient."""
    found: list[tuple[Any, ...]] = []
    source: Source
    source = read(
        ["-"],
        lenient=lenient,
        stdin=io.BytesIO(content),
        on_reject=lambda error: found.append((str(error),)),
    )
    error = ""
    try:
        found.extend(map(shown, each_of(source.batches()) if batches else source))
    except InputError as refusal:
        error = str(refusal)
    return Got(found, [account(each) for each in source.accounts], error)


def same(content: bytes) -> None:
    for lenient in (False, True):
        one = got(content, batches=False, lenient=lenient)
        assert one == got(content, batches=True, lenient=lenient)


@st.composite
def altered(draw: st.DrawFn, line: bytes) -> bytes:
    """A line in which a piece is dropped, doubled, or replaced by a few bytes."""
    begin = draw(st.integers(0, len(line)))
    end = draw(st.integers(begin, min(len(line), begin + 30)))
    piece = line[begin:end]
    other = draw(st.sampled_from((b"", piece * 2, b" ", b":", b'"', b"0", b"\\", b"null", b"}\n{")))
    return line[:begin] + other + line[end:]


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Lines of any form; most are events, and a few are altered."""
    plain = st.sampled_from(EVENTS)
    start = draw(st.integers(0, len(EVENTS) - 1))
    lines = EVENTS[start : start + draw(st.integers(0, 30))]
    for _ in range(draw(st.integers(0, 4))):
        odd = st.one_of(st.sampled_from(ODD), plain.flatmap(altered), st.sampled_from(MARKS))
        line = draw(st.one_of(odd, odd, st.sampled_from(RECORDED)))
        lines.insert(draw(st.integers(0, len(lines))), line)
    return b"\n".join(lines) + draw(st.sampled_from((b"\n", b"", b"\n\n")))


class TestSame:
    @given(files())
    @settings(max_examples=400, deadline=None)
    def test_any_file(self, content: bytes) -> None:
        """Any file gives the same records, lines, errors and accounts by both ways."""
        same(content)

    @pytest.mark.parametrize("line", ODD)
    def test_each_unusual_line(self, line: bytes) -> None:
        """Each unusual line gives the same by itself, and among events."""
        for content in (line + b"\n", line, b"\n".join([*EVENTS[:5], line, *EVENTS[5:9]]) + b"\n"):
            same(content)

    @pytest.mark.parametrize("kind", Kind)
    def test_each_field_of_each_kind(self, kind: Kind) -> None:
        """Each kind has, needs and refuses the same fields by both ways."""
        needs = {name: EVENT_ENCODER.encode(value) for name, value in NEEDS.items()}
        for field in FIELDS[1:]:
            for value in (b"null", b'"a"', b"3", b"false", b"true", b"[]", b"[4]"):
                fields = {**{n: v for n, v in needs.items() if n in required_of(kind)}}
                fields[field] = value
                pairs = b",".join(b'"%s":%s' % (n.encode(), v) for n, v in fields.items())
                same(b'{"kind":"%s",%s}\n' % (kind.encode(), pairs))

    @given(st.data())
    @settings(max_examples=300, deadline=None)
    def test_lists_and_texts(self, data: st.DataObject) -> None:
        """Lists that do not match or list a number twice, and texts that do not parse, are refused
        by both ways, among lines that are not.
        """
        numbers = st.lists(st.integers(0, 3), max_size=3)
        texts = {
            "predicate": (PREDICATE, "leading_prefix_at_least(02)", "leading_prefix_at_least", ""),
            "duration": ("15 s", "15", "60 steps", "s"),
        }
        lines = []
        for _ in range(data.draw(st.integers(1, 4))):
            kind = data.draw(st.sampled_from(Kind))
            fields: dict[str, Any] = {"kind": kind, **{n: NEEDS[n] for n in required_of(kind)}}
            has = {"predicate", *fields_of(kind)}
            for name in sorted(has & {"block_ids", "positions"}):
                fields[name] = data.draw(numbers)
            for name in sorted(has & texts.keys()):
                if data.draw(st.booleans()):
                    fields[name] = data.draw(st.sampled_from(texts[name]))
            lines.append(EVENT_ENCODER.encode(fields))
        same(b"\n".join(lines) + b"\n")

    def test_a_sample_of_each_dialect(self) -> None:
        """The samples give the same, also one after another in a file."""
        whole = b"".join(
            sample(name).read_bytes()
            for name in ("hard_protected_refusal", "allocator_refusal", "hard_protected_victim")
        )
        same(whole)
        same(gzip.compress(whole))
        same(gzip.compress(whole)[:-100])

    def test_a_line_that_is_too_long(self) -> None:
        """A line over the limit is refused in its place, and the lines after it are numbered."""
        long = b'{"kind":"block_lost","object_id":"' + b"x" * LINE_LIMIT + b'"}'
        for lines in ([long], [EVENTS[0], long, EVENTS[1]], [long, long], [EVENTS[0], long * 3]):
            same(b"\n".join(lines))
            same(b"\n".join(lines) + b"\n")

    def test_a_report_that_a_dialect_holds_back(self) -> None:
        """A record that is held back comes before the event after it, which is of its stream."""
        lines = sample("allocator_refusal").read_bytes().splitlines()
        held = next(line for line in lines if b'"resident_claim_materialized"' in line)
        event = b'{"kind":"block_lost","stream":"sample:allocator"}'
        for lines in ([held, event], [EVENTS[0], held, event, EVENTS[1]], [event, held, event]):
            same(b"\n".join(lines))


class TestBatches:
    def test_plain_lines_are_read_many_at_once(self) -> None:
        """A file of plain lines is a few batches, however its keys are ordered and spaced."""
        spaced = [line.replace(b'":', b'": ').replace(b',"', b', "') for line in EVENTS]
        for lines in (EVENTS, spaced):
            source = read(["-"], stdin=io.BytesIO(b"\n".join(lines * 20)))
            found = list(source.batches())
            assert all(isinstance(each, Batch) for each in found)
            assert len(found) < len(lines) / 10
            assert len(lines) * 20 == source.accounts[0].lines

    def test_one_odd_line_costs_its_batch_alone(self) -> None:
        """Around a mark the lines are still read as batches."""
        content = b"\n".join([MARKS[0], *EVENTS, MARKS[1]])
        first, batch, last = read(["-"], stdin=io.BytesIO(content)).batches()
        assert isinstance(batch, Batch)
        assert list(range(2, len(EVENTS) + 2)) == list(batch.lines)
        assert (Record, Record) == (type(first), type(last))


class TestRuns:
    @given(
        st.lists(
            st.tuples(
                st.sampled_from((1, 1, 1, 1, 1, 0, 2, None)),
                st.sampled_from((0, 0, 3, 3, 3, -1, None)),
                st.sampled_from("aaaaaaaaab"),
            ),
            min_size=1,
            max_size=6,
        ),
        st.sampled_from((0, 7, None)),
    )
    @settings(max_examples=400, deadline=None)
    def test_nothing_is_missing(
        self, steps: list[tuple[int | None, int | None, str]], number: int | None
    ) -> None:
        """Events are a run if they are of one stream, each with the next number and no earlier time
        than the one before; each has its place, be they a run or not.
        """
        sequence, time_ns, lines = number, 50, []
        for by, later, stream in steps:
            at = None if sequence is None or by is None else sequence
            then = None if later is None else time_ns + later
            event = Event(kind=Kind.BLOCK_LOST, stream=stream, sequence=at, time_ns=then)
            lines.append(EVENT_ENCODER.encode(event))
            sequence = None if sequence is None or by is None else sequence + by
            time_ns = time_ns if then is None else then
        events = [event for event in map(event_of, lines) if event is not None]
        assert len(lines) == len(events)
        places, run = run_of(Batch("f", range(3, 3 + len(events)), events))
        assert [at_line("f", 3 + i, event.sequence) for i, event in enumerate(events)] == places
        numbers = [event.sequence for event in events]
        times = [event.time_ns for event in events]
        in_order = (
            None not in numbers
            and None not in times
            and all(a + 1 == b for a, b in pairwise(numbers))
            and all(a <= b for a, b in pairwise(times))
            and len({event.stream for event in events}) == 1
        )
        assert in_order == (run is not None)
        if run is not None:
            assert ("f", events[0].stream, events, places) == run

    def test_a_stream_without_a_name(self) -> None:
        """Its name is that of the file."""
        event = event_of(b'{"kind":"block_lost","sequence":0,"time_ns":0}')
        assert event is not None
        _, run = run_of(Batch("f", [1], [event]))
        assert run is not None
        assert "f" == run.stream
