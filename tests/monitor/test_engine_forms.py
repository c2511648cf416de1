"""A stream has one form: a line of another one in it excuses nothing, and leaves it open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from monitor.check.files import check
from monitor.input.records import CANONICAL, Form, Record, Stamp, at_line, line_of
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.stream.breaks import Order
from tests.monitor.traces import CLAIM, OTHER, Line, Trace, claim_of, judge, put, write
from tests.monitor.traces_allocator import allocator, allocator_refusal
from tests.monitor.traces_canonical import about, canonical, canonical_claim, canonical_refusal
from tests.monitor.traces_connector import connector_success, plain_connector
from tests.monitor.traces_reference import reference, reference_success

HARD = Mode.HARD_PROTECTED
FOREIGN = [plain_connector("later", "q9"), allocator("later"), reference("later")]
ENDED = [about("claim_retired"), about("claim_released", by="tenant:1")]


def foreign(line: Line) -> Line:
    """The line with a number that no stream of ours has reached."""
    return {**line, "event_sequence": 50} if "policy" not in line else line


class TestTwoForms:
    @pytest.mark.parametrize("line", FOREIGN)
    def test_excuses_no_gap(self, line: Line) -> None:
        """The gap that a recorded line stands in stays one, though its own form may skip."""
        lines = [*canonical_claim(), foreign(line), *ENDED]
        numbered = [{**each, "sequence": n + 45 * (n > 5)} for n, each in enumerate(lines)]
        report = judge(numbered, HARD)
        assert "inconclusive" == report.verdict
        assert "inconclusive" == claim_of(report).verdict

    @pytest.mark.parametrize("where", range(len(canonical_refusal()) + 1))
    @pytest.mark.parametrize("line", FOREIGN)
    def test_anywhere(self, line: Line, where: int) -> None:
        """Wherever it stands, first or last too, the claims of the stream are inconclusive."""
        trace = canonical_refusal()
        report = judge([*trace[:where], line, *trace[where:]], HARD)
        assert ("inconclusive", "inconclusive") == (report.verdict, claim_of(report).verdict)
        assert "two dialects in one stream" in report.why

    @pytest.mark.parametrize(
        ("trace", "mode"),
        [
            (connector_success(), Mode.OFFLOADABLE),
            (allocator_refusal(), HARD),
            (reference_success(), Mode.OFFLOADABLE),
        ],
    )
    def test_recorded(self, trace: Trace, mode: Mode) -> None:
        """A canonical line in a recorded stream does the same."""
        assert "kept" == judge(trace, mode).verdict
        end = canonical("request_finished", request_id="late", sequence=99)
        report = judge([*trace, end], mode)
        assert ("inconclusive", "inconclusive") == (report.verdict, claim_of(report).verdict)

    def test_later_claims(self) -> None:
        """A claim that begins afterwards is as open as one that lived then."""
        report = judge([plain_connector("later", "q9"), *canonical_claim(), *ENDED], HARD)
        assert "inconclusive" == claim_of(report).verdict

    def test_earlier_claims(self) -> None:
        """What had ended before is known, but the stream as a whole is not kept."""
        trace = [*canonical_claim(), *ENDED, *canonical_claim(OTHER, first=500)]
        report = judge([*trace, plain_connector("later", "q9")], HARD)
        assert ("kept", "inconclusive") == (
            claim_of(report, CLAIM).verdict,
            claim_of(report, OTHER).verdict,
        )
        assert "inconclusive" == report.verdict

    def test_not_disorder(self) -> None:
        """That the numbers of another form run behind breaks no order."""
        late = {**plain_connector("later", "q9"), "event_sequence": 0}
        report = judge(put(canonical_refusal(), "request_finished", late), HARD)
        assert "violated" not in report.obligations.values()

    def test_breach_stays(self) -> None:
        """What was broken before stays broken."""
        victim = canonical("block_evicted", block_ids=[100])
        trace = [*canonical_claim(), victim, plain_connector("later", "q9")]
        assert "violated" == judge(trace, HARD).verdict

    def test_other_stream(self) -> None:
        """Streams of two names in one file may have two forms."""
        trace = [*canonical_refusal(), {**plain_connector("later", "q9"), "hook_scope": "other"}]
        assert "kept" == judge(trace, HARD).verdict

    def test_other_file(self, tmp_path: Path) -> None:
        """So may streams of one name in two files."""
        files = [write(tmp_path / "a.jsonl", allocator_refusal())]
        ends = [about("claim_retired", OTHER), about("claim_released", OTHER)]
        over = [{**line, "by": "tenant:1"} for line in ends]
        other = [*canonical_claim(OTHER), *over]
        files.append(write(tmp_path / "b.jsonl", other))
        assert "kept" == check(files, HARD, Bundle.CONTRACT).verdict


class TestOrder:
    """The order of one stream."""

    def broken(self, *stamps: Stamp) -> list[str]:
        """The reasons for which each line breaks the stream."""
        order, form = Order(stamps[0].form.first), stamps[0].form
        records = [Record(at_line("f", n), stamp) for n, stamp in enumerate(stamps, 1)]
        steps = [order.take(line_of(r, foreign=r.stamp.form is not form)) for r in records]
        return ["" if each.broken is None else each.broken.code.title for each in steps]

    @pytest.mark.parametrize(
        ("form", "first", "broken"),
        [
            (CANONICAL, 0, ""),
            (CANONICAL, 1, "lines-missing"),
            (Form("other", first=(0, 1)), 0, ""),
            (Form("other", first=(0, 1)), 1, ""),
            (Form("other", first=(0, 1)), 4, "lines-missing"),
            (Form("other", skips=True), 4, ""),
        ],
    )
    def test_first(self, form: Form, first: int, broken: str) -> None:
        """With which number a stream begins is a matter of its form."""
        assert [broken] == self.broken(Stamp("s", first, None, form))

    def test_skips(self) -> None:
        """Only in a form that skips is a hole no loss."""
        for form, missing in ((CANONICAL, "lines-missing"), (Form("o", skips=True), "")):
            stamps = Stamp("s", 0, None, form), Stamp("s", 2, None, form)
            assert ["", missing] == self.broken(*stamps)

    def test_two(self) -> None:
        """From a line of another form on every line says so, and nothing ran backwards."""
        other = Form("other", skips=True)
        stamps = Stamp("s", 0, 5), Stamp("s", 9, None, other), Stamp("s", 1, 4), Stamp("s", 2, 9)
        assert ["", *["two-forms"] * 3] == self.broken(*stamps)


def test_adversary(tmp_path: Path) -> None:
    """A connector line that takes the place of 46 missing ones under the stream's own name."""
    asks = {"predicate": "leading_prefix_at_least(2)", "mode": "hard_protected"}
    claim = {"claim_id": "a", "cache_identity": "ci", "object_id": "o"}
    lines = [
        {"kind": "claim_registered", **claim, **asks, "owner_scope": "t", "sequence": 0},
        {"kind": "claim_committed", **claim, "footprint": 2, "sequence": 1},
        {"kind": "claim_accepted", **claim, "footprint": 2, "sequence": 2},
        {"kind": "block_cached", **claim, "block_ids": [7, 8], "positions": [0, 1], "sequence": 3},
        {"kind": "claim_materialized", **claim, "sequence": 4},
        {"event": "some_event", "event_sequence": 50, "run_id": "s", "sequence": 5},
        {"kind": "claim_retired", **claim, "by": "t", "sequence": 51},
        {"kind": "claim_released", **claim, "by": "t", "sequence": 52},
    ]
    path = tmp_path / "t.jsonl"
    named = [{**line, **({"stream": "s"} if "kind" in line else {})} for line in lines]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in named))
    assert "inconclusive" == check([str(path)], HARD, Bundle.CONTRACT).verdict
