"""The auditor reads reports, truth reads facts, and the two share nothing."""

from collections.abc import Mapping

import pytest
import z3

from proofs.logic.encode import Expr, Integers
from proofs.model.auditor import BELIEFS, NAMES, check_reports_only
from proofs.model.of_mode import model_of
from proofs.model.theorems import BLAME
from spec.claims.states import Mode
from spec.contract.ledgers import CLAIM_FACTS, REQUEST_FACTS, kind, was
from spec.contract.modes import Bundle
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


def remembered(runs: list[dict[str, object]]) -> dict[str, object]:
    """What the auditor remembers of blame after some events, by the solver."""
    model = model_of(Mode.HARD_PROTECTED, Bundle.CONTRACT, Integers())
    state = _plain(model.state(""))
    for said in runs:
        event = _plain(model.event(""))
        event["kind"] = z3.IntVal(model.alphabet.index(Kind(str(said["kind"]))))
        for name, value in said.items():
            if name != "kind":
                event[name] = z3.BoolVal(value) if isinstance(value, bool) else z3.IntVal(value)
        following = model.step(state, event).following
        state = {n: z3.simplify(following.get(n, v)) for n, v in state.items()}
    values = {name: state[f"believed.{name}"] for name in NAMES}
    return {n: z3.is_true(v) if z3.is_bool(v) else v.as_long() for n, v in values.items()}


def _plain(variables: Mapping[str, Expr]) -> dict[str, Expr]:
    return {n: z3.BoolVal(False) if z3.is_bool(v) else z3.IntVal(0) for n, v in variables.items()}


REFUSED: dict[str, object] = {
    "kind": "request_refused",
    "here": True,
    "accuses": True,
    "blamed": True,
    "blamed_rest": 3,
    "blamed_least": 2,
    "shared_unblamed": 1,
}


class TestMemory:
    """Whom the last action on the request blamed."""

    def test_names_are_kept(self) -> None:
        """What an action said of those named is there after later events, too."""
        later = [{"kind": "block_lost", "mine": True}, {"kind": "request_finished", "here": True}]

        found = remembered([REFUSED, *later])
        assert {name: REFUSED.get(name, False) for name in NAMES} == found

    def test_a_bare_deferral_changes_nothing(self) -> None:
        """A deferral that names nobody leaves the names to another action."""
        found = remembered([REFUSED, {"kind": "request_deferred", "here": True}])
        assert found["blamed"] is True

    def test_the_last_action_counts(self) -> None:
        """An action that names nobody, and had to, is remembered as that."""
        found = remembered([REFUSED, {"kind": "request_bounded", "here": True}])
        assert dict.fromkeys(NAMES, 0) == found

    def test_another_request_is_another(self) -> None:
        """An action on another request is not remembered for this one."""
        found = remembered([{**REFUSED, "here": False}])
        assert dict.fromkeys(NAMES, 0) == found

    def test_the_clause_reads_memory(self) -> None:
        """What the clause judges of names is what is remembered, not what the event says."""
        read = {(v.scope, v.name) for v in variables(BLAME.holds)}

        assert {
            (Scope.BELIEVES, name) for name in ("blamed", "blamed_rest", "blamed_least")
        } <= read
        assert (
            not {(Scope.EVENT, name) for name in ("blamed_rest", "blamed_least", "shared_unblamed")}
            & read
        )
