"""The two questions about each mode: consistent, and sound."""

import pytest

from proofs import check as asking
from proofs.check import DEPTH, check_mode, exit_code
from proofs.encode import Bits, Integers
from proofs.engines.search import find_refutation
from proofs.engines.spacer import Invariant, Proof, ProofResult, prove, recheck
from proofs.model import model_of
from proofs.pair import swap_lemma
from spec.claims import Mode
from spec.modes import MODES, Bundle

# The fewest events in which a mode's whole bundle is exercised and satisfied.
WITNESS = {
    Mode.BEST_EFFORT: 3,
    Mode.SOFT_PRIORITY: 8,
    Mode.HARD_PROTECTED: 9,
    Mode.DEMOTABLE: 8,
    Mode.EXPIRING: 7,
    Mode.OFFLOADABLE: 11,
    Mode.ROUTED_REUSE: 8,
}

# What the papers' bundles do not carry: clauses that fail, and the fewest events that show one.
PAPER = {
    Mode.HARD_PROTECTED: ({"usefulness"}, 3),
    Mode.DEMOTABLE: ({"usefulness", "harm"}, 3),
    Mode.EXPIRING: ({"harm"}, 3),
}

# Without this obligation a clause fails: the fewest events that show it, or None up to depth 8.
NECESSARY = {
    Mode.BEST_EFFORT: {
        "claim_identity": 2,
        "materialization_predicate": 2,
        "claim_materialized_event": 2,
        "claim_scoped_telemetry": 4,
    },
    Mode.SOFT_PRIORITY: {
        "claim_identity": 2,
        "priority_influence": 5,
        "claim_scoped_telemetry": 2,
    },
    Mode.HARD_PROTECTED: {
        "claim_identity": 1,
        "explicit_acceptance": 1,
        "materialization_predicate": 3,
        "footprint_accounting": 4,
        "victim_exclusion_before_violation": 3,
        "explicit_conflict_action": 4,
        "blocking_claim_ids": 2,
        "claim_harm_attribution": 3,
        "ordered_lifecycle_events": 3,
        "claim_materialized_event": 3,
    },
    Mode.DEMOTABLE: {
        "claim_identity": 1,
        "explicit_acceptance": 1,
        "claim_demoted_before_loss": 4,
        "ordered_lifecycle_events": 3,
        "materialization_predicate": 3,
        "claim_harm_attribution": 3,
    },
    Mode.EXPIRING: {
        "claim_identity": 1,
        "explicit_acceptance": 1,
        "claim_expired_boundary": 3,
        "ordered_lifecycle_events": 3,
        "claim_harm_attribution": 3,
    },
    Mode.OFFLOADABLE: {
        "claim_identity": 1,
        "explicit_acceptance": 1,
        "materialization_predicate": 3,
        "offload_restorability": 4,
        "restoration_failure_outcome": 8,
        "ordered_lifecycle_events": 3,
        "claim_harm_attribution": 3,
    },
    Mode.ROUTED_REUSE: {
        "claim_identity": 6,
        "materialization_predicate": None,
        "route_cost_attribution": 5,
        "placement_attribution": 5,
        "reuse_routing_attribution": 7,
        "claim_scoped_telemetry": None,
    },
}
_DEPTH = 8


class TestContract:
    """The completed bundles."""

    @pytest.mark.parametrize("mode", Mode)
    def test_witnessed_and_proved(self, mode: Mode) -> None:
        """Each mode has a shortest witness of a pinned length and is proved without a bound."""
        check = check_mode(mode)

        assert "witnessed" == check.consistent.result
        assert WITNESS[mode] == len(check.consistent.story)
        assert ("proved", "spacer", None, True) == (
            check.sound.result,
            check.sound.engine,
            check.sound.bound,
            check.sound.rechecked,
        )
        assert 0 == exit_code([check])

    @pytest.mark.parametrize("mode", Mode)
    def test_each_obligation_is_needed(self, mode: Mode) -> None:
        """Without any one obligation a clause fails in a pinned number of events, but for two."""
        found = {}
        for name in MODES[mode].names():
            model = model_of(mode, Bundle.CONTRACT, Bits(6), without=frozenset({name}))
            outcome = find_refutation(model, _DEPTH)
            assert outcome.complete
            found[name] = outcome.depth if outcome.found else None

        assert NECESSARY[mode] == found

    def test_two_are_redundant(self) -> None:
        """In routed_reuse the predicate and telemetry can both go, and all clauses are proved."""
        without = frozenset(n for n, d in NECESSARY[Mode.ROUTED_REUSE].items() if d is None)
        model = model_of(Mode.ROUTED_REUSE, Bundle.CONTRACT, Integers(), without=without)

        assert 2 == len(without)
        assert Proof(ProofResult.PROVED, True) == prove(model)


class TestPaper:
    """The bundles as the papers print them."""

    @pytest.mark.parametrize("mode", Mode)
    def test_gaps(self, mode: Mode) -> None:
        """Three of the papers' bundles are refuted by three events; the others are proved."""
        check = check_mode(mode, Bundle.PAPER)

        if mode in PAPER:
            clauses, length = PAPER[mode]
            assert "refuted" == check.sound.result
            assert check.sound.failed
            assert clauses >= set(check.sound.failed)
            assert length == check.sound.bound == len(check.sound.story)
            assert 1 == exit_code([check])
        else:
            assert ("proved", None) == (check.sound.result, check.sound.bound)

    def test_bundles_differ_where_something_was_added(self) -> None:
        """The papers' bundle is refuted in exactly the modes that the contract adds to."""
        assert set(PAPER) == {mode for mode, spec in MODES.items() if spec.added}


class TestTrust:
    """What stands between an engine's answer and the word "proved"."""

    def test_recheck_refuses_what_is_no_invariant(self) -> None:
        """Neither "anything" nor "nothing" passes as an invariant of hard_protected."""
        import z3

        model = model_of(Mode.HARD_PROTECTED, Bundle.CONTRACT, Integers())

        assert "implication" == recheck(model, Invariant(lambda _: z3.BoolVal(True)))
        assert "initiation" == recheck(model, Invariant(lambda _: z3.BoolVal(False)))

    def test_recheck_refuses_what_is_not_preserved(self) -> None:
        """A predicate that the first event can leave fails consecution."""
        model = model_of(Mode.EXPIRING, Bundle.CONTRACT, Integers())
        import z3

        assert "consecution" == recheck(
            model, Invariant(lambda state: z3.Not(state["was.committed"]))
        )

    def test_work_limit_is_unknown(self) -> None:
        """Running out of work is unknown, not proved and not refuted."""
        model = model_of(Mode.HARD_PROTECTED, Bundle.CONTRACT, Integers())

        proof = prove(model, rlimit=1000)

        assert (ProofResult.UNKNOWN, False) == (proof.result, proof.rechecked)

    def test_bounded_result_says_its_bound(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where only the bounded search answers, the result carries the bound and no recheck."""
        monkeypatch.setattr(asking, "prove", lambda _: Proof(ProofResult.UNKNOWN, False, "limit"))

        sound = check_mode(Mode.EXPIRING, depth=5).sound

        assert ("proved", "search", 5, False) == (
            sound.result,
            sound.engine,
            sound.bound,
            sound.rechecked,
        )

    def test_vacuous_is_no_pass(self) -> None:
        """A depth too small for a witness is reported as vacuous and exits 3."""
        check = check_mode(Mode.EXPIRING, depth=2)

        assert ("vacuous", 2) == (check.consistent.result, check.consistent.depth)
        assert 3 == exit_code([check])

    def test_nothing_checked_is_no_pass(self) -> None:
        """An empty list of checks exits 3."""
        assert 3 == exit_code([])

    def test_swap(self) -> None:
        """Runs that each keep the rank lose in swapped order when priorities are swapped."""
        assert swap_lemma()

    def test_default_depth_reaches_every_witness(self) -> None:
        """The default depth is enough for the longest of the shortest witnesses."""
        assert max(WITNESS.values()) <= DEPTH
