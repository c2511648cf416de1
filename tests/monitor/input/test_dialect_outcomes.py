"""An outcome of a failed restore is the event that it states, where the recording has no other."""

from __future__ import annotations

import pytest

from tests.monitor.input.dialect_lines import FAILED, REUSE, SPOKE, Line, conn, kinds
from tests.monitor.traces import OTHER
from tests.monitor.traces_reference import reference, reference_failed

STATES = {
    "demotion": ["claim_retired", "claim_demoted"],
    "expiry": ["duration_elapsed", "claim_retired", "claim_expired"],
    "harm": ["claim_harmed"],
    "refusal": [],
    "fallback_recompute": [],
}
TELLS = {
    "demotion": "resident_claim_demoted",
    "expiry": "resident_claim_expired",
    "harm": "resident_claim_harmed",
}


def outcome(dialect: str, outcome: str, **more: object) -> list[Line]:
    """A failed restore with this outcome."""
    if dialect == "connector":
        said = {"outcome_type": outcome, "restoration_generation": 1, **more}
        return [REUSE, FAILED, conn("resident_claim_restoration_failed", **said)]
    said = {"claim_scoped_outcome_type": outcome, "outcome_type": outcome, **more}
    return [reference_failed("q", event_sequence=1, **said)]


def told(dialect: str, event: str, request: str = "q") -> Line:
    """The event in so many words."""
    if dialect == "connector":
        return conn(event, request)
    return reference(event, request, event_sequence=1)


@pytest.mark.parametrize("dialect", ["connector", "reference"])
class TestOutcomes:
    @pytest.mark.parametrize("name", STATES)
    def test_is_the_event(self, dialect: str, name: str) -> None:
        """It says both: that the restore failed, and what became of the claim by it."""
        got = kinds(*outcome(dialect, name))
        assert STATES[name] == got[got.index("claim_restoration_failed") + 1 :]

    @pytest.mark.parametrize("name", TELLS)
    def test_told_afterwards(self, dialect: str, name: str) -> None:
        """An event that says it again is the same one; a third is not."""
        again = told(dialect, TELLS[name])
        once, twice = outcome(dialect, name), [*outcome(dialect, name), again]
        assert kinds(*once) == kinds(*twice)
        assert [*kinds(*once), STATES[name][-1]] == kinds(*twice, again)

    @pytest.mark.parametrize("name", TELLS)
    def test_told_before(self, dialect: str, name: str) -> None:
        """Nor is an outcome that states what was reported before another event."""
        lines = outcome(dialect, name)
        got = kinds(*lines[:-1], told(dialect, TELLS[name]), lines[-1])
        assert 1 == got.count(STATES[name][-1])
        assert "claim_restoration_failed" == got[-1]

    def test_another_harm(self, dialect: str) -> None:
        """A harm that another request tells is one more."""
        got = kinds(*outcome(dialect, "harm"), told(dialect, TELLS["harm"], "r9"))
        assert 2 == got.count("claim_harmed")

    @pytest.mark.parametrize("name", TELLS)
    def test_of_another(self, dialect: str, name: str) -> None:
        """An outcome in another claim's name states nothing of this one."""
        got = kinds(*outcome(dialect, name, outcome_claim_id=OTHER))
        assert "claim_restoration_failed" == got[-1]


def test_echo() -> None:
    """The connector's echo of what the scheduler said is no second event."""
    spoke = {**SPOKE, "claim_scoped_outcome_type": "harm"}
    echo = conn("resident_claim_restoration_failed", outcome_type="harm")
    assert 1 == kinds(REUSE, FAILED, spoke, echo).count("claim_harmed")
