"""Tests of spec.claims.states."""

import itertools
from collections import Counter

from spec.claims.lifecycle import ClaimLifecycle
from spec.claims.states import (
    RESPONSIBLE,
    TERMINAL,
    TRANSITIONS,
    TRIGGERS,
    ClaimState,
    next_state,
)
from tests.spec.lives import PATHS, claim

GRID = """
trigger                   sub acc mat off res har
claim_accepted            acc  -   -   -   -   -
claim_rejected            ref  -   -   -   -   -
claim_materialized         -  mat mat mat mat mat
claim_unmaterialized       -  acc acc off res har
claim_offloaded            -  off off off  -  off
claim_restore_required     -   -  res res res res
claim_restored             -   -  mat mat mat mat
claim_restoration_failed   -   -  mat off off har
claim_demoted              -  dem dem dem dem dem
claim_expired              -  exp exp exp exp exp
claim_released            rel rel rel rel rel rel
claim_harmed               -  har har har har har
"""
"""The states after each trigger, in three letters, by the state before; nothing else moves."""


class TestTable:
    """The one table."""

    def test_counts(self) -> None:
        """Ten states, twelve triggers and 49 rows, of which four states end a claim."""
        assert (10, 12, 49) == (len(ClaimState), len(TRIGGERS), len(TRANSITIONS))
        assert Counter(
            claim_accepted=1,
            claim_rejected=1,
            claim_materialized=5,
            claim_unmaterialized=5,
            claim_offloaded=4,
            claim_restore_required=4,
            claim_restored=4,
            claim_restoration_failed=4,
            claim_demoted=5,
            claim_expired=5,
            claim_released=6,
            claim_harmed=5,
        ) == Counter(row.trigger for row in TRANSITIONS)
        assert {"demoted", "expired", "released", "refused"} == TERMINAL
        assert {"accepted", "materialized", "offloaded", "restoring", "harmed"} == RESPONSIBLE
        assert {ClaimState.SUBMITTED} == set(ClaimState) - TERMINAL - RESPONSIBLE

    def test_grid(self) -> None:
        """Each row leads where the grid says, and the grid has no other."""
        head, *lines = (line.split() for line in GRID.strip().splitlines())
        expected = {
            (line[0], source, dest)
            for line in lines
            for source, dest in zip(head[1:], line[1:], strict=True)
            if dest != "-"
        }
        assert expected == {(row.trigger, row.source[:3], row.dest[:3]) for row in TRANSITIONS}

    def test_deterministic(self) -> None:
        """A trigger leads from a state to one state, and each row says why."""
        assert 49 == len({(row.source, row.trigger) for row in TRANSITIONS})
        assert all(row.why for row in TRANSITIONS)

    def test_next_state(self) -> None:
        """Of the 120 pairs of a state and a trigger, 49 lead somewhere: where the table says."""
        pairs = list(itertools.product(ClaimState, TRIGGERS))
        taken = [pair for pair in pairs if next_state(*pair) is not None]
        assert (120, 49) == (len(pairs), len(taken))
        assert all(row.dest is next_state(row.source, row.trigger) for row in TRANSITIONS)
        assert next_state(ClaimState.ACCEPTED, "active_refused") is None

    def test_reachable(self) -> None:
        """Every state is reached from submission, none further than three steps."""
        assert set(ClaimState) == set(PATHS)
        assert Counter({0: 1, 1: 3, 2: 5, 3: 1}) == Counter(map(len, PATHS.values()))

    def test_responsibility(self) -> None:
        """Only acceptance begins responsibility, and only three triggers end it."""
        begins, ends = set(), set()
        for row in TRANSITIONS:
            if (row.source in RESPONSIBLE) < (row.dest in RESPONSIBLE):
                begins.add(row.trigger)
            if (row.source in RESPONSIBLE) > (row.dest in RESPONSIBLE):
                ends.add(row.trigger)
        assert {"claim_accepted"} == begins
        assert {"claim_demoted", "claim_expired", "claim_released"} == ends

    def test_machine_is_the_table(self) -> None:
        """The machine has the rows of the table, and no trigger besides."""
        machine = ClaimLifecycle(claim())._machine
        rows = [
            (trigger, row.source, row.dest)
            for trigger, event in machine.events.items()
            for row in itertools.chain.from_iterable(event.transitions.values())
        ]
        assert sorted(rows) == sorted((row.trigger, row.source, row.dest) for row in TRANSITIONS)
        assert list(machine.states) == list(ClaimState)
