"""What the theorem needs of the assumptions about the most general runtime."""

from __future__ import annotations

import pytest

from proofs.engines.answers import Question
from proofs.engines.invariants.recheck import ProofResult
from proofs.engines.invariants.recorded import prove
from proofs.logic.encode import Integers
from proofs.model import environment
from spec.claims.states import Mode
from spec.contract.facts import FACTS_ARE_FACTS, ROOM
from spec.language.terms import conj

SLOW = {Mode.OFFLOADABLE: pytest.mark.slow}  # the recorded invariant has the assumption in it


@pytest.mark.parametrize("mode", [pytest.param(m, marks=SLOW.get(m, ())) for m in Mode])
def test_without_room(mode: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    """The theorem holds where a claim takes fewer blocks than its predicate has positions, as in a
    pool whose every group has a window."""
    others = conj(*(each.holds for each in FACTS_ARE_FACTS if each.name != ROOM))
    monkeypatch.setattr(environment, "facts_are_facts", lambda: others)
    question = Question(mode)
    proof = prove(question.name, question.model(Integers()))
    assert ProofResult.PROVED is proof.result
