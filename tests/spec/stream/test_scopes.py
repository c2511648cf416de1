"""The reasons of delivery as terms; that they suffice is proved in tests/proofs/frame."""

from __future__ import annotations

import pytest

from spec.contract.ledgers import REQUEST_FACTS
from spec.contract.vocabulary import EVENT_FIELDS
from spec.language.terms import Scope, Sort, Term, disj, variables
from spec.stream.scopes import DELIVERY, STANDS

REASONS = [
    pytest.param(scope, term, id=f"{scope}: {reason}")
    for scope, reasons in DELIVERY.reasons.items()
    for reason, term in reasons.items()
]


class TestReasons:
    """What they may read."""

    @pytest.mark.parametrize(("scope", "term"), REASONS)
    def test_terms(self, scope: str, term: Term) -> None:
        """Each is boolean and reads what is known before the event, but for an arrival's needs."""
        assert Sort.BOOL is term.sort
        read = {variable.scope for variable in variables(term)}
        assert {Scope.OWN, Scope.BELIEVED, Scope.BELIEVES}.isdisjoint(read)
        assert all(v.name in STANDS for v in variables(term) if v.scope is Scope.STANDS)

    @pytest.mark.parametrize("term", DELIVERY.claim.values(), ids=list(DELIVERY.claim))
    def test_claim(self, term: Term) -> None:
        """In the scope of the claim itself nothing is here, and no request is read."""
        assert all(v.name != "here" for v in variables(term))
        assert not {v.scope for v in variables(term)} & {Scope.REQ, Scope.REQ_WAS}

    def test_all_together(self) -> None:
        """An event is delivered for any of the reasons."""
        assert disj(*DELIVERY.opens.values()) == DELIVERY.term("opens")

    def test_names(self) -> None:
        """Registers, fields and reasons that are named are there."""
        registers = {register.name for register in REQUEST_FACTS.registers}
        assert DELIVERY.left <= DELIVERY.known <= registers
        assert DELIVERY.shared <= set(EVENT_FIELDS)
