"""Where more claims or requests are there than are followed, less is concluded, and never more."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.check.events import EventMonitor
from monitor.check.judging import Judging
from monitor.check.whole import Asked
from monitor.report.verdict import Report
from monitor.stream.keep import Keep
from spec.claims.claim import Mode
from spec.contract.modes import Bundle
from spec.language.errors import SpecError
from tests.monitor.input.test_resequencer import records_of
from tests.monitor.test_trace_writer import KEPT
from tests.streams.strategies import Stamped, streams

SETTLED = {"satisfied", "violated"}


def judged(events: list[Stamped], mode: Mode, keep: Keep) -> Report:
    """The report on claims that state a mode."""
    asked = Asked(Bundle.CONTRACT, strict=False, claim=None)
    judging = Judging(asked, {mode}, own=True, keep=keep)
    for record in records_of(events, mode):
        judging.take(record)
    return judging.report([])


def verdicts(report: Report) -> dict[tuple[str, str], str]:
    return {
        (claim.claim_id, name): str(found.verdict)
        for claim in report.claims
        if claim.declared_mode is not None
        for name, found in claim.obligations.items()
    }


class TestLimits:
    @settings(deadline=None)
    @given(streams(), st.sampled_from(list(Mode)), st.integers(0, 2), st.integers(0, 2))
    def test_never_more(self, events: list[Stamped], mode: Mode, live: int, requests: int) -> None:
        """What is concluded within limits is so without them; beyond them the whole is open."""
        whole = judged(events, mode, Keep())
        limited = judged(events, mode, Keep(live=live, requests=requests))
        truth = verdicts(whole)
        wrong = {
            name: (truth.get(name), verdict)
            for name, verdict in verdicts(limited).items()
            if verdict in SETTLED and truth.get(name) not in (verdict, "inconclusive")
        }
        assert {} == wrong
        if "left out" in limited.why:
            assert "inconclusive" == limited.verdict

    def test_within(self) -> None:
        """Within the limits nothing changes."""
        monitor, limited = EventMonitor(), EventMonitor(live=1, requests=1)
        for event in KEPT:
            monitor.feed(event)
            limited.feed(event)
        assert monitor.finish() == limited.finish()

    def test_beyond(self) -> None:
        """An event about a claim too many is left out, and counted in the verdict."""
        monitor = EventMonitor("hard_protected", live=0)
        for event in KEPT:
            monitor.feed(event)
        report = monitor.finish()
        assert "inconclusive" == report.verdict
        assert report.why.endswith("left out: more claims or requests than are followed")

    def test_no_number(self) -> None:
        """A limit is a number."""
        with pytest.raises(SpecError, match="live"):
            EventMonitor(live="many")  # type: ignore[arg-type]
