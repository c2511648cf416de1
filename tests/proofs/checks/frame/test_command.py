"""`python -m proofs check frame`, in process: all of it once, and how each outcome is reported."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import msgspec
import pytest

from monitor.native import library
from proofs.__main__ import main
from proofs.checks.frame import command
from proofs.checks.frame.check import check_frame
from proofs.checks.frame.command import to_junit
from proofs.checks.frame.results import (
    SCHEMA,
    Answer,
    Change,
    Counterexample,
    Failure,
    FrameCheck,
    exit_code,
)
from proofs.checks.frame.statements import Lemma
from spec.claims.states import Mode
from spec.contract.obligations import OBLIGATIONS
from spec.stream.scopes import DELIVERY
from tests.proofs.checks.frame.spaces import without

pytestmark = pytest.mark.slow

Capture = pytest.CaptureFixture[str]
SHOWN = Counterexample(
    {"claim.state": "owed"}, {"kind": "request_finished"}, [Change("claim.state", "owed", "broken")]
)


def a_check(result: Any = "proved", *failures: Failure) -> FrameCheck:
    """A check of one lemma that came out so."""
    lemma = Answer("p", "frame", "It says.", result, {"o": 2}, list(failures), 0.1)
    return FrameCheck("resident-claims/frame/1", "t", "s", [Mode.DEMOTABLE], ["o"], [lemma], [])


class TestWhole:
    """The check as it is."""

    def test_all(self, tmp_path: Path, capsys: Capture) -> None:
        """Every lemma is proved for every mode. (It takes a while: it is all there is.)"""
        junit = tmp_path / "frame.xml"
        assert 0 == main(["check", "frame", "--format", "json", "--junit", str(junit)])
        check = msgspec.json.decode(capsys.readouterr().out, type=FrameCheck)
        assert SCHEMA == check.schema
        assert list(Mode) == check.modes
        assert list(OBLIGATIONS) == check.observers
        lemmas = [each for each in Lemma if library() is not None or each != Lemma.TABLES]
        assert lemmas == [answer.name for answer in check.lemmas]
        assert {"proved"} == {answer.result for answer in check.lemmas}
        assert {each.observer for each in check.invariants} <= set(OBLIGATIONS)
        suite = ET.parse(junit).getroot()
        counts = {name: suite.get(name) for name in ("tests", "failures", "errors")}
        assert {"tests": str(len(lemmas)), "failures": "0", "errors": "0"} == counts

    def test_modes(self, capsys: Capture) -> None:
        """Modes that are named after it are checked alone, each once, without what they lack."""
        assert 0 == main(["check", "frame", "best_effort", "soft_priority", "best_effort"])
        out = capsys.readouterr().out
        assert out.startswith("frame: proved. ")
        assert "for best_effort, soft_priority, both bundles" in out
        assert "request observers" not in out
        assert all(len(line) <= 80 for line in out.splitlines())

    def test_verbose(self, capsys: Capture) -> None:
        """-v says what each lemma says and what it was asked of, and lists the invariants."""
        assert 0 == main(["check", "frame", "best_effort", "-v"])
        out = capsys.readouterr().out
        said = " ".join(out.split())
        shown = [each for each in Lemma if library() is not None or each != Lemma.TABLES]
        assert all(each.says in said for each in shown if not each.of_requests)
        assert "claim_materialized_event: where the claim is in owed: " in said
        assert all(len(line) <= 80 for line in out.splitlines())

    def test_not_built(self, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
        """Without a library of these sources the check says that its tables are not checked."""
        monkeypatch.setattr("proofs.checks.frame.check.library", lambda: None)
        for form in ("text", "json"):
            assert 0 == main(["check", "frame", "best_effort", "--format", form])
            out = " ".join(capsys.readouterr().out.split())
            assert "the tables of the native core: no library of these sources is built" in out
        assert 1 == len(msgspec.json.decode(out)["not_checked"])

    def test_refuted(self) -> None:
        """A delivery that is dropped refutes the whole check."""
        check = check_frame([Mode.BEST_EFFORT], delivery=without("claim", "due"))
        assert 1 == exit_code(check)
        assert {"claim observers", "agreement"} == {
            lemma.name for lemma in check.lemmas if lemma.result == "refuted"
        }

    def test_bounded(self) -> None:
        """Where Z3 may do nothing, nothing is proved, and nothing is called refuted."""
        check = check_frame([Mode.BEST_EFFORT], delivery=DELIVERY, rlimit=1)
        assert 3 == exit_code(check)


class TestOutcomes:
    """Exit codes, text and JUnit of what could come out."""

    @pytest.mark.parametrize(
        ("check", "code", "said"),
        [
            (a_check(), 0, "frame: proved. 1 of 1 lemma proved, 2 questions"),
            (
                a_check("refuted", Failure("o", "at k", "refuted", "", SHOWN)),
                1,
                "refuted of o at k before: claim.state owed event: kind request_finished "
                "claim.state: owed expected, broken found",
            ),
            (a_check("refuted", Failure("o", "f", "refuted", "line 1: no")), 1, "line 1: no"),
            (a_check("unknown", Failure("o", "", "unknown")), 3, "frame: undecided. 0 of 1 lemma"),
            (a_check("unknown"), 3, "1 unknown"),
            (
                a_check("refuted", *[Failure("o", "", "refuted")] * 5),
                1,
                "and 2 others, see --format json",
            ),
        ],
    )
    def test_codes(
        self, monkeypatch: pytest.MonkeyPatch, capsys: Capture, check: Any, code: int, said: str
    ) -> None:
        """0 proved, 1 refuted, 3 unknown; and it is reported."""
        monkeypatch.setattr(command, "check_frame", lambda *_, **__: check)
        assert code == exit_code(check)
        assert code == main(["check", "frame"])
        assert said in " ".join(capsys.readouterr().out.split())
        assert code == main(["check", "frame", "--format", "json"])
        assert msgspec.json.decode(msgspec.json.encode(check)) == json.loads(
            capsys.readouterr().out
        )
        root = ET.fromstring(to_junit(check))
        failed = int(root.get("failures", "")) + int(root.get("errors", ""))
        assert (code != 0) == (failed > 0)


class TestBadInput:
    """What is reported instead of a traceback."""

    @pytest.mark.parametrize(
        "options",
        [["--bundle", "paper"], ["-o", "x.jsonl"], ["--depth", "3"], ["--story"]],
    )
    def test_options(self, options: list[str], capsys: Capture) -> None:
        """Options about runs do not apply."""
        assert 2 == main(["check", "frame", *options])
        assert "frame is not a mode" in capsys.readouterr().err

    def test_all_and_modes(self, capsys: Capture) -> None:
        """Every mode, or those that are named."""
        assert 2 == main(["check", "frame", "expiring", "--all"])
        assert "frame is not a mode" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("names", "said"),
        [
            (["fram"], "did you mean frame?"),
            (["frame", "expirin"], "did you mean expiring?"),
            (["frame", "lowering"], "lowering"),
            (["expiring", "demotable"], "several modes"),
        ],
    )
    def test_mistyped(self, names: list[str], said: str, capsys: Capture) -> None:
        """A name that is nearly right is understood as meant; modes are no list elsewhere."""
        assert 2 == main(["check", *names])
        assert said in capsys.readouterr().err
