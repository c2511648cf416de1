"""Plain lines are read fast as what the reader of single lines makes of them."""

from __future__ import annotations

import gzip
import io
from contextlib import nullcontext
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.input import sources
from monitor.input.errors import InputError
from monitor.input.lines import LINE_LIMIT
from monitor.input.records import Account, Record
from monitor.input.sources import Source
from monitor.samples import sample
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import EVENT_ENCODER, Event
from spec.events.fields import fields_of, required_of
from tests.streams.traffic import Traffic, as_events

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


def account(of: Account) -> tuple[Any, ...]:
    return of.file, of.sha256, of.lines, of.rejected, str(of.rejection)


def got(content: bytes, *, plain: bool, lenient: bool) -> Got:
    """What is read of a file, up to the first error, where the reading is not lenient."""
    found: list[tuple[Any, ...]] = []
    source = Source(
        ["-"],
        lenient=lenient,
        stdin=io.BytesIO(content),
        on_reject=lambda error: found.append((str(error),)),
    )
    error = ""
    try:
        with nullcontext() if plain else patch.object(sources, "event_of", lambda line: None):
            found.extend(map(shown, source))
    except InputError as refusal:
        error = str(refusal)
    return Got(found, [account(each) for each in source.accounts], error)


def same(content: bytes) -> None:
    for lenient in (False, True):
        one = got(content, plain=False, lenient=lenient)
        assert one == got(content, plain=True, lenient=lenient)


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
    @settings(max_examples=400)
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
    @settings(max_examples=300)
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
