"""What a solver does not decide is not called proved, wherever it is asked."""

from __future__ import annotations

import sys
from typing import Any, Final

import pytest
import z3

from tests.mutation.mistakes import path_of
from tests.mutation.planting import planted

CHECK: Final = "proofs.check"
NONE: Final = "no solver"

# Each place that asks a solver in a check of a mode, and the exit code where none of its questions
# is decided. Those with 0 look for plainer runs or smaller cores, or ask what another one decides;
# a witness that is not made plain is not shown.
OF_BEST_EFFORT: Final = {
    NONE: 0,
    "_none of proofs.checks.statement.check": 3,
    "free of proofs.checks.statement.freedom": 3,
    "reach of proofs.engines.bounded.unrolling": 3,
    "recheck of proofs.engines.invariants.recheck": 3,
    "_search of proofs.engines.bounded.search": 3,
    "breaks_without of proofs.engines.bounded.assumption_bmc": 0,
    "plainest of proofs.engines.bounded.minimise": 3,
    "prefer of proofs.engines.bounded.minimise": 0,
    "_core of proofs.engines.proof_core": 0,
}
OF_HARD_PROTECTED: Final = {"_valid of proofs.checks.lemmas": 3}


def answered(mode: str, undecided: str) -> tuple[str, list[str]]:
    """The exit code of a check where this place decides nothing, and the places that asked."""

    def ask() -> str:
        asked: dict[str, None] = {}
        real: Any = z3.Solver.check

        def check(solver: z3.Solver, *assumed: Any) -> Any:
            frame: Any = sys._getframe(1)
            while not frame.f_globals["__name__"].startswith("proofs."):
                frame = frame.f_back
            site = f"{frame.f_code.co_name} of {frame.f_globals['__name__']}"
            asked[site] = None
            return z3.unknown if site == undecided else real(solver, *assumed)

        z3.Solver.check = check
        from proofs.check import check_mode, exit_code
        from spec.claims.states import Mode

        code = exit_code([check_mode(Mode(mode))])
        return "\n".join([str(code), *asked])

    code, *asked = planted(CHECK, path_of(CHECK).read_text(encoding="utf-8"), ask).split("\n")
    return code, asked


class TestUndecided:
    @pytest.mark.slow
    @pytest.mark.parametrize("site", OF_BEST_EFFORT)
    def test_best_effort(self, site: str) -> None:
        """A check of a mode whose questions at this place are not decided passes only where they
        matter to nothing that it calls proved."""
        code, asked = answered("best_effort", site)

        assert str(OF_BEST_EFFORT[site]) == code
        if site == NONE:
            assert {*OF_BEST_EFFORT} - {NONE} == {*asked}

    @pytest.mark.slow
    @pytest.mark.parametrize("site", OF_HARD_PROTECTED)
    def test_hard_protected(self, site: str) -> None:
        """So it is with the lemmas that only this mode has."""
        code, asked = answered("hard_protected", site)

        assert str(OF_HARD_PROTECTED[site]) == code
        assert site in asked
