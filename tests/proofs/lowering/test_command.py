"""`python -m proofs check lowering`, in process: all of it once, and how each outcome is told."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import msgspec
import pytest

from proofs.__main__ import main
from proofs.lowering import command
from proofs.lowering.check import audit
from proofs.lowering.command import to_junit
from proofs.lowering.results import (
    SCHEMA,
    Audit,
    Audited,
    LoweringCheck,
    Proof,
    exit_code,
)
from proofs.lowering.theorems import NAMES, prove, theorems
from proofs.lowering.universe import Compared, Universe
from spec.claims.states import Mode
from spec.contract.modes import Bundle
from spec.contract.supply import Depth
from spec.lowering.vocabulary import Label
from tests.proofs.lowering.planted import MISTAKES, plant

Capture = pytest.CaptureFixture[str]
UNIVERSE = {
    "items": 19 * (3 + 2 * 2 * 5 * 6 + 1) * 4 * 4 * 2,
    "pairs of items": 9088,
    "preconditions": 3**9 + 3**2 + 3**4 + 3 * 3**3 + 3**4,
    "atoms": 992,
    "signals": 7 * 21 * 4 * 2,
    "forbidden mappings": 7 * 7 * 8 * 8,
    "evidence": 7 * 19 * 19 * 2 * 2,
    "sets of obligations": 343_656,
    "subtypes": 5278,
    "obligations at one depth": 22_048,
    "whole rows": 10_926,
    "operations in the source": 1379,
}


def a_check(**parts: Any) -> LoweringCheck:
    """A check with nothing in it but one theorem that holds."""
    proof = Proof("p", "says", "proved", {"a case": "shown"}, 0.1)
    whole = LoweringCheck(
        schema="resident-claims/lowering-proof/1",
        tool="t",
        spec="s",
        theorems=[proof],
        universe=[Compared("points", 2, 0), Compared("source", 1, 0)],
        audit=Audit("d", Bundle.PAPER, 0, []),
    )
    return msgspec.structs.replace(whole, **parts)


def outcome(result: Any, witness: str = "shown") -> LoweringCheck:
    """A check of which one theorem came out so."""
    return a_check(theorems=[Proof("p", "says", result, {"a case": witness}, 0.1)])


DIFFERENT = a_check(universe=[Compared("points", 2, 1, "this one"), Compared("source", 1, 0)])
DISAGREED = a_check(
    audit=Audit("d", Bundle.PAPER, 0, [Audited(Mode.DEMOTABLE, Depth.NONE, "unknown", "rejected")])
)


class TestWhole:
    """The check as it is."""

    @pytest.mark.slow
    def test_all(self, tmp_path: Path, capsys: Capture) -> None:
        """Every theorem is proved with its cases shown, the relation is as its rules say on the
        whole universe, and the audit agrees in 14 of 14 rows."""
        junit = tmp_path / "lowering.xml"
        assert 0 == main(["check", "lowering", "--format", "json", "--junit", str(junit)])
        check = msgspec.json.decode(capsys.readouterr().out, type=LoweringCheck)
        assert SCHEMA == check.schema
        assert list(NAMES) == [proof.name for proof in check.theorems]
        assert 23 == len(NAMES)
        assert {"proved"} == {proof.result for proof in check.theorems}
        assert {"shown"} == {w for proof in check.theorems for w in proof.witnesses.values()}
        assert UNIVERSE == {part.what: part.points for part in check.universe}
        assert {0} == {part.differ for part in check.universe}
        assert 14 == check.audit.agree == len(check.audit.rows)
        suite = ET.parse(junit).getroot()
        counts = {name: suite.get(name) for name in ("tests", "failures", "errors")}
        assert {"tests": "36", "failures": "0", "errors": "0"} == counts

    def test_audit(self, universe: Universe, monkeypatch: pytest.MonkeyPatch) -> None:
        """The 14 rows of rc14 are derived again and agree; by tables in which nothing is unknown
        they would not."""
        found = audit(universe)
        labels = {(row.mode, row.depth): row.derived for row in found.rows}
        assert (14, 14) == (found.agree, len(labels))
        assert "sound_with_adapter" == labels[Mode.SOFT_PRIORITY, Depth.TELEMETRY_JOIN]
        assert "rejected" == labels[Mode.HARD_PROTECTED, Depth.NONE]
        known = {
            f: Label.APPROXIMATE if la is Label.UNKNOWN else la for f, la in universe.labels.items()
        }
        monkeypatch.setattr(universe, "labels", known)
        assert 12 == audit(universe).agree


class TestOutcomes:
    """Exit codes, text and JUnit of what could come out."""

    @pytest.mark.parametrize(
        ("check", "code", "said"),
        [
            (a_check(), 0, "lowering fails closed: 1 of 1 theorem proved, in 0.1 s"),
            (outcome("refuted"), 1, "lowering is refuted: 0 of 1 theorem proved, 1 refuted"),
            (
                outcome("unknown", "unknown"),
                3,
                "lowering is undecided: 0 of 1 theorem proved",
            ),
            (outcome("vacuous", "none"), 3, "no witness: a case: none"),
            (DIFFERENT, 1, "1 not so, the first: this one"),
            (DISAGREED, 1, "by lower and by the tables: 0/1 agree"),
        ],
    )
    def test_codes(
        self,
        monkeypatch: pytest.MonkeyPatch,
        capsys: Capture,
        check: LoweringCheck,
        code: int,
        said: str,
    ) -> None:
        """0 holds, 1 refuted or different, 3 unknown or vacuous; and it is reported."""
        monkeypatch.setattr(command, "check_lowering", lambda *_, **__: check)
        assert code == exit_code(check)
        assert code == main(["check", "lowering"])
        assert said in " ".join(capsys.readouterr().out.split())
        assert code == main(["check", "lowering", "--format", "json"])
        assert msgspec.json.decode(msgspec.json.encode(check)) == json.loads(
            capsys.readouterr().out
        )
        root = ET.fromstring(to_junit(check))
        failed = int(root.get("failures", "")) + int(root.get("errors", ""))
        assert (code != 0) == (failed > 0)

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            pytest.param(
                *("telemetry", ["at victim_exclusion_before_violation at telemetry_join"]),
                marks=pytest.mark.slow,
            ),
            ("fewer anchors", ["and, weakened, at", "obligation: ", "status: supported"]),
        ],
    )
    def test_counterexample(
        self, name: str, said: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Capture
    ) -> None:
        """A refuted theorem is reported with entries of a table, or with its descriptors."""
        with monkeypatch.context() as planted:
            plant(planted, *next(mistake for of, *mistake in MISTAKES if of == name))
            universe = Universe(whole=False)
            (theorem,) = theorems(universe, [name])
            check = a_check(theorems=[prove(theorem, universe)])
        monkeypatch.setattr(command, "check_lowering", lambda *_, **__: check)
        assert 1 == main(["check", "lowering"])
        out = " ".join(capsys.readouterr().out.split())
        assert f"refuted {name}" in out
        assert all(words in out for words in said)


class TestBadInput:
    """What is reported instead of a traceback."""

    @pytest.mark.parametrize(
        "options",
        [["--all"], ["--bundle", "paper"], ["-o", "x.jsonl"], ["--depth", "3"], ["--story"]],
    )
    def test_options(self, options: list[str], capsys: Capture) -> None:
        """Options about modes and runs do not apply."""
        assert 2 == main(["check", "lowering", *options])
        assert (
            "lowering is not a mode: it takes only -v, --format and --junit"
            in capsys.readouterr().err
        )

    def test_mistyped(self, capsys: Capture) -> None:
        """A name that is nearly right is understood as meant."""
        assert 2 == main(["check", "lowring"])
        assert "did you mean lowering?" in capsys.readouterr().err
