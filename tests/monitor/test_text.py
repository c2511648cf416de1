"""The report for people."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from monitor.text import as_text, headline
from monitor.verdict import Report
from spec.claims import Mode
from spec.modes import MODES
from tests.monitor.traces import OTHER, Trace, changed, judge
from tests.monitor.traces_allocator import allocator, allocator_refusal, allocator_victim
from tests.monitor.traces_canonical import about, canonical, canonical_claim, canonical_refusal
from tests.monitor.traces_connector import connector_fallback, connector_success


def plain(report: Report, most: int = 20) -> str:
    return as_text(report, Console(file=io.StringIO(), width=80, markup=False), most)


def words(report: Report, most: int = 20) -> str:
    """The text without its line breaks."""
    return " ".join(plain(report, most).split())


def runs(number: int, trace: Trace) -> Trace:
    """The same trace in so many runs."""
    return [{**line, "run_id": f"run-{i}"} for i in range(number) for line in trace]


BROKEN = [*allocator_refusal(), allocator_victim(100)]


class TestHeadline:
    """The verdict in a sentence."""

    @pytest.mark.parametrize(
        ("trace", "said"),
        [
            (canonical_refusal(), "kept: hard_protected was kept in the one claim"),
            (runs(2, allocator_refusal()), "kept: hard_protected was kept in all 2 claims"),
            (
                [*allocator_refusal(), *runs(1, BROKEN)],
                "violated: hard_protected was not kept in 1 of 2 claims",
            ),
            (
                [*canonical_refusal(), about("claim_rejected", OTHER)],
                "kept: hard_protected was kept in 1 of 2 claims; 1 cannot be judged",
            ),
            ([allocator("gpu_hiccup")], "inconclusive: no accepted claim"),
        ],
    )
    def test_headline(self, trace: Trace, said: str) -> None:
        """It names the verdict, the mode, and in how many claims."""
        report = judge(trace, Mode.HARD_PROTECTED)
        assert said == headline(report)
        assert plain(report).startswith(f"{said}\n")


class TestBody:
    """How it was reached, what was broken, and what was believed."""

    @pytest.mark.parametrize("mode", Mode)
    @pytest.mark.parametrize(
        "trace", [connector_success(), connector_fallback(), BROKEN, canonical_refusal()]
    )
    def test_width(self, trace: Trace, mode: Mode) -> None:
        """80 columns suffice, and each obligation has its row and its word."""
        report = judge(trace, mode)
        lines = plain(report).splitlines()
        assert max(map(len, lines)) <= 80
        for name in MODES[mode].names():
            row = next(line for line in lines if f" {name} " in line)
            assert report.obligations[name] in row

    def test_breach(self) -> None:
        """A breach: claim, stream, event, why, and what would have been allowed."""
        said = words(judge(BROKEN, Mode.HARD_PROTECTED))
        assert "claim claim:a: violated stream run-1" in said
        assert f"at standard input:{len(BROKEN)} because a block of the claim was chosen" in said
        assert "allowed another victim" in said
        assert "pending claim_harm_attribution" in said

    def test_sequence(self) -> None:
        """Where the stream is numbered the number is shown."""
        said = words(judge(connector_fallback(), Mode.OFFLOADABLE))
        assert "at standard input:24, sequence 23 because" in said

    def test_unexercised(self) -> None:
        """What no claim exercised is listed, not passed."""
        said = words(judge(connector_success(), Mode.OFFLOADABLE))
        idle = "restoration_failure_outcome, claim_harm_attribution."
        assert f"Exercised by no claim, so nothing is known of: {idle}" in said

    def test_trust(self) -> None:
        """Facts are counted as trusted; what a recorded dialect does not observe is named."""
        said = words(judge(connector_success(), Mode.OFFLOADABLE))
        assert "Taken on trust: that the hooks observed facts" in said
        assert "1 load_finished" in said
        assert "claim_committed, prefix_reused: acceptance and its end are read from what" in said
        assert "No hook" not in words(judge(canonical_refusal(), Mode.HARD_PROTECTED))

    def test_events(self) -> None:
        """Unknown kinds are named with their number."""
        trace = [*canonical_refusal(), allocator("gpu_hiccup", run_id="x")]
        trace.append(trace[-1])
        said = words(judge(trace, Mode.HARD_PROTECTED))
        assert "events 10 read" in said
        assert "unknown 2 gpu_hiccup: of no known kind" in said

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
        assert 1 == said.count("sequences 6 to 39 are missing")
        assert "inconclusive claim_identity, explicit_acceptance," in said

    def test_not_accepted(self) -> None:
        """A claim that never entered says why it is not judged."""
        trace = [*canonical_refusal(), about("claim_rejected", OTHER)]
        assert "because not accepted" in words(judge(trace, Mode.HARD_PROTECTED))

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
        assert "\x1b[32msatisfied" in said
