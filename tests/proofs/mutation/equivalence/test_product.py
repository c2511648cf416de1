"""Mutants of observer rules that the solver proves equivalent."""

from __future__ import annotations

import pytest

from proofs.mutation.equivalence import product
from proofs.mutation.equivalence.product import Compared, compare, difference, same_step
from spec.claims.states import Mode
from tests.proofs.mutation.shared import (
    changed,
    mutant,
)


class TestEquivalent:
    """What is no change at all."""

    STEP = "claim_scoped_telemetry.loss_not_reported:weaken-13"
    RUN = "claim_scoped_telemetry.loss_reported_while_predicate_true:remove-fallen"

    def test_step(self) -> None:
        """No step differs: from no state at all, or from none that a run can come to."""
        both = [mutant(Mode.BEST_EFFORT, name) for name in (self.STEP, self.RUN)]
        found = same_step(Mode.BEST_EFFORT, both[0].original, [changed(m) for m in both])

        assert [Compared.STEP, Compared.REACHED] == found

    @pytest.mark.slow
    def test_run(self) -> None:
        """What no run can reach makes no difference, by an invariant that Spacer finds."""
        found = mutant(Mode.BEST_EFFORT, self.RUN)

        assert Compared.RUN is compare(found.mode, found.original, changed(found))

    def test_different(self) -> None:
        """A mutant that judges otherwise is not taken for equivalent, and a run shows it."""
        found = mutant(
            Mode.BEST_EFFORT, "claim_scoped_telemetry.loss_reported_while_predicate_true:drop"
        )
        run = difference(found.mode, found.original, changed(found), plain=False)

        assert Compared.DIFFERENT is compare(found.mode, found.original, changed(found))
        assert run is not None

    @pytest.mark.slow
    def test_unknown(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the solver's work runs out, nothing is taken for equivalent."""
        monkeypatch.setattr(product, "RLIMIT", 1)
        monkeypatch.setattr(product, "agree", lambda *_: False)
        found = mutant(Mode.BEST_EFFORT, self.RUN)

        assert [None] == same_step(found.mode, found.original, [changed(found)])
        assert Compared.UNKNOWN is compare(found.mode, found.original, changed(found))
