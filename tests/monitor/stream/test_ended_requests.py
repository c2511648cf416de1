"""Requests that ended are forgotten: a late report about one makes inconclusive, never more."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.engine import Conclusion, ModeVerdict, Monitor
from monitor.input.records import Record, Stamp, at_line
from monitor.requests import ledger
from monitor.stream.keep import Keep
from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.language.verdicts import Verdict
from tests.monitor.lives import ENDING, WATCHED, ended_lives, failed
from tests.monitor.stream.test_forget import SETTINGS, read, verdicts
from tests.streams.stories import CLAIMS, accepted, at, demoted, filled, finishes, fits
from tests.streams.strategies import Stamped

A = CLAIMS[0]
OFFLOADABLE = Mode.OFFLOADABLE


def conclude(events: list[Event], mode: Mode, keep: Keep) -> Conclusion:
    """The verdict on these events, in which each claim asks for the mode that judges."""
    monitor = Monitor(mode, keep=keep)
    for number, event in enumerate(events):
        place = at_line("f", number + 1, number)
        asked = msgspec.structs.replace(event, mode=event.mode and str(mode))
        monitor.take(Record(place, Stamp("run", number, event.time_ns), ((asked, place),)))
    return monitor.conclude()


class TestSame:
    """The same stream, with its requests remembered and forgotten."""

    @pytest.mark.parametrize("ended_requests", [0, 1])
    def test_conclusion(self, ended_requests: int) -> None:
        """However few are remembered, forgetting makes no verdict but an inconclusive one."""
        seen: Counter[tuple[ModeVerdict, ModeVerdict]] = Counter()

        @SETTINGS
        @given(ended_lives(), st.sampled_from(ENDING), st.sampled_from([0, 1, None]))
        def compare(events: list[Stamped], mode: Mode, ended: int | None) -> None:
            stream = [event for _, event in events]
            whole = conclude(stream, mode, Keep()).verdict
            short = conclude(stream, mode, Keep(ended=ended, ended_requests=ended_requests)).verdict
            assert short in (whole, ModeVerdict.INCONCLUSIVE)
            seen[whole, short] += 1

        compare()
        assert seen[ModeVerdict.VIOLATED, ModeVerdict.VIOLATED] > 10

    @pytest.mark.slow
    @pytest.mark.parametrize("mode", Mode)
    def test_verdicts(self, mode: Mode) -> None:
        """So it is for each obligation of each claim, recalled or in hand, and however few requests
        that ended are followed."""
        forgotten = Counter[str]()

        @SETTINGS
        @given(
            ended_lives(watched=mode in WATCHED),
            st.sampled_from([0, 1, None]),
            st.sampled_from([0, 1, ledger.LATE]),
        )
        def compare(events: list[Stamped], ended: int | None, late: int) -> None:
            keep = Keep(ended=ended, ended_requests=0)
            whole = read(mode, events, None)
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(ledger, "LATE", late)
                short = read(mode, events, keep)
            forgotten["requests"] += short.requests.given_up
            for claim in whole.claims:
                expected = verdicts(whole, claim)
                for name, verdict in verdicts(short, claim).items():
                    assert verdict in (expected[name], Verdict.INCONCLUSIVE)

        compare()
        assert forgotten["requests"] > 3


class TestLate:
    def test_refused_again(self) -> None:
        """A request is refused again for a restore that failed long ago. With the request in mind
        that is known to be so; without it nobody knows whether it failed.
        """
        life = [*accepted(A, ""), *filled(A, ""), *failed(A, "request:1")]
        life += [*finishes(A, "request:1"), *demoted(A, "")]
        others = [event for n in range(3) for event in used(f"request:{n + 5}")]
        again = at(Kind.REQUEST_REFUSED, "request:1", restore=True, blocking_claim_ids=(A,))
        stream = [*life, *others, again]
        found = [
            conclude(stream, OFFLOADABLE, Keep(ended=ended, ended_requests=requests)).verdict
            for ended, requests in ((None, 9), (0, 9), (0, 1))
        ]
        assert ModeVerdict.INCONCLUSIVE is found[2]
        assert {found[0]} >= {*found} - {ModeVerdict.INCONCLUSIVE}

    def test_usual(self) -> None:
        """Where no report comes late, nothing changes, and those that are given up are counted."""
        stream = [*accepted(A, ""), *filled(A, "")]
        stream += [event for n in range(9) for event in used(f"request:{n}")]
        stream += demoted(A, "")
        whole = conclude(stream, Mode.DEMOTABLE, Keep())
        short = conclude(stream, Mode.DEMOTABLE, Keep(ended_requests=2))
        assert ModeVerdict.KEPT is short.verdict
        assert whole.obligations == short.obligations
        monitor = Monitor(Mode.DEMOTABLE, keep=Keep(ended_requests=2))
        for number, event in enumerate(stream):
            place = at_line("f", number + 1, number)
            monitor.take(Record(place, Stamp("run", number, event.time_ns), ((event, place),)))
        assert (0, 7) == monitor.given_up


def used(request: str) -> list[Event]:
    """A request that arrives and ends."""
    return [*fits(A, request), *finishes(A, request)]
