"""The monitor and the naive projection on streams of a whole runtime, honest and not."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from monitor.engine import Monitor
from monitor.records import At, Record, Stamp
from spec.claims import Mode
from spec.projection.lines import Line
from spec.projection.naive import Naive
from spec.projection.outcome import outcome_of
from spec.verdicts import Verdict
from tests.differential import of_monitor, of_naive
from tests.streams_wide import told

STREAMS = 60
"""Of each mode and each kind."""

KEPT = 30
"""The least share of honest streams that are kept, in percent."""


def record(line: Line) -> Record:
    """The line as the monitor takes it."""
    at = At("run", line.at, line.sequence)
    stamp = Stamp("run", line.sequence, line.time_ns, mark=line.mark, observes=line.observes)
    return Record(at, stamp, tuple((event, at) for event in line.events))


def judged(lines: list[Line], mode: Mode) -> tuple[Monitor, Naive]:
    """Both, after the stream."""
    monitor, naive = Monitor(mode), Naive(lines, mode)
    for line in lines:
        monitor.take(record(line))
    for _ in naive:
        pass
    naive.finish()
    return monitor, naive


@pytest.mark.parametrize("mode", Mode)
class TestWide:
    def test_honest(self, mode: Mode) -> None:
        """An honest runtime is accused by neither, and many of its streams are kept."""
        found = Counter[str]()
        for seed in range(STREAMS):
            monitor, naive = judged(told(Random(seed), mode, lies=0), mode)
            concluded = monitor.conclude()
            assert concluded.verdict.value != "violated", (seed, concluded.why)
            assert outcome_of(naive).verdict is not Verdict.VIOLATED, seed
            found[concluded.verdict.value] += 1
        assert STREAMS * KEPT <= 100 * found["kept"]

    def test_dishonest(self, mode: Mode) -> None:
        """Of one that is not, neither holds broken what the other holds kept; some is broken."""
        broken = 0
        for seed in range(STREAMS):
            monitor, naive = judged(told(Random(seed), mode), mode)
            fast, slow = of_monitor(monitor), of_naive(naive)
            for claim in fast.keys() & slow.keys():
                for name in fast[claim]:
                    both = {fast[claim][name], slow[claim][name]}
                    assert both != {Verdict.SATISFIED, Verdict.VIOLATED}, (seed, claim, name)
                    broken += both == {Verdict.VIOLATED}
        assert broken
