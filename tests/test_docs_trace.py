"""The trace, the rules and the examples in docs/writing-a-trace.md are as the monitor has them."""

import json
import re
from pathlib import Path

import pytest

from monitor.check.files import check
from monitor.input.dialects import Reader
from monitor.report.headline import headline
from monitor.samples.pairs import Sample, chosen
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.contract.obligations import OBLIGATIONS
from spec.language.verdicts import Verdict

PAGE = Path(__file__).parents[1] / "docs" / "writing-a-trace.md"

RULES = PAGE.read_text().partition("\n## Rules\n")[2].partition("\n## ")[0]
BULLETS = re.findall(r"^\* (.*)$", RULES, re.M)
ROW = re.compile(r"^\| \[(\w+)\]\(obligations/\w+\.md\) \| (.*) \|$", re.M)
TESTED = dict(ROW.findall(PAGE.read_text()))
"""What puts each obligation to the test."""


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
        (evicted,) = re.findall(r"^\| `({[^`]*block_evicted[^`]*})`", PAGE.read_text(), re.M)
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


class TestRules:
    """The rules, and what puts each obligation to the test."""

    def test_form(self) -> None:
        """A bullet is a rule of one sentence and an example; a sentence has at most 25 words."""
        assert [] == [each for each in BULLETS if not re.match(r"\*\*.+\.\*\* Example: ", each)]
        for bullet in BULLETS:
            text = re.sub(r"`[^`]*`", "code", bullet.replace("**", ""))
            sentences = re.split(r"(?<=\.) ", re.sub(r"\]\([^)]*\)", "]", text))
            assert [] == [each for each in sentences if len(each.split()) > 25]

    def test_examples(self) -> None:
        """Each example that is a line is read as one event or mark."""
        lines = [each for each in re.findall(r"`({.*?})`", RULES) if '"kind"' in each]
        assert len(lines) > 20
        for line in lines:
            (record,) = Reader("f").feed(line.encode(), 1)
            assert json.loads(line)["kind"] in str(record), line

    def test_every_obligation(self) -> None:
        """Each obligation has a row that says what puts it to the test."""
        assert list(OBLIGATIONS) == list(TESTED)

    @pytest.mark.parametrize("sample", chosen()[::2], ids=lambda each: each.name)
    def test_exercised(self, sample: Sample, tmp_path: Path) -> None:
        """The line of a kept sample that first puts its obligation to the test is of a kind that
        the row names."""
        trace = tmp_path / "begun.jsonl"
        lines = sample.path.read_text().splitlines(True)
        for number, line in enumerate(lines, start=1):
            trace.write_text("".join(lines[:number]))
            claims = check([str(trace)], None, Bundle.CONTRACT).claims
            found = {claim.obligations[sample.obligation].verdict for claim in claims}
            if found - {Verdict.UNEXERCISED}:
                assert f"`{json.loads(line)['kind']}`" in TESTED[sample.obligation]
                return
        pytest.fail("the obligation is never put to the test")
