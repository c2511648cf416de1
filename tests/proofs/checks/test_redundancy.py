"""Obligations that a contract can do without are known, each with its reason."""

from pathlib import Path

import pytest

from proofs.check import check_mode
from proofs.checks.redundancy import REDUNDANT, redundancy
from proofs.checks.results import Lacking
from proofs.report.verdict import exit_code
from spec.claims.states import Mode
from spec.contract.modes import MODES

FINDINGS = Path(__file__).parents[3] / "docs" / "findings.md"


def lacking(mode: Mode, **results: str) -> dict[str, Lacking]:
    """What is known of a contract without each obligation: as it is pinned, but for some."""
    known = REDUNDANT.get(mode, {})
    return {
        name: Lacking(results.get(name, "redundant" if name in known else "necessary"))
        for name in MODES[mode].names()
    }


class TestKnown:
    def test_table(self) -> None:
        """What is known as redundant is in the contract, has a reason, and is a finding."""
        page = FINDINGS.read_text()
        for mode, known in REDUNDANT.items():
            for name, why in known.items():
                assert name in MODES[mode].names()
                assert why
                assert f"`{name}`" in page

    @pytest.mark.parametrize("mode", Mode)
    def test_as_known(self, mode: Mode) -> None:
        """Where all is as known nothing is reported."""
        found = redundancy(mode, lacking(mode))

        assert REDUNDANT.get(mode, {}) == found.known
        assert ([], [], []) == (found.unasked, found.needed, found.undecided)

    def test_changes(self) -> None:
        """What becomes redundant, is needed again or is not decided is named."""
        changed = lacking(
            Mode.ROUTED_REUSE,
            claim_identity="redundant",
            claim_scoped_telemetry="necessary",
            placement_attribution="unknown",
        )
        found = redundancy(Mode.ROUTED_REUSE, changed)

        assert ["claim_identity"] == found.unasked
        assert ["claim_scoped_telemetry"] == found.needed
        assert ["placement_attribution"] == found.undecided

    def test_one_that_is_gone(self) -> None:
        """One that is known as redundant and is not in the contract any more is named."""
        left = lacking(Mode.ROUTED_REUSE)
        del left["claim_scoped_telemetry"]

        assert ["claim_scoped_telemetry"] == redundancy(Mode.ROUTED_REUSE, left).needed


class TestCheck:
    def test_unasked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A check in which an obligation is redundant, and nobody has said so, exits 1."""
        monkeypatch.setitem(REDUNDANT, Mode.ROUTED_REUSE, {})

        check = check_mode(Mode.ROUTED_REUSE)

        assert sorted(["materialization_predicate", "claim_scoped_telemetry"]) == sorted(
            check.redundancy.unasked
        )
        assert 1 == exit_code([check])

    def test_needed_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One in which a run needs what is known as redundant exits 1."""
        monkeypatch.setitem(REDUNDANT, Mode.BEST_EFFORT, {"claim_identity": "for fun"})

        check = check_mode(Mode.BEST_EFFORT)

        assert ["claim_identity"] == check.redundancy.needed
        assert 1 == exit_code([check])
