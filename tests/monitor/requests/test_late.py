"""Requests that ended are followed for a while, because reports about them may come late."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.check.events import EventMonitor
from monitor.check.files import check
from monitor.requests import ledger
from monitor.stream.keep import Keep
from spec.claims.claim import Mode
from spec.contract.modes import Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.contract.observed import resting_on
from spec.events.alphabet import FACTS, REPORTS, Kind
from tests.monitor import test_engine_requests
from tests.monitor.stream.test_limits import SETTLED, judged, verdicts
from tests.monitor.test_trace_writer import KEPT
from tests.monitor.traces import judge
from tests.monitor.traces_canonical import about, canonical
from tests.streams.strategies import Stamped, streams
from tests.streams.traffic import Traffic, write

LIVE = 40


@pytest.fixture(autouse=True)
def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Far fewer are followed than usual."""
    monkeypatch.setattr(ledger, "PAIRS", LIVE // 4)
    monkeypatch.setattr(ledger, "LATE", LIVE // 4)
    monkeypatch.setattr(ledger, "ENDED_REQUESTS", LIVE // 8)


def test_a_crowd_that_is_honest(tmp_path: Path) -> None:
    """Requests that ended do not count as unfinished: claims of all modes that were used by more
    requests than are followed are kept.
    """
    path = write(tmp_path / "stream.jsonl", Traffic(40 * LIVE, LIVE, tuple(Mode)))
    report = check([str(path)], None, Bundle.CONTRACT)
    assert ("kept", "kept") == (report.verdict, max(each.verdict for each in report.modes))


@pytest.mark.interpreted
def test_the_limit_is_the_reason() -> None:
    """Where more are unfinished than are followed, the verdict names that limit."""
    monitor = EventMonitor("hard_protected")
    for event in KEPT[:-1]:
        monitor.feed(event)
    about = {"claim_id": KEPT[0]["claim_id"], "held": 0, "asked": 0}
    for name in map(str, range(LIVE)):
        monitor.feed({"kind": "request_arrived", "request_id": name, "needed": 0, "usable": 99})
        monitor.feed({"kind": "prefix_lookup", "request_id": name, **about})
    report = monitor.finish()
    assert "inconclusive" == report.verdict
    assert report.why.endswith(
        f"; claims have {LIVE // 4} unfinished requests, and no more are tracked"
    )


@pytest.mark.parametrize("past", [100, 0])
@pytest.mark.interpreted
def test_a_report_that_comes_too_late(monkeypatch: pytest.MonkeyPatch, past: int) -> None:
    """A repeated report is harmless while its request is followed; later it proves nothing."""
    failed = [
        about("claim_restore_required", request_id="q"),
        about("load_failed", request_id="q"),
        about("claim_restoration_failed", request_id="q", outcome="harm"),
        about("claim_harmed"),
    ]
    evicted = canonical("block_evicted", block_ids=[100])
    trace = [
        *test_engine_requests.TestForgotten.away,
        evicted,
        *test_engine_requests.request("q", *failed),
        failed[2],
    ]
    monkeypatch.setattr(ledger, "ENDED_REQUESTS", past)
    for late, verdict in ((1, "satisfied"), (0, "inconclusive")):
        monkeypatch.setattr(ledger, "LATE", late)
        found = judge(trace, Mode.OFFLOADABLE)
        assert verdict == found.obligations["restoration_failure_outcome"]


def test_arrivals_that_nobody_observes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request whose arrival is not observed is no late one: what rests on no request stays."""
    observed = sorted(map(str, FACTS - {Kind.REQUEST_ARRIVED}))
    uses = [each for n in range(9) for each in test_engine_requests.request(f"q{n}")]
    opened = {**canonical("stream_opened"), "observes": observed}
    events = [*test_engine_requests.TestForgotten.away, *uses]
    unseen = [event for event in events if event["kind"] != "request_arrived"]
    trace = [opened, *unseen, canonical("stream_closed")]
    found = [judge(trace, Mode.OFFLOADABLE).obligations]
    monkeypatch.setattr(ledger, "ENDED_REQUESTS", 0)
    monkeypatch.setattr(ledger, "LATE", 0)
    found.append(judge(trace, Mode.OFFLOADABLE).obligations)
    assert "satisfied" == found[0]["explicit_acceptance"]
    assert found[0] == found[1]


def test_what_is_judged_for_each_request() -> None:
    """It rests on arrivals, without which nothing of it is concluded anyway."""
    scoped = {each.name for each in OBLIGATIONS.values() if each.per_request}
    assert scoped <= resting_on(Kind.REQUEST_ARRIVED)


@st.composite
def with_late_reports(draw: st.DrawFn) -> list[Stamped]:
    """A stream, and behind it some reports about its requests."""
    events = draw(streams())
    reports = [event for _, event in events if event.kind in REPORTS and event.request_id]
    late = draw(st.lists(st.sampled_from(reports), max_size=4)) if reports else []
    first = events[-1][0] + 1
    return [*events, *enumerate(late, first)]


@settings(deadline=None, max_examples=150)
@given(with_late_reports(), st.sampled_from(list(Mode)), st.integers(0, 2), st.integers(0, 1))
def test_never_more(events: list[Stamped], mode: Mode, late: int, past: int) -> None:
    """What is concluded where few requests that ended are followed is so where all are."""
    with pytest.MonkeyPatch.context() as patched:
        for name in ("PAIRS", "LATE", "ENDED_REQUESTS"):
            patched.setattr(ledger, name, 1_000)
        truth = verdicts(judged(events, mode, Keep()))
        patched.setattr(ledger, "LATE", late)
        patched.setattr(ledger, "ENDED_REQUESTS", past)
        limited = verdicts(judged(events, mode, Keep()))
    wrong = {
        name: (truth.get(name), verdict)
        for name, verdict in limited.items()
        if verdict in SETTLED and truth.get(name) not in (verdict, "inconclusive")
    }
    assert {} == wrong
