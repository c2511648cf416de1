"""What of a contract is needed: every obligation but a few, and which of their rules."""

import pytest

from proofs.checks import necessity
from proofs.checks.necessity import lacking
from proofs.engines.bounded.assumption_bmc import AssumptionBmc, guards_of
from proofs.engines.bounded.search import find_refutation
from proofs.engines.invariants.recheck import Proof, ProofResult
from proofs.engines.invariants.spacer import prove
from proofs.logic.encode import Bits, Integers
from proofs.model.of_mode import model_of
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from tests.proofs.pinned import GUARDS_NOT_NEEDED, NECESSARY, UNWRITABLE, checked, checked_guards

pytestmark = pytest.mark.slow


class TestNecessity:
    """The contract without one obligation, or without one rule."""

    @pytest.mark.parametrize("mode", Mode)
    def test_each_obligation(self, mode: Mode) -> None:
        """Without an obligation a clause fails in a pinned number of events, or all is proved."""
        found = checked(mode).necessary

        assert NECESSARY[mode] == {name: without.length for name, without in found.items()}
        for name, without in found.items():
            assert without.result == ("necessary" if NECESSARY[mode][name] else "redundant")

    @pytest.mark.parametrize("mode", Mode)
    def test_runs_are_told(self, mode: Mode) -> None:
        """What is necessary comes with a story, the clause that fails, and events if it can be."""
        for name, without in checked(mode).necessary.items():
            if without.result == "necessary":
                assert without.failed
                assert without.length is not None
                assert without.length <= len(without.story) <= without.length + 3
                assert bool(without.trace) == ((mode, name) not in UNWRITABLE)

    @pytest.mark.parametrize("mode", [Mode.EXPIRING, Mode.BEST_EFFORT, Mode.SOFT_PRIORITY])
    def test_switched_off_is_left_out(self, mode: Mode) -> None:
        """The shared unrolling finds the same lengths as a system built without the obligation."""
        for name, length in NECESSARY[mode].items():
            model = model_of(mode, Bundle.CONTRACT, Bits(6), without=frozenset({name}))
            outcome = find_refutation(model, 8)
            assert length == (outcome.depth if outcome.found else None)

    @pytest.mark.parametrize("mode", [m for m in Mode if None in NECESSARY[m].values()])
    def test_redundant_together(self, mode: Mode) -> None:
        """The redundant obligations of a mode can all go at once, and all clauses are proved."""
        without = frozenset(n for n, d in NECESSARY[mode].items() if d is None)
        model = model_of(mode, Bundle.CONTRACT, Integers(), without=without)

        assert Proof(ProofResult.PROVED) == prove(model)

    @pytest.mark.parametrize("mode", Mode)
    def test_each_guard(self, mode: Mode) -> None:
        """Exactly the pinned rules are redundant one by one; a run needs each of the others."""
        results = {guard: without.result for guard, without in checked_guards(mode).items()}

        assert {"necessary", "redundant"} == set(results.values())
        assert GUARDS_NOT_NEEDED[mode] == {g for g, r in results.items() if r == "redundant"}

    @pytest.mark.parametrize("mode", [Mode.BEST_EFFORT, Mode.SOFT_PRIORITY, Mode.ROUTED_REUSE])
    @pytest.mark.deep
    def test_without_knowing_what_clauses_rest_on(self, mode: Mode) -> None:
        """A search that is not told what clauses rest on finds the same lengths."""
        runs, check = AssumptionBmc(mode), checked(mode)

        found = lacking(runs, (*runs.obligations, *runs.guards))
        known = {**check.necessary, **checked_guards(mode)}
        assert {n: w.length for n, w in known.items()} == {n: w.length for n, w in found.items()}

    @pytest.mark.parametrize(
        ("mode", "names"),
        [
            (
                Mode.BEST_EFFORT,
                {
                    "materialization_predicate.predicate_reported_false_while_true",
                    "claim_scoped_telemetry.loss_reported_while_predicate_true",
                },
            ),
            (
                Mode.OFFLOADABLE,
                {"restoration_failure_outcome", "claim_harm_attribution.outcome_not_reported"},
            ),
        ],
    )
    def test_duplicates_cannot_both_go(self, mode: Mode, names: set[str]) -> None:
        """Where one stands in for another, taking both out leaves a clause unproved."""
        model = model_of(mode, Bundle.CONTRACT, Integers(), without=frozenset(names))

        assert ProofResult.REFUTED is prove(model).result

    def test_deep_run_is_found(self) -> None:
        """Where Spacer says that a clause fails, the search goes on to the run that shows it."""
        found = lacking(AssumptionBmc(Mode.EXPIRING), ["claim_harm_attribution"], depth=1)

        assert 3 == found["claim_harm_attribution"].length

    def test_guards_are_the_rules_that_bind(self) -> None:
        """Rules that owe something or find a violation are guards; those that settle are not."""
        (observer,) = [o for o in MODES[Mode.EXPIRING].bundle() if o.name == "explicit_acceptance"]

        names = {
            "acceptance_reported_without_commitment",
            "reported_before_acceptance",
            "more_accepted_than_committed",
            "acceptance_not_reported",
            "responsibility_began",
        }
        assert {f"explicit_acceptance.{name}" for name in names} == set(guards_of(observer))

    def test_without_proof_is_unknown(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where neither a run nor a proof is found within the work limit, nothing is claimed."""
        monkeypatch.setattr(necessity, "prove", lambda _: Proof(ProofResult.UNKNOWN, "cut"))

        found = lacking(
            AssumptionBmc(Mode.EXPIRING), ["claim_identity", "claim_harm_attribution"], depth=1
        )

        assert ("necessary", 1) == (found["claim_identity"].result, found["claim_identity"].length)
        assert ("unknown", "cut") == (
            found["claim_harm_attribution"].result,
            found["claim_harm_attribution"].reason,
        )
