"""Claims that stand alike are judged as each is by itself, whatever the stream and the modes."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from monitor.check.claim_table import tabulated
from monitor.engine import ClaimVerdict, Monitor
from monitor.evaluate.alike import PlacedFindings
from monitor.input.records import Record, Stamp, at_line
from monitor.report.verdict import ObligationReport, Place
from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.language.verdicts import pool
from tests.streams.traffic import Traffic, as_events
from tests.streams.wide import told

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from monitor.evaluate.observer_state import Finding

EVERY = tuple(Mode)


def records(events: Iterable[Event], file: str = "f") -> Iterator[Record]:
    for number, event in enumerate(events, 1):
        at = at_line(file, number, event.sequence)
        yield Record(at, Stamp("run", event.sequence, event.time_ns), ((event, at),))


def records_of(seed: int, mode: Mode) -> Iterator[Record]:
    """Another stream for each seed: of honest traffic, or of any runtime."""
    if seed < 3:
        modes = EVERY if seed == 2 else (mode,)
        yield from records(as_events(Traffic(300, 3, modes, shared=seed == 1, narrow=True)))
        return
    for line in told(Random(f"{mode} {seed}"), mode):
        at = at_line("f", line.at, line.sequence)
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


@pytest.mark.parametrize("own", [False, True])
def test_no_mode_is_stated(own: bool) -> None:
    """Claims that state no mode are judged by the mode that is asked for, and by none where each is
    judged by its own.
    """
    events = [replace(event, mode=None) for event in as_events(Traffic(300, 3))]
    monitor = Monitor(Mode.OFFLOADABLE, own=own)
    for record in records(events):
        monitor.take(record)
    claims = monitor.conclude().claims
    assert len(claims) > 10
    assert {own} == {each.unclear for each in claims}
    assert [plain(monitor.judge("f", each.claim)) for each in claims] == [*map(plain, claims)]


def test_two_modes_are_stated() -> None:
    """Where no claim entered, a claim of which it is unclear by which mode it goes is not one of
    another mode.
    """
    asked, accepted = str(Mode.HARD_PROTECTED), str(Mode.OFFLOADABLE)
    events = [
        Event(kind=Kind.CLAIM_REGISTERED, sequence=0, time_ns=0, claim_id="a", mode=asked),
        Event(kind=Kind.CLAIM_ACCEPTED, sequence=1, time_ns=1, claim_id="a", mode=accepted),
    ]
    for number, own in ((2, False), (2, True), (1, False), (1, True)):
        monitor = Monitor(Mode.EXPIRING, own=own)
        for record in records(events[:number]):
            monitor.take(record)
        others = [] if own and number == 2 else [asked, accepted][:number]
        rest = f" of this mode, only of {', '.join(others)}" if others else ""
        assert f"no accepted claim{rest}" == monitor.conclude().why
