"""A follower states each limit as soon as it is reached, and what is given up then."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from monitor.__main__ import main
from monitor.follow import judge as judge_module
from monitor.follow.judge import Judge
from monitor.follow.verdict_line import ClaimLine, Counts, LimitLine, VerdictLine
from monitor.report.options import limits_asked
from monitor.report.verdict import Report
from spec.stream.breaks import Limits
from tests.monitor.follow.traces import LIVE, trace

Capture = pytest.CaptureFixture[str]
CLAIMS = 12


def judged(limits: Limits) -> tuple[list[list[VerdictLine]], Report]:
    """What a judge states at each line, and at the end; and its report."""
    judge = Judge("s", None, Counts(), limits=limits)
    lines = [judge.take(line) for line in trace(CLAIMS)]
    last, report = judge.finish()
    return [*lines, last], report


def reached(lines: list[list[VerdictLine]]) -> dict[str, int]:
    """By limit the line at which it was stated; each is stated once."""
    found = [(n, line) for n, each in enumerate(lines, 1) for line in each]
    found = [(number, line) for number, line in found if isinstance(line, LimitLine)]
    assert all(number == line.at.line for number, line in found)
    assert len(found) == len({line.limit for _, line in found})
    return {line.limit: number for number, line in found if isinstance(line, LimitLine)}


@pytest.fixture(autouse=True)
def without_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of claims that ended hardly any is in hand."""
    monkeypatch.setattr(judge_module, "ENDED", 1)


class TestStated:
    def test_within(self) -> None:
        """Within the limits nothing is stated, and nothing changes."""
        most = Limits(live=LIVE, requests=CLAIMS, ids=CLAIMS)
        lines, _ = judged(most)
        assert {} == reached(lines)
        assert judged(Limits())[0] == lines

    def test_live(self) -> None:
        """The first line about one more claim than are followed."""
        lines, _ = judged(Limits(live=LIVE - 1))
        numbers = [n for n, line in enumerate(trace(CLAIMS), 1) if b"claim_registered" in line]
        assert {"live": numbers[LIVE - 1]} == reached(lines)

    def test_requests(self) -> None:
        """The same of requests."""
        lines, report = judged(Limits(requests=0))
        numbers = [n for n, line in enumerate(trace(CLAIMS), 1) if b"request_arrived" in line]
        assert {"requests": numbers[0]} == reached(lines)
        assert {"requests-limit"} == {each.reason for each in report.breaks}

    def test_ids(self) -> None:
        """The line by which the first id is forgotten; the verdicts are what they were."""
        lines, report = judged(Limits(ids=2))
        ends = [n for n, each in enumerate(lines, 1) if any(isinstance(x, ClaimLine) for x in each)]
        (at,) = reached(lines).values()
        assert at in ends[3:]
        rest = [[x for x in each if not isinstance(x, LimitLine)] for each in lines]
        assert judged(Limits())[0] == rest
        assert not report.theorem.applies

    def test_restart(self) -> None:
        """A judge that goes on from a snapshot states what it had not stated, and nothing twice."""
        lines, _ = judged(Limits(ids=2))
        (at,) = reached(lines).values()
        for cut in (at - 1, at):
            before, after = (Judge("s", None, Counts(), limits=Limits(ids=2)) for _ in range(2))
            found = [before.take(line) for line in trace(CLAIMS)[:cut]]
            after.restore(before.snapshot())
            found += [after.take(line) for line in trace(CLAIMS)[cut:]]
            assert lines == [*found, after.finish()[0]]


class TestCommand:
    def test_in_the_file(self, tmp_path: Path, capsys: Capture) -> None:
        """It is a line of the file of verdicts, and is printed."""
        path, verdicts = tmp_path / "t.jsonl", tmp_path / "v.jsonl"
        path.write_bytes(b"".join(trace(CLAIMS)))
        args = ["follow", str(path), "--until-eof", "--verdicts", str(verdicts)]
        assert 1 == main([*args, "--max-live", "100", "--max-requests", "100", "--max-ids", "2"])
        lines = [json.loads(line) for line in verdicts.read_text().splitlines()]
        (line,) = (each for each in lines if each["schema"] == "resident-claims/followed-limit/1")
        assert ("ids", "engine") == (line["limit"], line["stream"])
        assert "limit  ids  stream engine  ids of claims" in capsys.readouterr().out

    def test_check(self, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
        """`check` has the same limits."""
        limits_of = partial(limits_asked, ended=1)
        monkeypatch.setattr("monitor.report.options.limits_asked", limits_of)
        path = tmp_path / "t.jsonl"
        path.write_bytes(b"".join(trace(CLAIMS)))
        args = ["check", str(path), "--format", "json"]
        main([*args, "--max-live", "1"])
        breaks = json.loads(capsys.readouterr().out)["breaks"]
        assert {"RC104"} == {each["code"] for each in breaks}
        main([*args, "--max-live", str(LIVE), "--max-ids", "2"])
        found = json.loads(capsys.readouterr().out)["theorem"]
        assert found["because"].startswith("ids of claims that ended were forgotten")

    @pytest.mark.parametrize("command", ["follow", "check"])
    @pytest.mark.parametrize("name", ["--max-live", "--max-requests", "--max-ids"])
    @pytest.mark.parametrize("text", ["0", "-1", "many", "1.5", "", "9" * 40])
    def test_mistyped(self, command: str, name: str, text: str, capsys: Capture) -> None:
        """A limit that is no number, or too small or large, is bad input."""
        assert 2 == main([command, "trace.jsonl", name, text])
        out, err = capsys.readouterr()
        assert "" == out
        assert name in err
        assert "Traceback" not in err

    def test_another_limit(self, tmp_path: Path, capsys: Capture) -> None:
        """A checkpoint that was made with another limit is refused."""
        path = tmp_path / "t.jsonl"
        path.write_bytes(b"".join(trace(CLAIMS)))
        args = ["follow", str(path), "--until-eof", "--checkpoint", str(tmp_path / "c")]
        assert 1 == main([*args, "--max-live", "50"])
        capsys.readouterr()
        assert 2 == main(args)
        assert "made with --max-live 50" in capsys.readouterr().err
        assert 1 == main([*args, "--max-live", "50"])


@pytest.mark.parametrize(("troubled", "listed"), [(0, 1), (3, 4)])
def test_claims_that_were_not_kept(troubled: int, listed: int) -> None:
    """Beside the claim that ended last, the report lists as many violated ones as are asked for."""
    judge = Judge("s", None, Counts(), limits=Limits(troubled=troubled))
    for line in trace(150):
        judge.take(line)
    assert listed == len(judge.finish()[1].claims)
