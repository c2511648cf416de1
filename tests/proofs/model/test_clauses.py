"""What each clause waits for, and where it is compared."""

import re
from pathlib import Path

import pytest

from proofs.check import check_mode
from proofs.checks.coverage import reachable
from proofs.checks.statement.check import statement_of
from proofs.engines.bounded.search import find_refutation
from proofs.engines.invariants.recheck import ProofResult
from proofs.engines.invariants.spacer import prove
from proofs.logic.encode import Bits, Integers
from proofs.model import pair, theorems
from proofs.model.of_mode import Model, model_of
from proofs.model.theorems import CLAUSES, Clause
from proofs.report.verdict import exit_code
from spec.claims.states import Mode
from spec.contract.ledgers import now
from spec.contract.modes import MODES, Bundle
from spec.language.terms import FALSE

PAGE = Path(__file__).parents[3] / "docs" / "theorem.md"

# A clause, and one of the obligations that it waits for.
WAITS = [
    (mode, clause.name, name)
    for mode in Mode
    for clause in (*CLAUSES.get(mode, ()), *((pair.FIRST_LOSS,) * (mode is Mode.SOFT_PRIORITY)))
    for name in sorted(clause.waits)
]


def impatient(clause: Clause, name: str) -> Clause:
    """The clause, compared while this obligation owes something, too."""
    return clause.after(*(clause.waits - {name}))


def without_waiting(mode: Mode, of: str, name: str, monkeypatch: pytest.MonkeyPatch) -> Model:
    """The contract, with one clause that does not wait for an obligation."""
    if mode is Mode.SOFT_PRIORITY:
        monkeypatch.setattr(pair, "FIRST_LOSS", impatient(pair.FIRST_LOSS, name))
    model = model_of(mode, Bundle.CONTRACT, Bits(6), only=frozenset({of}))
    model.clauses = tuple(impatient(clause, name) for clause in model.clauses)
    return model


class TestWaits:
    @pytest.mark.slow
    @pytest.mark.parametrize(("mode", "clause", "name"), WAITS)
    def test_minimal(
        self, mode: Mode, clause: str, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A clause that did not wait for one of its obligations would be broken by a short run."""
        found = find_refutation(without_waiting(mode, clause, name, monkeypatch), 8).found

        assert found is not None
        assert (clause,) == found.failed

    def test_goes_with_the_obligation(self) -> None:
        """An obligation that is not in the bundle excuses nothing."""
        model = model_of(
            Mode.HARD_PROTECTED,
            Bundle.CONTRACT,
            Bits(6),
            without=frozenset({"claim_harm_attribution"}),
            only=frozenset({"harm"}),
        )
        found = find_refutation(model, 6).found

        assert found is not None
        kinds = [model.alphabet[int(event["kind"])] for event in found.events]
        assert kinds[-1] in ("block_lost", "claim_harmed")

    def test_only_what_the_mode_has(self) -> None:
        """A clause waits for obligations of its mode's contract alone."""
        for mode, clause, name in WAITS:
            assert name in MODES[mode].names(), (mode, clause)

    def test_page(self) -> None:
        """The table on the page is what the clauses wait for, in every mode."""
        rows = re.findall(r"^\| (\w+) \| ([\w ]+) \| ((?:`\w+`,? ?)+)\|$", PAGE.read_text(), re.M)
        told = {
            (mode, clause, name)
            for mode, clause, names in rows
            for name in re.findall(r"\w+", names)
        }
        assert told == {(str(mode), clause, name) for mode, clause, name in WAITS}


LONG = {Mode.HARD_PROTECTED, Mode.DEMOTABLE, Mode.EXPIRING, Mode.OFFLOADABLE}
"""Their runs take the solver several seconds."""


class TestCompared:
    @pytest.mark.parametrize(
        "mode", [pytest.param(m, marks=pytest.mark.slow) if m in LONG else m for m in Mode]
    )
    def test_each(self, mode: Mode) -> None:
        """Each clause says where it could be otherwise, and some run compares it there."""
        clauses = model_of(mode, Bundle.CONTRACT, Integers()).clauses
        found = reachable(mode)

        assert all(clause.tested for clause in clauses)
        assert {f"{c.name}: {place}" for c in clauses for place, _ in c.tested} == set(
            found.compared
        )
        assert [] == found.uncompared

    def test_never_compared(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A clause that no run puts to the test is named, and the check exits 1."""
        (usefulness,) = CLAUSES[Mode.BEST_EFFORT]
        idle = Clause("idle", "says nothing", now.registered, (("ever", FALSE),))
        monkeypatch.setitem(theorems.CLAUSES, Mode.BEST_EFFORT, (usefulness, idle))

        found = reachable(Mode.BEST_EFFORT)

        assert ["idle: ever"] == found.uncompared
        assert found.complete
        assert not found.explained

    @pytest.mark.slow
    def test_waiting_for_ever(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A clause that waits for what is owed wherever it could be broken is never compared."""
        late = theorems.RESPONSIBILITY
        owed = (("owed", now.responsible & ~theorems.believes.responsible),)
        monkeypatch.setitem(
            theorems.CLAUSES,
            Mode.EXPIRING,
            (
                Clause(late.name, late.says, late.holds, owed).after(
                    "explicit_acceptance", "ordered_lifecycle_events", "claim_expired_boundary"
                ),
            ),
        )
        statement_of.cache_clear()
        try:
            check = check_mode(Mode.EXPIRING, full=True)
        finally:
            statement_of.cache_clear()

        assert ["clauses"] == [each.name for each in check.statement if each.result == "failed"][:1]
        assert check.consistent.reached is not None
        assert ["responsibility: owed"] == check.consistent.reached.uncompared
        assert 1 == exit_code([check])

    def test_impatience_is_refuted_for_every_length(self) -> None:
        """Spacer, too, refutes responsibility that does not wait for acceptance."""
        model = model_of(Mode.DEMOTABLE, Bundle.CONTRACT, Integers(), only=frozenset({"promise"}))
        model.clauses = (theorems.RESPONSIBILITY.after("ordered_lifecycle_events"),)

        assert ProofResult.REFUTED is prove(model).result
