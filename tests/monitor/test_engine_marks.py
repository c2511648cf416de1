"""The marks of a stream: where its end was promised and does not come, it was cut."""

from __future__ import annotations

import json

import pytest

from monitor.input.dialects import Reader
from monitor.input.errors import InputError
from monitor.input.records import Stamp, stamp_of
from spec.claims.states import Mode
from spec.events.alphabet import FACTS, Kind
from spec.events.canonical import Mark, StreamMark
from tests.monitor.traces import CLAIM, OTHER, Trace, claim_of, judge, verdicts
from tests.monitor.traces_canonical import about, canonical, canonical_claim, canonical_refusal

OPENED, CLOSED = canonical("stream_opened"), canonical("stream_closed")
HARD = Mode.HARD_PROTECTED


def released(claim: str) -> Trace:
    return [about("claim_retired", claim), about("claim_released", claim, by="tenant:1")]


class TestEnd:
    def test_whole(self) -> None:
        """Between its marks a stream is judged as without them."""
        plain = judge(canonical_refusal(), HARD)
        marked = judge([OPENED, *canonical_refusal(), CLOSED], HARD)
        assert "kept" == plain.verdict == marked.verdict
        assert verdicts(plain) == verdicts(marked)
        assert {} == marked.events.unknown

    def test_cut(self) -> None:
        """Without the end that was promised nothing is concluded of a claim that was alive."""
        report = judge([OPENED, *canonical_refusal()], HARD)
        assert "inconclusive" == report.verdict
        assert {"inconclusive"} == set(verdicts(report).values())
        found = claim_of(report).obligations["explicit_acceptance"]
        assert "the stream was cut: stream_closed is not its last line" == found.why
        assert found.at is not None
        assert 1 == found.at.line

    def test_over_before(self) -> None:
        """What became of a claim that had ended is known."""
        lines = [*canonical_claim(), *released(CLAIM), *canonical_claim(OTHER, first=500)]
        report = judge([OPENED, *lines], HARD)
        assert "kept" == claim_of(report, CLAIM).verdict
        assert "inconclusive" == claim_of(report, OTHER).verdict

    def test_breach(self) -> None:
        """A breach before the cut is one."""
        victim = canonical("block_evicted", block_ids=[100])
        report = judge([OPENED, *canonical_claim(), victim], HARD)
        assert "violated" == report.verdict

    def test_goes_on(self) -> None:
        """An end that is not the last line is none."""
        end = canonical("request_finished", request_id="late")
        report = judge([OPENED, *canonical_refusal(), CLOSED, end], HARD)
        assert "inconclusive" == report.verdict

    def test_numbered(self) -> None:
        """The last mark shows that events before it are missing, and the first that none are."""
        lines = [OPENED, *canonical_refusal(), {**CLOSED, "sequence": 20}]
        assert "inconclusive" == judge(lines, HARD).verdict
        headless = [{**line, "sequence": n} for n, line in enumerate(canonical_refusal(), 1)]
        assert "inconclusive" == judge([*headless, {**CLOSED, "sequence": 9}], HARD).verdict

    @pytest.mark.parametrize("stream", ["another", ""])
    @pytest.mark.parametrize("marks", [[OPENED, CLOSED], []])
    @pytest.mark.parametrize("first", [True, False])
    def test_other_stream(self, stream: str, marks: Trace, first: bool) -> None:
        """Each stream has its own: the claims of one that was not cut are judged by it. But what
        another one that was cut would have said is missing, also where it says nothing else.
        """
        lines = [*marks[:1], *canonical_refusal(), *marks[1:]]
        foreign = [{**mark, "stream": stream} for mark in (OPENED, CLOSED)]
        whole = [*foreign[:1], *lines, *foreign[1:]]
        assert "kept" == judge(whole, HARD).verdict
        report = judge([*foreign[:1], *lines] if first else [*lines, *foreign[:1]], HARD)
        assert ("inconclusive", "kept") == (report.verdict, claim_of(report).verdict)
        assert ": the stream was cut: stream_closed is not its last line" in report.why

    def test_other_stream_violated(self) -> None:
        """A breach stays one beside a stream that was cut."""
        victim = canonical("block_evicted", block_ids=[100])
        lines = [*canonical_claim(), victim, {**OPENED, "stream": "another"}]
        assert "violated" == judge(lines, HARD).verdict

    def test_untimed(self) -> None:
        """A mark without a time stops no duration; a line of another kind does."""
        claim = canonical_claim(mode="expiring", duration="1 s")
        ended = [
            about("claim_retired", by="runtime", time_ns=2_000_000_000),
            about("claim_expired", by="runtime", time_ns=2_000_000_000),
        ]
        marks = [{"kind": mark, "stream": "run-1"} for mark in ("stream_opened", "stream_closed")]
        untimed = [{**mark, "time_ns": None} for mark in marks]
        report = judge([untimed[0], *claim, *ended, untimed[1]], Mode.EXPIRING)
        assert "kept" == report.verdict
        another = {**canonical("request_finished", request_id="late"), "time_ns": None}
        report = judge([*claim, another, *ended], Mode.EXPIRING)
        assert "inconclusive" == report.verdict


class TestObserves:
    """What a stream says of its hooks."""

    def stamp(self, **fields: object) -> Stamp:
        [record] = Reader("f").feed(json.dumps({**OPENED, **fields}).encode(), 1)
        return record.stamp

    def test_handed_on(self) -> None:
        """The kinds stand on the stamp of the first line; where none are stated, nothing does."""
        observed = self.stamp(observes=["block_cached", "load_failed", "block_cached"])
        assert {Kind.BLOCK_CACHED, Kind.LOAD_FAILED} == observed.observes
        assert frozenset() == self.stamp(observes=[]).observes
        assert self.stamp().observes is None

    def test_live(self) -> None:
        """A stream that is judged while it runs hands on the same."""
        mark = StreamMark(kind=Mark.STREAM_OPENED, observes=("load_failed",))
        assert {Kind.LOAD_FAILED} == stamp_of(mark, "s").observes

    def test_no_event(self) -> None:
        """By itself it changes no verdict."""
        observes = sorted(FACTS)
        trace = [{**OPENED, "observes": observes}, *canonical_refusal(), CLOSED]
        assert "kept" == judge(trace, HARD).verdict


class TestObservesLater:
    """What the hooks observe is narrowed by marks after the first line, from there on."""

    def narrow(self, *kinds: str) -> dict[str, object]:
        return {**OPENED, "observes": sorted(FACTS - set(kinds))}

    def test_second_line(self) -> None:
        """On the second line it is as on the first: what is not observed is not kept."""
        first, *rest = [*canonical_claim(), *released(CLAIM)]
        blind = self.narrow("block_evicted", "block_lost")
        assert "inconclusive" == judge([blind, first, *rest, CLOSED], HARD).verdict
        report = judge([first, blind, *rest, CLOSED], HARD)
        assert "inconclusive" == report.verdict
        found = claim_of(report).obligations["victim_exclusion_before_violation"]
        assert "not-observed" == found.reason

    def test_widened(self) -> None:
        """What a later mark adds stays unobserved, and one that says the same changes nothing."""
        blind, whole = self.narrow("block_evicted"), {**OPENED, "observes": sorted(FACTS)}
        told = [*canonical_claim(), *released(CLAIM), CLOSED]
        assert "inconclusive" == judge([blind, whole, *told], HARD).verdict
        assert "kept" == judge([*told[:2], whole, *told[2:]], HARD).verdict

    def test_contradicts_nothing(self) -> None:
        """What is missing from there on contradicts nothing."""
        blind = self.narrow("request_arrived")
        late = canonical("request_finished", request_id="late")
        told = [*canonical_claim(), late, CLOSED]
        assert {"inconclusive"} == set(verdicts(judge(told, HARD)).values())
        report = judge([*told[:-2], blind, *told[-2:]], HARD)
        assert "satisfied" == verdicts(report)["claim_identity"]

    def test_breach(self) -> None:
        """A breach that was found stays."""
        victim = canonical("block_evicted", block_ids=[100])
        report = judge([*canonical_claim(), victim, self.narrow(*FACTS), CLOSED], HARD)
        assert "violated" == report.verdict

    def test_over_before(self) -> None:
        """What became of a claim that had ended is known; of one that comes after it is not."""
        other = canonical_claim(OTHER, first=500)
        blind = self.narrow("block_evicted")
        report = judge([*canonical_claim(), *released(CLAIM), blind, *other, CLOSED], HARD)
        assert "kept" == claim_of(report, CLAIM).verdict
        assert "inconclusive" == claim_of(report, OTHER).verdict

    def test_more_is_told_of_it(self) -> None:
        """A late report about it is judged by the lifecycle, whatever is not observed since."""
        blind, again = self.narrow("block_evicted"), about("claim_released", CLAIM, by="tenant:1")
        report = judge([*canonical_claim(), *released(CLAIM), blind, again, CLOSED], HARD)
        assert "violated" == claim_of(report, CLAIM).verdict
        assert "violated" == verdicts(report)["ordered_lifecycle_events"]


class TestForm:
    @pytest.mark.parametrize("field", ["claim_id", "request_id", "reason"])
    def test_fields(self, field: str) -> None:
        """A mark says nothing but its place."""
        with pytest.raises(InputError, match="no such field"):
            Reader("f").feed(json.dumps({**OPENED, field: "x"}).encode(), 1)


class TestOpenedAgain:
    """A writer that was killed, and one that goes on in its file."""

    def test_not_closed(self) -> None:
        """What was not closed and is opened again was cut there."""
        trace = [OPENED, *canonical_claim(), OPENED, CLOSED]
        assert {"inconclusive"} == set(verdicts(judge(trace, HARD)).values())

    def test_numbers(self) -> None:
        """Numbers that begin anew with the mark are another run, and no disorder."""
        first = [{**line, "sequence": at} for at, line in enumerate([OPENED, *canonical_claim()])]
        trace = [*first, {**OPENED, "sequence": 0}, {**CLOSED, "sequence": 1}]
        assert {"inconclusive"} == set(verdicts(judge(trace, HARD)).values())

    def test_closed(self) -> None:
        """A stream that was closed may be opened again."""
        over = released(CLAIM)
        trace = [OPENED, *canonical_claim(), *over, CLOSED, OPENED, CLOSED]
        assert "inconclusive" not in verdicts(judge(trace, HARD)).values()
