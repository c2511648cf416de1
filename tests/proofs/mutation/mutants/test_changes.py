"""Changes of what all modes share, and of the lowering tables: which there are."""

from __future__ import annotations

from collections import Counter

import pytest

from proofs.mutation.campaign.run import PLACES, everything, key_of
from proofs.mutation.detection.of_changes import noticed
from proofs.mutation.detection.outcomes import judged_by, unchanged
from proofs.mutation.mutants.changes import PARTS, WAYS, changes
from proofs.mutation.mutants.shared_terms import TERMS
from proofs.mutation.mutants.terms import SLIPS, parts_of, slips
from proofs.mutation.mutants.trusted import ORIGINAL, Change
from proofs.mutation.pins import unlike
from proofs.mutation.runs.lines import runs
from spec.claims.states import Mode
from spec.contract.ledgers import kind, loss, now, was
from spec.contract.vocabulary import c, e
from spec.events.alphabet import Kind
from spec.language.terms import FALSE, And, Const, Or
from tests.proofs.mutation.shared import (
    OF_PLACES,
    OF_WAYS,
)

pytestmark = pytest.mark.slow


class TestSlips:
    """A term with one small mistake."""

    def test_each_kind(self) -> None:
        """Each kind of slip of the list is made somewhere in a term that has a place for it."""
        term = (now.lead - c.threshold < was.lead + 1).ite(
            kind(Kind.BLOCK_CACHED, Kind.BLOCK_EVICTED) & ~e.mine, e.lead.eq(e.usable)
        )

        assert set(SLIPS) == {slip.operator for slip in slips(term)}
        assert term not in {slip.term for slip in slips(term)}

    def test_comparisons(self) -> None:
        """Smaller becomes at most, at most becomes smaller, equal becomes either."""
        found = {
            slip.term
            for term in (was.lead < e.lead, was.lead <= e.lead, was.lead.eq(e.lead))
            for slip in slips(term)
            if slip.operator == "compare"
        }

        assert {was.lead <= e.lead, was.lead < e.lead, e.lead <= was.lead} == found

    def test_whole(self) -> None:
        """No slip is made inside a term that is to stay whole."""
        assert not [s for s in slips(~loss, {loss}) if s.operator != "affirm"]

    def test_parts(self) -> None:
        """A part is found among the parts of a larger whole, and nowhere else."""
        a, b, third, d = e.mine, e.named, e.here, e.blamed

        assert a & e.proof & d == parts_of(And((a, b, third, d)), b & third, e.proof)
        assert Or((a, b, third)) == parts_of(Or((a, b, third)), b & third, e.proof)
        assert Const(3) + e.lead == parts_of(e.rest + e.lead, e.rest, Const(3))


class TestChanges:
    """What changes there are."""

    def test_counts(self) -> None:
        """Each place and each way has a pinned number of changes, each with its own name."""
        found = {place: everything(place) for place in PLACES}
        ways = Counter(c.operator for p in (*PARTS, "delivery", "lowering") for c in found[p])

        assert OF_PLACES == {place: len(each) for place, each in found.items()}
        assert OF_WAYS == ways
        assert set(WAYS) == set(ways)
        for each in found.values():
            assert len(each) == len({key_of(change) for change in each})

    def test_everything_is_reached(self) -> None:
        """No register, no shared term, no clause and no part of the world goes without."""
        names = {change.name.rpartition(":")[0] for part in PARTS for change in changes(part)}
        for ledger, *_ in ORIGINAL.ledgers:
            wanted = ["rest"] if ledger.name == "pool" else ledger.following
            assert {f"{ledger.name}.{register}" for register in wanted} <= names
        assert set(TERMS) <= names
        for mode, clauses in ORIGINAL.clauses.items():
            assert {f"{mode}.{clause.name}" for clause in clauses} <= names
        assert isinstance(ORIGINAL.world, And)
        assert {f"world {place}" for place in range(len(ORIGINAL.world.args))} <= names

    def test_shared(self) -> None:
        """A slip in a shared term is made for every obligation, ledger and clause that uses it."""
        after = ORIGINAL.instead({loss: FALSE})
        others = {n for n, o in after.observers.items() if o is not ORIGINAL.observers[n]}

        assert {"offload_restorability", "claim_harm_attribution"} == others
        assert FALSE == after.observers["claim_harm_attribution"].rules[-4].when
        assert (
            after.following(ORIGINAL.ledgers[0][1])["losses"]
            != (ORIGINAL.following(ORIGINAL.ledgers[0][1])["losses"])
        )
        assert after.clauses[Mode.DEMOTABLE] != ORIGINAL.clauses[Mode.DEMOTABLE]
        assert after.clauses[Mode.ROUTED_REUSE] == ORIGINAL.clauses[Mode.ROUTED_REUSE]

    def test_unchanged(self) -> None:
        """What is not changed comes to what is pinned, and no check notices it."""
        same = Change("terms", "none", "none", "", ORIGINAL)

        assert [] == unlike()
        assert {} == dict(noticed(same))
        for line in list(runs())[:40]:
            outcome = judged_by(ORIGINAL).outcome(Mode.HARD_PROTECTED, line)
            assert outcome.fails == unchanged().outcome(Mode.HARD_PROTECTED, line).fails
