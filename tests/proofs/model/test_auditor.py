"""The auditor reads reports, truth reads facts, and the two share nothing."""

import pytest

from proofs.model.auditor import BELIEFS, check_reports_only
from spec.contract.ledgers import CLAIM_FACTS, REQUEST_FACTS, kind, was
from spec.contract.vocabulary import e
from spec.events.alphabet import FACTS, REPORTS, Kind
from spec.language.machine import Ledger, Register
from spec.language.terms import KindIn, Scope, Sort, Term, children, variables


def kinds(term: Term) -> set[Kind]:
    """Every kind that a term tests for."""
    found = set(term.kinds) if isinstance(term, KindIn) else set()
    return found.union(*(kinds(child) for child in children(term)))


class TestSeparation:
    """What each side may look at."""

    def test_beliefs_read_reports_only(self) -> None:
        """No belief is updated by a fact or reads a register of facts."""
        check_reports_only(BELIEFS)
        assert not any(kinds(term) & FACTS for term in BELIEFS.following.values())

    @pytest.mark.parametrize("ledger", [CLAIM_FACTS, REQUEST_FACTS], ids=lambda x: x.name)
    def test_truth_reads_facts_only(self, ledger: Ledger) -> None:
        """No register of truth is updated by a report or reads the name in an event."""
        for term in ledger.following.values():
            assert not kinds(term) & REPORTS
            assert not any(v.scope is Scope.EVENT and v.name == "named" for v in variables(term))
            assert not any(v.name == "declared" for v in variables(term))

    def test_no_shared_register(self) -> None:
        """No variable of truth is a variable of belief."""
        read = {
            (v.scope, v.name)
            for ledger in (CLAIM_FACTS, REQUEST_FACTS)
            for term in ledger.following.values()
            for v in variables(term)
            if v.scope is not Scope.EVENT
        }
        assert not {scope for scope, _ in read} & {Scope.BELIEVED, Scope.BELIEVES}

    @pytest.mark.parametrize(
        "term", [was.responsible, e.mine, kind(Kind.CLAIM_COMMITTED)], ids=["ledger", "key", "fact"]
    )
    def test_cheating_is_refused(self, term: Term) -> None:
        """A belief that looks at a ledger, at the key, or at a fact is refused."""
        cheat = Ledger("cheat", (Register("x", Sort.BOOL, False),), {"x": term})

        with pytest.raises(ValueError, match=r"cheat\.x reads"):
            check_reports_only(cheat)
