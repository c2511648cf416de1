"""Mutants of observer rules: which there are."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from proofs.mutation.mutants.rules import OPERATORS, mutants
from spec.claims.states import Mode
from spec.contract.modes import MODES
from spec.contract.obligations import OBLIGATIONS
from spec.language.terms import FALSE, TRUE
from tests.proofs.mutation.shared import (
    OF_OPERATORS,
    OF_PLACES,
    changed,
    mutant,
    rule,
)


class TestOperators:
    """What mutants there are."""

    def test_counts(self) -> None:
        """Each mode and each operator has a pinned number of mutants, each with its own name."""
        found = {mode: list(mutants(mode)) for mode in Mode}

        assert {str(mode): len(each) for mode, each in found.items()}.items() <= OF_PLACES.items()
        assert OF_OPERATORS == Counter(m.operator for each in found.values() for m in each)
        assert set(OPERATORS) == set(OF_OPERATORS)
        for each in found.values():
            assert len(each) == len({m.name for m in each})

    def test_each_rule(self) -> None:
        """No rule and no obligation of a bundle goes without its mutants."""
        for mode, spec in MODES.items():
            names = {m.name for m in mutants(mode)}
            assert {f"{name}:omit-contract" for name in spec.names()} <= names
            assert not spec.added or {f"{name}:omit-paper" for name in spec.paper} <= names
            for observer in spec.bundle():
                for r in observer.rules:
                    for operator in ("negate", "drop", "always"):
                        assert f"{observer.name}.{r.name}:{operator}" in names

    def test_every_target(self) -> None:
        """Each rule is led to each state that it does not lead to."""
        for observer in MODES[Mode.HARD_PROTECTED].bundle():
            names = {m.name for m in mutants(Mode.HARD_PROTECTED) if m.original == observer}
            for r in observer.rules:
                targets = {s.name for s in observer.states} - {r.to}
                assert {f"{observer.name}.{r.name}:retarget-{t}" for t in targets} <= names

    @pytest.mark.parametrize("operator", ["negate", "drop", "always"])
    def test_guards(self, operator: str) -> None:
        """A guard is negated, never holds, or always holds."""
        name = "explicit_conflict_action.conflict_action_not_reported"
        (original,) = (
            r
            for r in OBLIGATIONS["explicit_conflict_action"].rules
            if r.name == "conflict_action_not_reported"
        )
        expected = {"negate": ~original.when, "drop": FALSE, "always": TRUE}[operator]
        after = rule(Mode.HARD_PROTECTED, f"{name}:{operator}")

        assert replace(original, when=expected) == after

    @pytest.mark.parametrize(
        ("name", "says"),
        [
            ("weaken-1", "weaken, by e.mine"),
            ("narrow-1", "narrow, by e.kind in {claim_demoted}"),
            ("widen-1", "widen, by e.kind in {claim_expired}"),
            ("retarget-idle", "it leads to idle, not acted"),
            ("add-idle", "it applies in idle too"),
        ],
    )
    def test_parts(self, name: str, says: str) -> None:
        """A mutant says which part of its rule it touches."""
        found = mutant(
            Mode.HARD_PROTECTED, f"explicit_conflict_action.demotion_or_expiry_reported:{name}"
        )

        assert f"explicit_conflict_action, rule 'demotion_or_expiry_reported': {says}" == found.says
        assert changed(found) != found.original

    def test_remove_and_forget(self) -> None:
        """A rule no longer applies in a state; a register stays as it is."""
        removed = rule(
            Mode.HARD_PROTECTED, "explicit_conflict_action.conflict_action_not_reported:remove-idle"
        )
        names = {m.name for m in mutants(Mode.HARD_PROTECTED) if m.operator == "forget"}

        assert ("owed", "settled") == removed.source
        assert names
        for name in names:
            register = name.rpartition("forget-")[2]
            assert register not in rule(Mode.HARD_PROTECTED, name).sets
