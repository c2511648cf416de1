"""The engines agree, say how far they go, and never pass for want of work."""

import pytest

from proofs.encode import Integers
from proofs.engines.explicit import Bounds, explore, machine_of
from proofs.engines.induction import induct
from proofs.engines.portfolio import Engine, answer
from proofs.engines.spacer import ProofResult
from proofs.model import model_of
from spec.claims import Mode
from spec.modes import Bundle

# Blocks of the instance, then every state and transition of it, and the longest shortest run.
EXPLICIT = {
    Mode.BEST_EFFORT: (2, 144, 3_492, 7),
    Mode.SOFT_PRIORITY: (2, 2_916, 36_828, 9),
    Mode.HARD_PROTECTED: (1, 5_162, 202_946, 16),
    Mode.DEMOTABLE: (2, 3_321, 87_435, 14),
    Mode.EXPIRING: (2, 3_051, 83_610, 13),
    Mode.OFFLOADABLE: (1, 77_734, 3_690_984, 24),
    Mode.ROUTED_REUSE: (2, 2_025, 80_444, 11),
}

# The k for which induction succeeds, or None.
K = {
    Mode.BEST_EFFORT: 1,
    Mode.SOFT_PRIORITY: 2,
    Mode.HARD_PROTECTED: 1,
    Mode.DEMOTABLE: 2,
    Mode.EXPIRING: 1,
    Mode.OFFLOADABLE: None,
    Mode.ROUTED_REUSE: 1,
}
_SLOW = {Mode.HARD_PROTECTED, Mode.OFFLOADABLE}
modes = pytest.mark.parametrize(
    "mode", [pytest.param(m, marks=pytest.mark.slow if m in _SLOW else ()) for m in Mode]
)


class TestExplicit:
    """Every state of a small instance, without Z3."""

    @modes
    def test_counts(self, mode: Mode) -> None:
        """The contract holds in an instance of a pinned number of states and transitions."""
        blocks, states, transitions, depth = EXPLICIT[mode]

        seen = explore(machine_of(model_of(mode, Bundle.CONTRACT, Integers())), Bounds(blocks))

        assert seen.complete
        assert (states, transitions, depth) == (seen.states, seen.transitions, seen.depth)

    @pytest.mark.parametrize("mode", [Mode.HARD_PROTECTED, Mode.DEMOTABLE, Mode.EXPIRING])
    def test_gaps_of_the_papers(self, mode: Mode) -> None:
        """The three bundles that the solvers refute in three events are refuted in three here."""
        seen = explore(machine_of(model_of(mode, Bundle.PAPER, Integers())), Bounds(1))

        assert seen.failed
        assert 3 == seen.depth == len(seen.run)

    def test_work_limit_is_unknown(self) -> None:
        """An instance that is not seen whole is no proof."""
        model = model_of(Mode.DEMOTABLE, Bundle.CONTRACT, Integers())

        assert not explore(machine_of(model), Bounds(states=10)).complete


class TestInduction:
    """k-induction over invariants that elimination leaves."""

    @modes
    def test_k(self, mode: Mode) -> None:
        """Each mode is proved by a pinned k, and rechecked, or is unknown."""
        found = induct(model_of(mode, Bundle.CONTRACT, Integers()))

        assert K[mode] == (found.k if found.proved else None)
        assert found.proved == found.rechecked

    def test_work_limit_is_unknown(self) -> None:
        """Running out of work is no proof."""
        model = model_of(Mode.EXPIRING, Bundle.CONTRACT, Integers())

        assert not induct(model, rlimit=1000).proved

    def test_a_gap_is_not_proved(self) -> None:
        """A bundle that a run refutes is not proved; what is shown may be unreachable."""
        found = induct(model_of(Mode.EXPIRING, Bundle.PAPER, Integers()))

        assert not found.proved
        assert found.possibly_unreachable is not None


class TestPortfolio:
    """One question, several engines."""

    @pytest.mark.parametrize("engine", Engine)
    def test_agree_on_the_contract(self, engine: Engine) -> None:
        """Every engine proves expiring, and only two of them without a bound."""
        found = answer(Mode.EXPIRING, Bundle.CONTRACT, engine, depth=5)

        assert ProofResult.PROVED is found.result
        assert (engine in (Engine.SEARCH, Engine.EXPLICIT)) == (found.bound is not None)
        assert found.rechecked == (found.bound is None)

    @pytest.mark.parametrize("engine", set(Engine) - {Engine.INDUCTION})
    def test_agree_on_the_gap(self, engine: Engine) -> None:
        """Every engine that can refute does so, with a run of three events."""
        found = answer(Mode.EXPIRING, Bundle.PAPER, engine, depth=5)

        assert ProofResult.REFUTED is found.result
        assert found.found is not None
        assert 3 == len(found.found.events)
