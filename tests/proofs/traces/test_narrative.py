"""Runs told event by event."""

import pytest

from proofs.engines.bounded.search import find_refutation
from proofs.logic.encode import Bits
from proofs.model.of_mode import model_of
from proofs.traces.narrative import Line, tell
from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from tests.proofs import shared
from tests.proofs.goldens import assert_pinned


def page(lines: list[Line]) -> str:
    """A story as plain text."""
    text = ""
    for line in lines:
        text += f"{line.number} {'fact' if line.fact else 'report'} {line.kind}: {line.about}\n"
        text += "".join(f"    -> {change}\n" for change in line.changes)
        text += "".join(f"    {standing}\n" for standing in line.claims)
        text += "".join(f"    fails: {end.clause}: {end.why}\n" for end in line.fails)
    return text


def witness(mode: Mode) -> list[Line]:
    """The story of the plain witness of a mode."""
    return tell(*shared.witness(mode, plain=True))


def without(mode: Mode, name: str) -> list[Line]:
    """The story of what may happen without one obligation; empty where nothing may."""
    model = model_of(mode, Bundle.CONTRACT, Bits(6), without=frozenset({name}))
    found = find_refutation(model, 6, plain=True).found
    return [] if found is None else tell(model, found)


class TestWitnesses:
    @pytest.mark.parametrize("mode", Mode)
    def test_pinned(self, mode: Mode) -> None:
        """The story of each mode's witness is the one that was pinned."""
        assert_pinned(f"witness-{mode}", page(witness(mode)))

    def test_nothing_fails(self) -> None:
        """A witness ends well."""
        assert not any(line.fails for line in witness(Mode.EXPIRING))

    def test_claims_stand_beside(self) -> None:
        """Each line has where the claim stands: lifecycle, responsibility, blocks held."""
        lines = witness(Mode.HARD_PROTECTED)

        assert "accepted, responsible, 0 of 1 held" == str(lines[1].claims[0])
        assert "materialized" == lines[5].claims[0].state
        assert "materialized, responsible, 1 of 1 held" == str(lines[-1].claims[0])


class TestEndings:
    @pytest.mark.slow
    @pytest.mark.parametrize("mode", Mode)
    def test_pinned(self, mode: Mode) -> None:
        """What may happen without each obligation, and why the clause then fails, is pinned."""
        text = ""
        for name in MODES[mode].names():
            lines = without(mode, name)
            text += f"{mode} without {name}\n{page(lines) if lines else 'nothing of up to 6'}\n"

        assert_pinned(f"without-{mode}", text)

    def test_only_the_last_line_fails(self) -> None:
        """The clause that fails stands on the last line, with what is believed and what is so."""
        lines = without(Mode.HARD_PROTECTED, "claim_harm_attribution")

        assert [False, False, True] == [bool(line.fails) for line in lines]
        assert "the auditor counts 1, the facts 0" == lines[-1].fails[0].why

    def test_words_of_every_clause(self) -> None:
        """No clause of the theorem is without words of its own for how it fails."""
        from proofs.traces.endings import WORDED

        for mode in Mode:
            model = model_of(mode, Bundle.CONTRACT, Bits(6))
            assert {clause.name for clause in model.clauses} <= WORDED
