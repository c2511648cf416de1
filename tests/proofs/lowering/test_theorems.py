"""The theorems of lowering can fail, and say of what row; none of them is vacuous."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from proofs.lowering.pairs import Claim, Ways
from proofs.lowering.statements import evidence
from proofs.lowering.theorems import NAMES, Theorem, prove, theorems
from proofs.lowering.universe import Universe
from spec.lowering.load import parse_descriptor
from spec.lowering.relation import lower
from tests.proofs.lowering.planted import MISTAKES, plant

if TYPE_CHECKING:
    from proofs.lowering.results import Case, Counterexample


def the(name: str, universe: Universe) -> Theorem:
    (found,) = theorems(universe, [name])
    return found


def label(found: Counterexample, case: Case) -> str:
    """The label of a row of a counterexample, read back from what is printed."""
    descriptor = parse_descriptor(case.descriptor.encode(), "counterexample")
    shown = evidence(found.mode, tuple(case.shows)) if case.shows else None
    return lower(descriptor, found.mode, case.depth, found.bundle, shown).label


class TestProved:
    """The theorems as they are; all at once are in test_command."""

    def test_names(self, universe: Universe) -> None:
        """Each theorem is built under its own name, and is broken by something."""
        assert list(NAMES) == [theorem.name for theorem in theorems(universe)]
        assert set(NAMES) == {name for name, *_ in MISTAKES}

    def test_proved(self, universe: Universe) -> None:
        """A theorem that holds has a case of each of its witnesses, and no counterexample."""
        proof = prove(the("no other rise", universe), universe)
        assert ("proved", None) == (proof.result, proof.counterexample)
        assert {"shown"} == set(proof.witnesses.values())

    def test_vacuous(self, universe: Universe) -> None:
        """A theorem of which some case does not exist is vacuous, and no pass."""
        whole = the("telemetry", universe)
        always = Claim(Ways.of(universe), lambda *_: True)
        for absent in (always, False):
            found = prove(replace(whole, witnesses={"x": absent}), universe)
            assert ("vacuous", {"x": "none"}) == (found.result, found.witnesses)

    def test_unknown(self, universe: Universe, monkeypatch: pytest.MonkeyPatch) -> None:
        """A claim that the tables violate, and no descriptor that was found, is unknown."""
        broken = Claim(Ways.of(universe), lambda *_: False)
        monkeypatch.setattr("proofs.lowering.theorems.search", lambda *_: None)
        assert "unknown" == prove(Theorem("x", "x", (broken,)), universe).result


@pytest.mark.slow
class TestRefuted:
    """The relation with mistakes in its source."""

    @pytest.mark.parametrize(("name", "before", "after"), MISTAKES, ids=lambda each: each[:30])
    def test_planted(
        self, name: str, before: str, after: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The theorem is refuted, by an entry of a table or by a descriptor that the schema admits:
        the relation as it is gives one of its rows another label than the one with the mistake."""
        with monkeypatch.context() as planted:
            plant(planted, before, after)
            universe = Universe(whole=False)
            proof = prove(the(name, universe), universe)
        assert "refuted" == proof.result
        found = proof.counterexample
        assert found is not None or proof.points
        if found is not None:
            cases = [found.row, *([] if found.after is None else [found.after])]
            assert any([label(found, case)] != case.labels for case in cases)
