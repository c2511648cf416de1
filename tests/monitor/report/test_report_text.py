"""The report for people."""

from __future__ import annotations

import io
import re
from typing import Any

import msgspec
import pytest
from rich.console import Console

from monitor.report.headline import headline
from monitor.report.remedies import remedy
from monitor.report.report_text import as_text
from monitor.report.verdict import Report
from spec.claims.states import Mode
from spec.contract.modes import MODES
from spec.stream.outcome import ModeVerdict
from tests.monitor.traces import OTHER, Trace, changed, judge
from tests.monitor.traces_allocator import allocator, allocator_refusal, allocator_victim
from tests.monitor.traces_canonical import about, canonical, canonical_claim, canonical_refusal
from tests.monitor.traces_connector import connector_fallback, connector_success
from tests.monitor.traces_reference import reference_success


def plain(report: Report, most: int | None = None, *, verbose: bool = False) -> str:
    out = Console(file=io.StringIO(), width=80, markup=False)
    return as_text(report, out, most, verbose=verbose)


def words(report: Report, most: int | None = None, *, verbose: bool = False) -> str:
    """The text without its line breaks."""
    return " ".join(plain(report, most, verbose=verbose).split())


def runs(number: int, trace: Trace) -> Trace:
    """The same trace in so many runs."""
    return [{**line, "run_id": f"run-{i}"} for i in range(number) for line in trace]


BROKEN = [*allocator_refusal(), allocator_victim(100)]


NINE = "kept: 9 of 10 obligations exercised, 1 not put to the test: claim_harm_attribution"


class TestHeadline:
    """The verdict in a sentence."""

    @pytest.mark.parametrize(
        ("trace", "said"),
        [
            (canonical_refusal(), f"{NINE}; hard_protected was kept in the one claim"),
            (
                [*canonical_refusal(), about("block_lost"), about("claim_harmed")],
                "kept: 10 of 10 obligations exercised; hard_protected was kept in the one claim",
            ),
            (
                runs(2, allocator_refusal()),
                f"{NINE}; hard_protected was kept in all 2 claims",
            ),
            (
                [*allocator_refusal(), *runs(1, BROKEN)],
                "violated: 1 of 10 obligations: victim_exclusion_before_violation; "
                "hard_protected was not kept in 1 of 2 claims",
            ),
            (
                [*canonical_refusal(), about("claim_rejected", OTHER)],
                f"{NINE}; hard_protected was kept in 1 of 2 claims; 1 cannot be judged",
            ),
            (
                [*canonical_claim(OTHER, first=500), *canonical_claim()[:2]],
                "inconclusive: 1 of 10 obligations still owed when the stream ended: "
                "explicit_acceptance",
            ),
            ([allocator("gpu_hiccup")], "inconclusive: no accepted claim"),
        ],
    )
    def test_headline(self, trace: Trace, said: str) -> None:
        """It names the verdict, the mode, and in how many claims."""
        report = judge(trace, Mode.HARD_PROTECTED)
        assert said == headline(report)
        assert words(report).startswith(f"{said} ")


TWO = [*canonical_refusal(), *canonical_claim(OTHER, first=500, mode="demotable")]
SILENT = canonical_claim("claim:c", first=700, mode=None)
VICTIM = canonical("block_evicted", block_ids=[100])


class TestEach:
    """Where each claim is judged by the mode that it states."""

    @pytest.mark.parametrize(
        ("trace", "said"),
        [
            (canonical_refusal(), f"{NINE}; hard_protected was kept in the one claim"),
            (
                TWO,
                "kept: 2 modes, 2 claims; hard_protected in its one claim, demotable in its one "
                "claim; 13 of 16 obligations exercised, 3 not put to the test",
            ),
            (
                [*TWO, VICTIM],
                "violated: 2 modes, 2 claims; hard_protected was not kept in its one claim: "
                "victim_exclusion_before_violation",
            ),
            (
                [*canonical_refusal(), *SILENT],
                "inconclusive: 1 mode, 2 claims; claim claim:c cannot be judged: it states no mode",
            ),
            (
                [*TWO, *SILENT, VICTIM],
                "violated: 2 modes, 3 claims; hard_protected was not kept in its one claim: "
                "victim_exclusion_before_violation; 1 claim not judged",
            ),
            (SILENT, "inconclusive: claim claim:c cannot be judged: it states no mode"),
            ([allocator("gpu_hiccup")], "inconclusive: no claim"),
        ],
    )
    def test_headline(self, trace: Trace, said: str) -> None:
        """The sentence counts modes and claims where there are several."""
        report = judge(trace, None)
        assert said == headline(report)
        assert words(report).startswith(f"{said} ")
        assert max(map(len, plain(report).splitlines())) <= 80

    def test_modes(self) -> None:
        """Each of several modes has its own row, and with -v its own table."""
        report = judge([*TWO, VICTIM], None)
        said = words(report)
        assert "claim claim:a, hard_protected: violated" in said
        assert "hard_protected violated in its one claim: victim_exclusion" in said
        assert re.search(r"demotable +kept in its one claim: \d of \d+ obligations", said)
        assert "judged by the mode each claim states: hard_protected, demotable," in said
        shown = words(report, verbose=True)
        assert 2 == shown.count("obligation verdict claims")
        assert "demotable: kept obligation" in shown

    def test_one_reason(self) -> None:
        """Why several modes are inconclusive is said once, with their names, where it is one."""
        report = judge(TWO, None)
        why, verdict = "1 line could not be read", ModeVerdict.INCONCLUSIVE
        modes = [msgspec.structs.replace(e, verdict=verdict, why=why) for e in report.modes]
        events = msgspec.structs.replace(report.events, rejected=1)
        alike = msgspec.structs.replace(report, modes=modes, events=events)
        text = "2 modes hard_protected, demotable: inconclusive: 1 line could not be read judged by"
        assert text in words(alike)
        other = msgspec.structs.replace(modes[0], why="another")
        apart = words(msgspec.structs.replace(alike, modes=[other, modes[1]]))
        assert "hard_protected inconclusive: another demotable inconclusive: 1 line" in apart

    def test_unjudged(self) -> None:
        """A claim that is not judged is named, with the mode that its form is mostly judged by."""
        said = words(judge(SILENT, None))
        assert "not judged claim:c: it states no mode; --mode MODE judges it by that mode" in said
        said = words(judge(connector_success(), None))
        assert "it states no mode; --mode offloadable judges it" in said

    def test_many_unjudged(self) -> None:
        """Of many that are not judged the first are named and the others counted."""
        trace = [line for n in range(7) for line in canonical_claim(f"c{n}", mode=None)]
        said = words(judge(trace, None))
        assert "inconclusive: 7 claims cannot be judged by a mode of their own" in said
        assert "c4: it states" in said
        assert "c5" not in said
        assert "and 2 more" in said

    def test_turned_away(self) -> None:
        """One that was turned away without a mode is named, and leaves the sentence as it is."""
        said = words(judge([*canonical_refusal(), about("claim_rejected", OTHER)], None))
        assert said.startswith(f"{NINE}; hard_protected was kept in the one claim turned away")
        assert "turned away claim:b: no claim states a mode" in said

    def test_words(self) -> None:
        """Where a recorded word stands for the mode the report says so."""
        said = words(judge(reference_success(), None))
        assert "offloadable (in the words of the form reference_lifecycle)" in said


BEGUN = canonical_claim()[:1]
CAPTURE: Trace = [{"endpoint": "e", "seq": 0, "decoded": [1.0, [{"type": "AllBlocksCleared"}]]}]
OWED = [*canonical_claim(OTHER, first=500), *canonical_claim()[:2]]
OTHER_WORDS = "no requests continues in blocks have not accepted not registered"


def reworded(report: Report) -> Report:
    """The report with other words for each reason."""

    def go(value: Any) -> Any:
        if isinstance(value, list):
            return [go(each) for each in value]
        if isinstance(value, dict):
            return {k: OTHER_WORDS if k in ("why", "because") else go(v) for k, v in value.items()}
        return value

    return msgspec.convert(go(msgspec.to_builtins(report)), Report)


class TestToDo:
    """What to do about an inconclusive verdict."""

    @pytest.mark.parametrize(
        ("report", "said"),
        [
            (judge(BEGUN, None), "state claim_accepted of each claim"),
            (judge(canonical_claim(), Mode.DEMOTABLE), "leave out --mode"),
            (judge(CAPTURE, None), "watch it: resident-claims watch REGISTRY FILE --until-eof"),
            (judge(OWED, None), "report what is owed, or read the stream until it is due"),
            (
                judge([canonical("request_finished", request_id="q")], None),
                "state the arrival and the end of each",
            ),
            (
                judge(canonical_refusal(), None, strict=True),
                "record what puts them to the test: resident-claims samples hard_protected",
            ),
            (
                judge([*canonical_refusal(), {}], None, lenient=True),
                "mend the line, or teach the reader",
            ),
            (judge(canonical_refusal(), None, claim="claim:x"), "name a claim that occurs"),
        ],
    )
    def test_said(self, report: Report, said: str) -> None:
        """Where no finding has a code with its remedy, the report as a whole says what to do."""
        assert ModeVerdict.INCONCLUSIVE is report.verdict
        assert 1 == words(report).count(" to do ")
        assert f"to do {said}" in words(report)

    @pytest.mark.parametrize(
        "report",
        [
            judge(BEGUN, None),
            judge(canonical_claim(), Mode.DEMOTABLE),
            judge(CAPTURE, None),
            judge(OWED, None),
            judge(changed(canonical_refusal(), "request_refused", sequence=40), None),
            judge([*canonical_refusal(), {}], None, lenient=True),
            judge(canonical_refusal(), None, claim="claim:x"),
            judge([*canonical_refusal(), about("claim_rejected", OTHER)], Mode.HARD_PROTECTED),
            judge([canonical("request_finished", request_id="q")], None),
        ],
    )
    def test_words_decide_nothing(self, report: Report) -> None:
        """Other words for its reasons change no advice, and no row that is shown of a claim."""
        given, other = words(report, verbose=True), words(reworded(report), verbose=True)
        for label in (" to do ", " because "):
            assert given.count(label) == other.count(label)
        assert remedy(report) == remedy(reworded(report))

    def test_once(self) -> None:
        """What the findings say is not said again; what is kept or violated needs nothing."""
        gap = changed(canonical_refusal(), "request_refused", sequence=40)
        assert "to do record every line" in words(judge(gap, Mode.HARD_PROTECTED))
        assert 1 == words(judge(gap, Mode.HARD_PROTECTED)).count(" to do ")
        assert "to do" not in words(judge(canonical_refusal(), None)) + words(
            judge(BROKEN, Mode.HARD_PROTECTED)
        )


class TestBody:
    """How it was reached, what was broken, and what was believed."""

    @pytest.mark.parametrize("mode", Mode)
    @pytest.mark.parametrize(
        "trace", [connector_success(), connector_fallback(), BROKEN, canonical_refusal()]
    )
    def test_width(self, trace: Trace, mode: Mode) -> None:
        """80 columns suffice, and in the table each obligation has its row and its word."""
        report = judge(trace, mode)
        lines = plain(report, verbose=True).splitlines()
        assert max(map(len, [*lines, *plain(report).splitlines()])) <= 80
        for name in MODES[mode].names():
            word = report.obligations[name].replace("unexercised", "not exercised")
            assert any(word in line for line in lines if f" {name} " in line)

    @pytest.mark.parametrize(
        ("trace", "mode"),
        [
            (connector_success(), Mode.OFFLOADABLE),
            (canonical_refusal(), Mode.HARD_PROTECTED),
            (allocator_refusal(), Mode.HARD_PROTECTED),
        ],
    )
    def test_length(self, trace: Trace, mode: Mode) -> None:
        """What is kept takes at most fifteen lines; all of it is shown on demand."""
        report = judge(trace, mode)
        assert len(plain(report).splitlines()) <= 15
        assert len(plain(report, verbose=True)) > len(plain(report))

    def test_breach(self) -> None:
        """A breach: claim, stream, event, why, and what was expected instead."""
        said = words(judge(BROKEN, Mode.HARD_PROTECTED))
        assert "claim claim:a: violated stream run-1" in said
        assert f"at standard input:{len(BROKEN)} because a block of the claim was chosen" in said
        assert "expected instead another victim" in said
        assert "pending claim_harm_attribution" in said

    def test_in_short(self) -> None:
        """Beside a violation, what else is open is named in short; -v says all of it."""
        report = judge([*runs(2, BROKEN), *canonical_claim(OTHER)[:2]], Mode.HARD_PROTECTED)
        said = words(report)
        assert "claim claim:b" not in said
        assert "claims 2 violated, 1 inconclusive" in said
        shown = words(report, verbose=True)
        assert "claim claim:b: inconclusive" in shown
        assert shown.count(" because ") > said.count(" because ")

    def test_sequence(self) -> None:
        """Where the stream is numbered the number is shown."""
        said = words(judge(connector_fallback(), Mode.OFFLOADABLE))
        assert "at standard input:24, sequence 23 because" in said

    def test_unexercised(self) -> None:
        """What no claim exercised is listed, not passed."""
        report = judge(connector_success(), Mode.OFFLOADABLE)
        idle = "restoration_failure_outcome, claim_harm_attribution"
        assert f"5 of 7 obligations exercised, 2 not put to the test: {idle};" in words(report)
        assert "claim_harm_attribution not exercised 1 not" in words(report, verbose=True)

    def test_trust(self) -> None:
        """Facts are counted as trusted; what a recorded dialect does not observe is named."""
        report = judge(connector_success(), Mode.OFFLOADABLE)
        (line,) = (line for line in plain(report).splitlines() if line.startswith("Assumed"))
        facts = "10 facts, 3 kinds read from reports"
        assert f"Assumed, not checked: faithful hooks ({facts})." == line
        shown = words(report, verbose=True)
        assert "the instrumentation is faithful (10 facts: 1 claim_registered" in shown
        derived = "claim_registered, claim_committed, prefix_reused."
        assert f"Read from reports, because the recording has no such fact: {derived}" in shown
        plainly = judge(canonical_refusal(), Mode.HARD_PROTECTED)
        assert "ead from" not in words(plainly) + words(plainly, verbose=True)

    def test_events(self) -> None:
        """Unknown kinds are named with their number."""
        trace = [*canonical_refusal(), allocator("gpu_hiccup", run_id="x")]
        trace.append(trace[-1])
        said = words(judge(trace, Mode.HARD_PROTECTED))
        assert "events 10 read" in words(judge(trace, Mode.HARD_PROTECTED), verbose=True)
        assert "unknown 2 gpu_hiccup: of an unknown kind" in said
        assert "canonical events" not in said
        trace = [allocator("claim_registered", run_id="x")]
        assert "their kind in `kind`" in words(judge(trace, Mode.HARD_PROTECTED))

    def test_other_mode(self) -> None:
        """Claims of another mode are counted where there are any, and looked at no closer."""
        said = words(judge(canonical_refusal(), Mode.DEMOTABLE))
        assert "inconclusive: no accepted claim of this mode, only of hard_protected" in said
        assert "not judged 1 hard_protected: claims of another mode" in said
        assert "not judged" not in words(judge(canonical_refusal(), Mode.HARD_PROTECTED))

    def test_alike(self) -> None:
        """Obligations that are open for one and the same reason stand together."""
        trace = changed(canonical_refusal(), "request_refused", sequence=40)
        said = words(judge(trace, Mode.HARD_PROTECTED))
        assert 1 == said.count("because lines are missing before sequence number 40 (RC101")
        assert "inconclusive claim_identity, explicit_acceptance," in said

    def test_not_accepted(self) -> None:
        """A claim that never entered says why it is not judged."""
        report = judge([*canonical_refusal(), about("claim_rejected", OTHER)], Mode.HARD_PROTECTED)
        assert "without verdict claim:b (not accepted)" in words(report)
        assert "because not accepted" in words(report, verbose=True)

    def test_accepted_after_a_break(self) -> None:
        """After a break it is unknown whether a claim was accepted, so nothing says it was not."""
        trace = changed(canonical_claim(), "claim_committed", footprint=0)
        said = words(judge(trace, Mode.HARD_PROTECTED))
        assert "RC110" in said
        assert "not accepted" not in said

    def test_many(self) -> None:
        """Of many claims the worst are shown and the others counted."""
        trace = [*runs(5, BROKEN), *canonical_refusal()]
        text = words(judge(trace, Mode.HARD_PROTECTED), 2)
        assert 2 == text.count("claim claim:a: violated")
        assert "3 more claims with something to show left out" in text

    def test_control_characters(self) -> None:
        """Nothing from a trace is obeyed by a terminal, or taken for markup."""
        trace = [{**line, "claim_id": "\x1b[31m[bold]\u202e"} for line in canonical_claim()]
        trace.append(canonical("block_evicted", block_ids=[100]))
        said = plain(judge(trace, Mode.HARD_PROTECTED))
        assert "claim \\x1b[31m[bold]\\u202e: violated" in said

    def test_colours(self) -> None:
        """On a terminal colours repeat the words."""
        out = Console(file=io.StringIO(), force_terminal=True, width=80, color_system="standard")
        said = as_text(judge(BROKEN, Mode.HARD_PROTECTED), out)
        assert "\x1b[31mviolated" in said
        all_of_it = as_text(judge(BROKEN, Mode.HARD_PROTECTED), out, verbose=True)
        assert "\x1b[32msatisfied" in all_of_it
