"""The bench: ratios of pairs, and the monitor that is off for a while."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest

from monitor.live.lines import LiveEnd, LiveLine, LiveVerdict
from runtime_hooks.trace.inline import Inline
from runtime_hooks.trace.journal import Journal, Line
from spec.events.canonical import Event
from tests.bench_pairs import LEAST, in_pairs, ratio
from tests.bench_switch import Switch
from tests.runtime_hooks.tiny import TinyEngine, claim


class TestRatio:
    def test_ranks(self) -> None:
        """Of 200 pairs the interval is from the 86th to the 115th ratio, in order."""
        found = ratio([(2.0, 2.0 * rank) for rank in range(200, 0, -1)])

        assert (100.5, 86, 115, 200) == found

    def test_covers(self) -> None:
        """At least 19 of 20 intervals have the true median, and not much more."""
        chance = Random(0)
        held = 0
        for _ in range(2_000):
            found = ratio([(1.0, chance.lognormvariate(0.1, 0.3)) for _ in range(40)])
            held += found.low <= 1.1051709180756477 <= found.high
        assert 1_900 <= held < 1_960

    def test_least(self) -> None:
        """Six pairs have an interval, and five have none."""
        assert (1, 6) == ratio([(1.0, each) for each in range(1, LEAST + 1)])[1:3]
        with pytest.raises(ValueError, match="5 pairs are too few"):
            ratio([(1.0, 1.0)] * (LEAST - 1))

    def test_in_pairs(self) -> None:
        """Each pair has one round of both, and either may begin."""
        order: list[str] = []

        def first() -> int:
            order.append("first")
            return len(order)

        def second() -> int:
            order.append("second")
            return len(order)

        pairs = list(in_pairs(first, second, 20, Random(0)))

        assert [{2 * turn + 1, 2 * turn + 2} for turn in range(20)] == [*map(set, pairs)]
        assert {"first", "second"} == set(order[::2])


def lines() -> list[Line]:
    """A claim, and 100 requests that use it one after the other."""
    engine = TinyEngine()
    engine.serve("resident", 60, claim())
    for _ in range(100):
        engine.serve("resident", 60)
    return engine.lines()


def last_verdicts(folder: Path, *, switched: bool) -> list[LiveLine]:
    """What the monitor says of a claim in the end; switched off and on meanwhile, if asked."""
    folder.mkdir()
    inline = Inline("tiny", str(folder / "verdicts"), str(folder / "socket"))
    journal = Journal("tiny", [inline], 10_000)
    switch = Switch(journal)
    for number, line in enumerate(lines()):
        if isinstance(line, Event):
            names = set(line.__struct_fields__) - {"kind", "stream", "sequence", "time_ns"}
            fields = {name: getattr(line, name) for name in names}
            journal.write(line.time_ns or 0, line.kind, fields)
        if switched and number % 100 == 0:
            turn = switch.turns
            while switch.turns == turn:  # what is written by now is handed on
                time.sleep(0.01)
            switch.on = not switch.on
    journal.close()
    assert switch.whole
    written = (folder / "verdicts").read_bytes().splitlines()
    return [msgspec.json.decode(line, type=LiveVerdict | LiveEnd) for line in written[-2:]]


class TestSwitch:
    def test_misses_none(self, tmp_path: Path) -> None:
        """A monitor that was off judges the lines of that time, and concludes what it would."""
        expected = last_verdicts(tmp_path / "on", switched=False)

        assert expected == last_verdicts(tmp_path / "switched", switched=True)

    def test_off(self, tmp_path: Path) -> None:
        """While it is off nothing is judged; then it catches up."""
        inline = Inline("tiny", str(tmp_path / "verdicts"), str(tmp_path / "socket"))
        journal = SimpleNamespace(_sinks=[inline], sink=lambda _: inline)
        switch = Switch(cast("Journal", journal))
        switch.on = False
        for line in (taken := lines()):
            switch.take([line])
        judged = [inline._live._read]
        switch.catch_up()
        assert [0, len(taken)] == [*judged, inline._live._read]
        assert switch.whole
        switch.close()
