"""Claims that stand alike are judged as each is by itself, whatever the stream and the modes."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from monitor.check.claim_table import tabulated
from monitor.engine import ClaimVerdict, Monitor
from monitor.evaluate.alike import PlacedFindings
from monitor.input.records import At, Record, Stamp
from monitor.report.verdict import ObligationReport, Place
from spec.claims.claim import Mode
from spec.language.verdicts import pool
from tests.streams.traffic import Traffic, as_events
from tests.streams.wide import told

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from monitor.evaluate.observer_state import Finding
    from spec.events.canonical import Event

EVERY = tuple(Mode)


def records(events: Iterable[Event], file: str = "f") -> Iterator[Record]:
    for number, event in enumerate(events, 1):
        at = At(file, number, event.sequence)
        yield Record(at, Stamp("run", event.sequence, event.time_ns), ((event, at),))


def records_of(seed: int, mode: Mode) -> Iterator[Record]:
    """Another stream for each seed: of honest traffic, or of any runtime."""
    if seed < 3:
        modes = EVERY if seed == 2 else (mode,)
        yield from records(as_events(Traffic(300, 3, modes, shared=seed == 1, narrow=True)))
        return
    for line in told(Random(f"{mode} {seed}"), mode):
        at = At("f", line.at, line.sequence)
        stamp = Stamp("run", line.sequence, line.time_ns, mark=line.mark, observes=line.observes)
        yield Record(at, stamp, tuple((event, at) for event in line.events))


def plain(judged: ClaimVerdict) -> tuple[object, ...]:
    shown = judged.claim, judged.entered, judged.verdict, judged.why, judged.other, judged.unclear
    return judged.file, *shown, dict(judged.findings)


def obligation(found: Finding) -> ObligationReport:
    at = found.at
    place = None if at is None else Place(at.file, at.line, at.sequence)
    return ObligationReport(found.verdict, place, found.why, found.allowed)


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("own", [False, True])
def test_each_by_itself(mode: Mode, own: bool) -> None:
    """The verdict and the findings of each claim are those by `judge`, and so is its report."""
    alike = 0
    for seed in range(12):
        monitor = Monitor(mode, own=own)
        for record in records_of(seed, mode):
            monitor.take(record)
        found = monitor.conclude()
        for judged in found.claims:
            assert plain(monitor.judge("f", judged.claim)) == plain(judged)
            alike += isinstance(judged.findings, PlacedFindings)
        reports = tabulated(found.claims).reports(mode)
        for judged, report in zip(found.claims, reports, strict=True):
            assert judged.claim.claim_id == report.claim_id
            assert (judged.verdict, judged.why) == (report.verdict, report.why)
            assert {n: obligation(f) for n, f in judged.findings.items()} == report.obligations
        for name, pooled in found.obligations.items():
            each = (judged.findings[name].verdict for judged in found.claims if judged.judged)
            assert pool(each) == pooled or found.forgotten
    assert alike > 20


def test_they_stay_as_they_were() -> None:
    """A verdict does not change with its claim, though its findings are made when asked for."""
    monitor, events = Monitor(Mode.OFFLOADABLE), list(as_events(Traffic(400, 4)))
    for record in list(records(events))[:350]:
        monitor.take(record)
    first, second = list(monitor.standing()), list(monitor.standing())
    before = [dict(each.findings) for each in first]
    for record in list(records(events))[350:]:
        monitor.take(record)
    assert before == [dict(each.findings) for each in second]
    assert before != [dict(each.findings) for each in monitor.standing()][: len(before)]


@pytest.mark.parametrize("seed", range(3))
def test_one_of_several_modes(seed: int) -> None:
    """Modes that share a pass find the claims of each as a monitor of that mode alone does, and
    one that no claim entered names the others.
    """
    modes = EVERY[seed:]
    events = list(as_events(Traffic(400, 5, (*modes[:3], modes[-1]))))
    first = Monitor(modes[0], own=True, beside=modes[1:])
    for record in records(events):
        first.take(record)
    for mode in modes:
        alone = Monitor(mode, own=True)
        for record in records(events):
            alone.take(record)
        found, expected = first.by(mode).conclude(), alone.conclude()
        assert (expected.verdict, expected.why) == (found.verdict, found.why)
        assert expected.obligations == found.obligations
        own = [(c.claim.claim_id, dict(c.findings)) for c in expected.claims if c.judged]
        assert own == [(c.claim.claim_id, dict(c.findings)) for c in found.claims]
