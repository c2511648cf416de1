"""The checks that kill mutants of observer rules."""

from __future__ import annotations

from dataclasses import replace

from proofs.mutation.detection.checks import CHECKS
from proofs.mutation.mutants.rules import mutants
from proofs.mutation.runs import lines
from spec.claims.states import Mode
from spec.contract.modes import MODES
from tests.proofs.mutation.shared import (
    mutant,
)


class TestChecks:
    """Each named check kills."""

    def test_structure(self) -> None:
        """A rule out of a violated state does not pass the observer's own validation."""
        found = mutant(Mode.EXPIRING, "claim_identity.identity_matches:add-violated")

        assert "claim_identity.identity_matches: violated is for good" == CHECKS["structure"](found)

    def test_theorem(self) -> None:
        """Without the rule against untrue acceptance an auditor believes what is not so."""
        found = CHECKS["theorem"](
            mutant(Mode.EXPIRING, "explicit_acceptance.acceptance_reported_without_commitment:drop")
        )

        assert found is not None
        assert found.startswith("responsibility fails after ")

    def test_theorem_holds(self) -> None:
        """No run breaks the theorem of an obligation that was not changed."""
        for mode in Mode:
            for name in MODES[mode].names():
                found = mutant(mode, f"{name}:omit-contract")
                assert CHECKS["theorem"](replace(found, rules=found.original.rules)) is None

    def test_traces(self) -> None:
        """A rule that is gone leaves the broken trace of its obligation uncondemned."""
        found = mutant(
            Mode.HARD_PROTECTED, "victim_exclusion_before_violation.evicted_while_responsible:drop"
        )

        assert "victim_exclusion_before_violation.broken" == CHECKS["traces"](found)

    def test_pins(self) -> None:
        """A guard that is negated gives some run another verdict than the pinned one."""
        found = mutant(
            Mode.HARD_PROTECTED, "explicit_conflict_action.conflict_action_not_reported:negate"
        )

        assert CHECKS["pins"](found) in lines.runs()

    def test_omitted(self) -> None:
        """Each obligation of each bundle is the only one to condemn some run."""
        omitted = [m for mode in Mode for m in mutants(mode) if m.operator == "omit"]

        assert {None} != {CHECKS["pins"](m) for m in omitted}
        assert [] == [m.name for m in omitted if CHECKS["pins"](m) is None]
