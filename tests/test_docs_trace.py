"""The trace in docs/writing-a-trace.md is one that the monitor accepts."""

import re
from pathlib import Path

from monitor.check.files import check
from monitor.input.dialects import Reader
from monitor.report.headline import headline
from spec.claims.states import Mode
from spec.contract.modes import Bundle

PAGE = Path(__file__).parents[1] / "docs" / "writing-a-trace.md"


class TestWritingATrace:
    def test_is_kept(self, tmp_path: Path) -> None:
        """The ten lines are kept, by the mode that the claim states and by that mode where it is
        named, and harm is the one obligation that they do not exercise."""
        lines, _ = re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
        trace = tmp_path / "my.jsonl"
        trace.write_text(lines)

        for mode in (None, Mode.HARD_PROTECTED):
            report = check([str(trace)], mode, Bundle.CONTRACT)

            assert ("kept", 10) == (report.verdict, report.events.read)
            idle = [n for n, verdict in report.obligations.items() if verdict == "unexercised"]
            assert ["claim_harm_attribution"] == idle
            nine = "kept: 9 of 10 obligations exercised, 1 not put to the test: "
            assert headline(report).startswith(f"{nine}claim_harm_attribution;")
            assert nine in PAGE.read_text()

    def test_log_records(self) -> None:
        """The two log records that the page shows are read as the two events that they are."""
        _, shown = re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
        line = "".join(each.strip() for each in shown.splitlines()).encode()
        events = [event for record in Reader("f").feed(line, 1) for event, _ in record.events]
        assert [(7, "request:1"), (8, "request:2")] == [(e.sequence, e.request_id) for e in events]

    def test_changes(self, tmp_path: Path) -> None:
        """Each change that the page tells of ends as the page says."""
        lines, _ = re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
        blamed = '"blocking_claim_ids":["claim:a"]'
        assert 1 == lines.count(blamed)
        silent = "".join(line for line in lines.splitlines(True) if blamed not in line)
        refusal = next(line for line in lines.splitlines(True) if blamed in line)
        (evicted,) = re.findall(r"`({[^`]*block_evicted[^`]*})`", PAGE.read_text())
        found = []
        for text, name in (
            (lines.replace(blamed, blamed.replace("claim:a", "claim:b")), "blocking_claim_ids"),
            (
                _unnumbered(lines.replace(refusal, f"{evicted}\n{refusal}")),
                "victim_exclusion_before_violation",
            ),
            (_unnumbered(silent), "explicit_conflict_action"),
            (silent, "explicit_conflict_action"),
        ):
            trace = tmp_path / "my.jsonl"
            trace.write_text(text)
            report = check([str(trace)], None, Bundle.CONTRACT)
            at = report.claims[0].obligations[name].at
            found.append((report.verdict, at and at.line))
        assert [("violated", 7), ("violated", 7), ("violated", 7), ("inconclusive", 7)] == found


def _unnumbered(lines: str) -> str:
    return re.sub(r'"sequence":\d+,', "", lines)
