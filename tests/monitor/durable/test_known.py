"""The table of a snapshot has each class and field that a state consists of, and no other class."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import msgspec
import pytest

from monitor.check import snapshots
from monitor.check.events import EventMonitor
from monitor.check.snapshots import KNOWN
from monitor.durable.frame import CorruptSnapshot, ForeignSnapshot, unframed
from monitor.durable.known import Known, name_of
from monitor.durable.nodes import Nodes
from monitor.durable.reader import read
from monitor.durable.state import STATE
from monitor.durable.writer import written
from monitor.engine import Monitor
from monitor.input.errors import InputError
from monitor.input.records import Form
from monitor.input.resequencer import Disorder
from monitor.stream.keep import Keep
from spec.claims.claim import Mode
from spec.projection.lines import Line
from tests.differential.compare import record
from tests.monitor.durable.test_going_on import chained
from tests.streams.edited import edited
from tests.streams.wide import told

TRIES = 6


class Plain:
    """A class that declares its fields by assigning them."""

    def __init__(self, value: object = None) -> None:
        self.value, self.other = value, self


@dataclass(eq=False, slots=True)
class Slotted:
    """A class that declares its fields as a dataclass."""

    value: object = None


class Made:
    """A class that makes a part anew whenever that is read, as a compiled one does with pairs."""

    OPENED = ("pair",)

    def __init__(self, number: int) -> None:
        self.number = number

    @property
    def pair(self) -> tuple[int, str]:
        return self.number, "text"

    @pair.setter
    def pair(self, pair: tuple[int, str]) -> None:
        self.number = pair[0]


def lives(mode: Mode) -> Iterator[set[str]]:
    """The classes that occur in the states of one mode."""
    for seed in range(TRIES):
        chance = Random(seed)
        for lines in (chained(chance), edited(chance, mode), told(chance, mode)):
            monitor = Monitor(mode, keep=Keep(ended=1, records=1))
            for line in (*lines, Line(len(lines) + 1, skips=True)):
                monitor.take(record(line))
                if line.at % 8 == 0 or line.skips:
                    yield names(written(STATE, monitor))


def names(data: bytes) -> set[str]:
    return {name for name, _ in msgspec.msgpack.decode(data, type=Nodes).shapes}


def found(monitor: EventMonitor) -> list[dict[str, Any]]:
    return [judged.findings for judged in monitor._judging.standing()]


def copied(value: Any, *kinds: type) -> Any:
    """A value written and read by a table of these classes."""
    known = Known(kinds)
    return read(known, written(known, value), type(value))


class TestState:
    def test_every_class(self) -> None:
        """All that occurs in the states of streams of all kinds is in the table, and all that is in
        it occurs: a class that is added to the state, or taken from it, has to be so here."""
        monitor = EventMonitor()
        with pytest.raises(InputError):
            monitor.feed({"kind": "claim_registred"})
        stated = {
            "object_id": "o",
            "cache_identity": "m",
            "predicate": "leading_prefix_at_least(2)",
        }
        monitor.feed({"kind": "claim_registered", "claim_id": "claim:a", **stated})
        for name in ("claim:b", "claim:c"):  # two claims on one object are counted together
            for kind in ("claim_committed", "claim_accepted"):
                monitor.feed({"kind": kind, "claim_id": name, **stated, "footprint": 2})
        monitor.feed({"kind": "prefix_lookup", "request_id": "r", "object_id": "o", "held": 0})
        monitor.account.disorder = Disorder(late=1)  # as one who puts lines in order counts them
        found = names(unframed("snapshot", monitor.snapshot()))
        for mode in Mode:
            found = found.union(*lives(mode))

        assert sorted({*KNOWN.shapes, *KNOWN.remade}) == sorted(found)

    def test_one_canonical_form(self) -> None:
        """The canonical form is compared by identity, and is the same object again."""
        monitor = EventMonitor("hard_protected")
        monitor.feed({"kind": "request_finished", "request_id": "r"})
        state = snapshots.restored(monitor.snapshot())
        (judge,) = state.judging._judges
        (stream,) = judge.monitor._streams.values()

        assert stream.order._form is snapshots.STATE.constants["canonical"]

    def test_same_findings(self) -> None:
        """What is found, with the events that it names, is so again; of a claim that states no
        mode each of several monitors says it."""
        claim, monitor = {"claim_id": "c"}, EventMonitor()
        about = {"object_id": "o", "cache_identity": "m", "owner_scope": "t"}
        about["predicate"] = "leading_prefix_at_least(1)"
        monitor.feed({"kind": "claim_registered", **claim, **about, "time_ns": 1})
        blocks = {"block_ids": [3, 4, 5], "positions": [0, 1, 2]}
        monitor.feed({"kind": "block_cached", **claim, **blocks, "time_ns": 1})
        monitor.feed({"kind": "claim_materialized", **claim, "time_ns": 1})
        restored = EventMonitor.restore(monitor.snapshot())

        assert found(monitor) == found(restored)


class TestKnown:
    def test_shared(self) -> None:
        """What is shared stays so, cycles too; what is equal and apart stays apart."""
        both = [[], Slotted()]
        plain = copied(Plain([both, both, [[], None]]), Plain, Slotted)

        assert plain.other is plain
        assert plain.value[0] is plain.value[1]
        assert plain.value[0][0] is not plain.value[2][0]

    def test_made_when_read(self) -> None:
        """A part that is made when it is read is never taken for one that was written before."""
        found = copied([Made(number) for number in range(100)], Made)

        assert [(number, "text") for number in range(100)] == [each.pair for each in found]

    @pytest.mark.parametrize(
        "value",
        [
            [None, True, False, 0, -1, 1.5, float("inf"), "", "ü", b"", b"\x00\xff"],
            [1 << 63, -(1 << 63), 1 << 64, -(1 << 64), 1 << 4000, -(1 << 63) - 1],
            ["\ud800", "\udcff.jsonl", "a\x00b"],
            [(), (1,), ((1, "a"), frozenset({"b"})), {1, 2}, {(2, b"c")}, set(), frozenset()],
            [{"a": {1: [2]}, (1, 2): None}, {}, Counter("abca"), deque([1, 2], 5), deque([3])],
            [bytearray(b"abc"), bytearray()],
        ],
    )
    def test_values(self, value: list[Any]) -> None:
        """Values of built-in types come back as they were."""
        found = copied(value)

        assert repr(value) == repr(found)
        assert [type(each) for each in value] == [type(each) for each in found]
        assert [each.maxlen for each in value if isinstance(each, deque)] == [
            each.maxlen for each in found if isinstance(each, deque)
        ]

    def test_deep(self) -> None:
        """What leads on and on through objects is written and read without recursion."""
        chain = Slotted()
        for _ in range(20_000):
            chain = Slotted(chain)
        found, length = copied(chain, Slotted), 0
        while (found := found.value) is not None:
            length += 1

        assert 20_000 == length

    @pytest.mark.parametrize("value", [Slotted(), OrderedDict(), object(), len, Form, range(3)])
    def test_unknown_class(self, value: object) -> None:
        """A class that is not in the table is an error of the program, when it is written."""
        with pytest.raises(TypeError, match="it is not in the table"):
            written(Known(()), [value])

    def test_unknown_field(self) -> None:
        """So is a field that the class does not declare."""
        plain = Plain()
        plain.more = 1  # type: ignore[attr-defined]

        with pytest.raises(TypeError, match=r"Plain\.more: not declared"):
            written(Known((Plain,)), plain)

    def test_missing_field(self) -> None:
        """So is a declared field that an object does not have."""
        plain = Plain()
        del plain.value

        with pytest.raises(AttributeError):
            written(Known((Plain,)), plain)

    def test_other_fields(self) -> None:
        """State in another form than this release has it is refused, and not half understood."""
        data = msgspec.msgpack.decode(written(Known((Slotted,)), Slotted()), type=Nodes)
        data.shapes[0] = (name_of(Slotted), ["value", "more"])

        with pytest.raises(ForeignSnapshot, match="another form of"):
            read(Known((Slotted,)), msgspec.msgpack.encode(data), Slotted)

    def test_another_thing(self) -> None:
        """A whole snapshot of another thing is no snapshot of this one."""
        with pytest.raises(CorruptSnapshot, match="another thing than a Slotted"):
            read(Known((Slotted,)), written(Known(()), [1]), Slotted)
