"""Where more claims or requests are there than are followed, less is concluded, and never more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.check.conclude import Asked, concluded, found_in
from monitor.check.events import EventMonitor
from monitor.core import Streams
from monitor.report.verdict import Report
from spec.claims.states import Mode
from spec.language.errors import SpecError
from spec.stream.breaks import Limits
from tests.monitor.input.test_resequencer import records_of
from tests.monitor.test_trace_writer import KEPT
from tests.streams.strategies import Stamped, streams

SETTLED = {"satisfied", "violated"}


def judged(events: list[Stamped], mode: Mode, limits: Limits) -> Report:
    """The report on claims that state a mode."""
    judges = Streams(limits=limits)
    for record in records_of(events, mode):
        judges.take(record)
    judges.finish()
    return concluded(Asked(None), found_in(judges, []))


def verdicts(report: Report) -> dict[tuple[str, str, int], str]:
    return {
        (claim.claim_id, name, claim.period): str(found.verdict)
        for claim in report.claims
        if claim.declared_mode is not None
        for name, found in claim.obligations.items()
    }


class TestLimits:
    @given(streams(), st.sampled_from(list(Mode)), st.integers(0, 2), st.integers(0, 2))
    def test_never_more(self, events: list[Stamped], mode: Mode, live: int, requests: int) -> None:
        """What is concluded within limits is so without them; beyond them the whole is open."""
        whole = judged(events, mode, Limits())
        limited = judged(events, mode, Limits(live=live, requests=requests))
        truth = verdicts(whole)
        wrong = {
            name: (truth.get(name), verdict)
            for name, verdict in verdicts(limited).items()
            if verdict in SETTLED and truth.get(name) not in (verdict, "inconclusive")
        }
        assert {} == wrong
        if any(each.reason in {"claims-limit", "requests-limit"} for each in limited.breaks):
            assert "kept" != limited.verdict

    def test_within(self) -> None:
        """Within the limits nothing changes."""
        monitor, limited = EventMonitor(), EventMonitor(live=1, requests=1)
        for event in KEPT:
            monitor.feed(event)
            limited.feed(event)
        assert monitor.finish() == limited.finish()

    def test_beyond(self) -> None:
        """One claim too many breaks the stream, and the verdict says so."""
        monitor = EventMonitor("hard_protected", live=0)
        for event in KEPT:
            monitor.feed(event)
        report = monitor.finish()
        assert "inconclusive" == report.verdict
        (found,) = report.breaks
        assert ("RC104", "claims-limit") == (found.code, found.reason)

    def test_no_number(self) -> None:
        """A limit is a number."""
        with pytest.raises(SpecError, match="live"):
            EventMonitor(live="many")  # type: ignore[arg-type]
