"""Events given as Python objects are checked as lines are."""

from __future__ import annotations

import json
from collections import Counter, deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.input.dialects import Reader
from monitor.input.errors import InputError
from monitor.input.given import record_of
from monitor.input.lines import LINE_LIMIT
from monitor.input.plain import form_of
from monitor.input.records import Record, Stamp, at_line
from spec.claims.states import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import CapacityProof, Event, Mark, StreamMark
from spec.events.fields import FIELDS, STAMP, fields_of, required_of

NAMES = [name for name in FIELDS if name != "kind"]
STRANGE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from(["", "nope"]),
    st.lists(st.integers(-1, 9), max_size=3),
    st.lists(st.sampled_from(["a", "b", ""]), max_size=2),
)
UNREADABLE = st.one_of(
    st.floats(),
    st.binary(max_size=3),
    st.uuids(),
    st.decimals(),
    st.dates(),
    st.tuples(st.one_of(st.booleans(), st.floats(), st.integers())),
    st.sampled_from([{1, 2}, {"a": 1}, "\ud800", Mode.EXPIRING, "1" * 600_000, object()]),
)


class Words(Enum):
    """Texts and numbers that are none."""

    KIND = "block_cached"
    TEXT = "a"
    MODE = "expiring"
    TWO = 2


class Word(str):
    """A text of another class."""

    __slots__ = ()


class Number(int):
    """A number of another class."""


class Two(IntEnum):
    """A number."""

    TWO = 2


class Odd(str, Enum):  # noqa: UP042  # whose value would be its text
    """A text whose value is another one."""

    WORD = "a"

    def __new__(cls, value: str) -> Odd:
        """Differ from the value."""
        made = str.__new__(cls, f"not {value}")
        made._value_ = value
        return made


class Loud(bytes):
    """Bytes that cannot be compared."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    __hash__ = bytes.__hash__


class Twice(NamedTuple):
    """A tuple of another class."""

    one: int
    two: int


@dataclass
class Proof:
    """What a capacity proof has, in another class."""

    resident: int = 1
    active: int = 2
    total: int = 3
    usable: int = 2
    shortfall: int = 1


HOSTILE: tuple[object, ...] = (
    *(None, True, False, 0, 2, -1, 2.0, 2.5, float("nan"), 2**53 + 1, 2**63, 2**64),
    *("", "a", "\ud800", "\u202e", "x" * 1_025, b"YQ==", bytearray(b"a"), memoryview(b"a")),
    *(Word("a"), Number(2), Two.TWO, *Words, Mode.EXPIRING, Kind.BLOCK_CACHED, Mark.STREAM_OPENED),
    *(Odd.WORD, (Odd.WORD,), Loud(b"YQ=="), (Loud(b"YQ=="),), Twice(1, 2), Proof(), float("inf")),
    *(2**70, (2**70, "a"), -(2**70), ("\ud800",), (float("nan"),), (Number(1), Number(2)), 1e300),
    *(Decimal(2), UUID(int=2), date(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC), timedelta(2)),
    *([], [1, 2], (1, 2), (2, 2), (1.0, 2), (True,), {1, 2}, frozenset({1}), deque([1, 2])),
    *(("a", "b"), (Word("a"),), (b"a",), (Words.TWO,), (Two.TWO,), (None,), ((1,),), {}, {"a": 1}),
    *(CapacityProof(resident=1, active=2, total=3, usable=2, shortfall=1), object(), int, len),
    CapacityProof(resident=1.0, active=True, total=3, usable=2, shortfall=1),  # type: ignore[arg-type]
)
"""What may stand in a field of an object, but not in one of a line; and what may."""

LISTS: dict[str, list[Any]] = {
    "block_ids": [1, 2],
    "positions": [0, 1],
    "keys": [7, "k"],
    "content_keys": ["k", "k"],
}
FITTING: dict[str, Any] = {
    "predicate": "leading_prefix_at_least(2)",
    "mode": "hard_protected",
    "duration": "15 s",
    "blocking_claim_ids": ["a", "b"],
    "proof": {"resident": 1, "active": 2, "total": 3, "usable": 2, "shortfall": 1},
    "capacity": {"resident": 1, "active": 2, "total": 3, "usable": 2, "shortfall": 1},
    "observes": ["block_cached"],
    **dict.fromkeys(("found", "restore", "duplicate", "echo", "from_tier", "hit"), True),
    **LISTS,
}
COUNTS = {"sequence", "time_ns", "priority", "lowest_priority", "group", "cost"} | {
    name for name, (unit, _) in FIELDS.items() if "list" not in unit and "block" in unit
}


def fitting(kind: Kind | Mark) -> dict[str, Any]:
    """A line of a kind with each field that the kind has."""
    own = (*required_of(kind), *fields_of(kind)) if isinstance(kind, Kind) else ()
    opening = ("observes",) if kind is Mark.STREAM_OPENED else ()
    return {"kind": str(kind)} | {
        name: FITTING.get(name, 3 if name in COUNTS else "a") for name in (*own, *opening)
    }


@st.composite
def lines(draw: st.DrawFn) -> dict[str, Any]:
    """A line whose fields fit, or do not quite: some left out, some changed, some added."""
    line = fitting(draw(st.sampled_from([*Kind, *Mark])))
    for name in draw(st.sets(st.sampled_from(sorted(line)), max_size=1)) - {"kind"}:
        del line[name]
    for _ in range(draw(st.integers(0, 2))):
        line[draw(st.sampled_from(["kind", "blocks", *line, *NAMES]))] = draw(STRANGE)
    return line


def _fed(event: Event, file: str, line: int) -> Record:
    """The record of an event as it is fed."""
    if (form := form_of(event)) is None:
        return record_of(event, file, line)
    at = at_line(file, line, form.sequence)
    return Record(at, Stamp(form.stream or file, form.sequence, form.time_ns), ((form, at),))


def _unfolded(outcome: object) -> object:
    """A record with each attribute that its event has."""
    if not isinstance(outcome, Record):
        return outcome
    ((event, at),) = outcome.events or ((None, None),)
    names = (*Event.__struct_fields__, "accused")
    return outcome.at, outcome.stamp, at, event and [getattr(event, name) for name in names]


class TestRecordOf:
    @pytest.mark.parametrize("kind", [*Kind, *Mark])
    def test_fitting(self, kind: Kind | Mark) -> None:
        """A line of each kind, with all of its fields, is taken."""
        record = record_of(fitting(kind), "f", 1)

        assert kind == (record.stamp.mark or record.events[0][0].kind)

    def test_both_ways(self) -> None:
        """Of the lines that are drawn here many are taken and many refused."""
        found: Counter[str] = Counter()

        @settings(max_examples=200, database=None, derandomize=True)
        @given(lines())
        def look(line: dict[str, Any]) -> None:
            found[type(_outcome(lambda: record_of(line, "f", 1))).__name__] += 1

        look()

        assert min(found["Record"], found["_Refused"]) > 20

    @given(lines())
    def test_as_the_reader(self, line: dict[str, Any]) -> None:
        """A mapping becomes what its line becomes, or is refused with the same words."""
        read = _outcome(lambda: Reader("f").feed(json.dumps(line).encode(), 7)[0])

        assert read == _outcome(lambda: record_of(line, "f", 7))

    @given(lines())
    def test_event(self, line: dict[str, Any]) -> None:
        """An event that was read is given again as it was."""
        try:
            record = record_of(line, "f", 1)
        except InputError:
            return
        for event, _ in record.events:
            assert record == record_of(event, "f", 1)

    @given(lines(), st.sampled_from(NAMES), st.one_of(STRANGE, UNREADABLE))
    def test_fed(self, line: dict[str, Any], name: str, strange: object) -> None:
        """An event that is fed becomes what it becomes where it is written as a line and read,
        whatever stands in a field, or is refused with the same words.
        """
        known = {field: value for field, value in line.items() if hasattr(Event, field)}
        for changed in (known, {**known, name: strange}):
            event = Event(**changed)
            read = _outcome(lambda event=event: record_of(event, "f", 7))  # type: ignore[misc]
            fed = _outcome(lambda event=event: _fed(event, "f", 7))  # type: ignore[misc]
            assert _unfolded(read) == _unfolded(fed)

    @pytest.mark.parametrize("kind", Kind)
    def test_hostile(self, kind: Kind) -> None:
        """Whatever stands in a field of an event of any kind, it is taken as its line would be."""
        fields = {name: tuple(v) if isinstance(v, list) else v for name, v in fitting(kind).items()}
        taken = 0
        for name in Event.__struct_fields__:
            for value in HOSTILE if name in fields or name in STAMP else HOSTILE[::9]:
                event = Event(**{**fields, name: value})
                read = _outcome(lambda event=event: record_of(event, "f", 7))  # type: ignore[misc]
                fed = _outcome(lambda event=event: _fed(event, "f", 7))  # type: ignore[misc]
                assert _unfolded(read) == _unfolded(fed), (name, value)
                taken += isinstance(fed, Record)
        assert taken > 20

    def test_fed_in_short(self) -> None:
        """An event of each kind is taken without being written as the slow way writes it."""
        for kind in Kind:
            fields = {n: tuple(v) if isinstance(v, list) else v for n, v in fitting(kind).items()}
            for name in {"proof", "capacity"} & fields.keys():
                fields[name] = CapacityProof(**fields[name])
            event = form_of(Event(**fields))
            assert type(event).__name__ == kind

    def test_nothing_is_something(self) -> None:
        """A count of 0 is not one that was left out."""
        found = Event(kind=Kind.PREFIX_LOOKUP, claim_id="a", request_id="r", held=0)

        ((event, _),) = record_of(found, "f", 1).events

        assert 0 == event.held

    def test_mark(self) -> None:
        """A mark is a record without events."""
        mark = StreamMark(kind=Mark.STREAM_OPENED, sequence=0, observes=("block_cached",))

        record = record_of(mark, "f", 1)

        assert ((), Mark.STREAM_OPENED) == (record.events, record.stamp.mark)
        assert frozenset({Kind.BLOCK_CACHED}) == record.stamp.observes

    def test_proof(self) -> None:
        """A capacity proof may be given as what it is."""
        proof = CapacityProof(resident=3, active=2, total=5, usable=4, shortfall=1)
        refusal = Event(
            kind=Kind.REQUEST_REFUSED, request_id="r", blocking_claim_ids=("a",), proof=proof
        )

        ((event, _),) = record_of(refusal, "f", 1).events

        assert refusal == event

    @pytest.mark.parametrize(
        ("wrong", "says"),
        [
            ({"block_ids": {1, 2}}, "JSON has no type set"),
            ({"priority": float("nan")}, "Out of range float values"),
            ({"claim_id": "\ud800"}, "that UTF-8 cannot"),
            ({"claim_id": b"a"}, "JSON has no type bytes"),
            ({"claim_id": "a" * LINE_LIMIT}, "the line is longer than 8388608 bytes"),
            ({1: 2}, "1: no such field"),
        ],
    )
    def test_no_json(self, wrong: dict[Any, Any], says: str) -> None:
        """What no line can hold is refused: a set has no order, and null would hide a NaN."""
        with pytest.raises(InputError, match=says):
            record_of({"kind": "block_evicted", "block_ids": [1], **wrong}, "f", 1)

    def test_unbounded(self) -> None:
        """What contains itself, or is nested without end, is refused."""
        own: list[object] = []
        own.append(own)
        deep: object = 1
        for _ in range(100_000):
            deep = [deep]
        for value in (own, deep):
            with pytest.raises(InputError, match="cannot be written as JSON"):
                record_of({"kind": "block_evicted", "block_ids": value}, "f", 1)

    def test_not_checked_before(self) -> None:
        """msgspec makes an Event of anything, and it is refused here."""
        two = Event(kind=Kind.BLOCK_CACHED, claim_id="a", block_ids=(1, 2), positions=(0,))

        with pytest.raises(InputError, match="1 positions for 2 blocks"):
            record_of(two, "f", 1)


@dataclass(frozen=True)
class _Refused:
    text: str


def _outcome(make: Any) -> Record | _Refused:
    try:
        record: Record = make()
    except InputError as error:
        return _Refused(str(error))
    return record
