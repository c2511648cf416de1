"""Changes of what all modes share, and of the lowering tables: what there are, and what kills."""

from __future__ import annotations

from collections import Counter

import pytest

from proofs.mutation.campaign import PLACES, campaign, everything, key_of
from proofs.mutation.changes import PARTS, WAYS, changes
from proofs.mutation.checks import CHECKS
from proofs.mutation.delivery import DeliveryChange, delivery_changes, refuted
from proofs.mutation.detection import distinguishes, noticed
from proofs.mutation.equivalence import compare_change, shown_same
from proofs.mutation.outcomes import judged_by, unchanged
from proofs.mutation.pins import unlike
from proofs.mutation.product import Compared
from proofs.mutation.runs import runs
from proofs.mutation.shared import TERMS
from proofs.mutation.tables import ROWS, probes, rows, rows_page, table_changes
from proofs.mutation.term_mutations import SLIPS, parts_of, slips
from proofs.mutation.trusted import ORIGINAL, Change
from spec.claims.claim import Mode
from spec.contract.interpretations import CLOSES
from spec.contract.ledgers import kind, loss, now, was
from spec.contract.modes import Depth
from spec.contract.vocabulary import c, e
from spec.events.alphabet import Kind
from spec.language.terms import FALSE, And, Const, Or
from spec.lowering.depths import MAY_SUPPLY
from spec.projection.delivery import DELIVERY
from tests.proofs.mutation.test_mutation import OF_PLACES

pytestmark = pytest.mark.slow

OF_WAYS = {
    "lack": 984,
    "affirm": 114,
    "compare": 306,
    "swap": 159,
    "sum": 127,
    "constant": 412,
    "tense": 428,
    "fewer": 313,
    "more": 530,
    "branch": 218,
    "keep": 48,
    "without": 280,
    "restrict": 20,
    "excuse": 220,
    "wait": 156,
    "void": 77,
    "instead": 190,
}


def named(part: str, name: str) -> Change:
    return next(change for change in changes(part) if change.name == name)


def said(part: str, says: str) -> Change:
    """The change that says so at its end."""
    return next(change for change in changes(part) if change.says.endswith(says))


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


class TestKnownSurvivors:
    """Mistakes that nothing noticed once."""

    @pytest.mark.parametrize(
        ("part", "says"),
        [
            (
                "auditor",
                "hard_protected, clause harm: not compared where the runtime is not responsible",
            ),
            *(
                ("auditor", f"{clause}: not compared where the runtime is responsible")
                for clause in (
                    "hard_protected, clause responsibility",
                    "hard_protected, clause usefulness",
                    "hard_protected, clause harm",
                )
            ),
            ("auditor", "clause harm: compare, in now.losses <= believes.harms"),
            ("world", "the world: no foreign name while a request is in hand"),
            ("world", "the world: others frozen while a request is in hand"),
            (
                "terms",
                "closes: fewer, in e.kind in {block_evicted, claim_committed, "
                "claim_retired, prefix_reused}",
            ),
        ],
    )
    def test_killed(self, part: str, says: str) -> None:
        """A clause that says less, a runtime that can do less, a window that stays open."""
        assert CHECKS["pins"](said(part, says)) is not None

    def test_registry(self) -> None:
        """A registry may not supply the answer to a failed restore."""
        name = "MAY_SUPPLY.claim_registry:more-restoration_failure_outcome"
        change = next(change for change in table_changes() if change.name == name)

        assert "claim_registry supplies" in str(CHECKS["pins"](change))
        assert "restoration_failure_outcome" not in MAY_SUPPLY[Depth.CLAIM_REGISTRY]


class TestChecks:
    """Each named check kills a change."""

    def test_structure(self) -> None:
        """An auditor that reads a fact is refused, and a register that depends on itself."""
        found = [c.structure for p in ("auditor", "ledgers") for c in changes(p) if c.structure]

        assert any("reads" in str(why) for why in found)
        assert any("depends on itself" in str(why) for why in found)

    def test_theorem(self) -> None:
        """A loss that nobody counts leaves the auditor with harm that did not happen."""
        found = CHECKS["theorem"](Change("t", "t", "t", "", ORIGINAL.instead({CLOSES: FALSE})))

        assert found is not None
        assert " fails after " in found

    def test_necessity(self) -> None:
        """A clause that says nothing needs no obligation."""
        found = CHECKS["necessity"](named("auditor", "hard_protected.blame:void-0"))

        assert found is not None
        assert found.startswith("hard_protected: blame no longer needs blocking_claim_ids in ")

    def test_tables(self) -> None:
        """A join of telemetry that supplies what it never can refutes a theorem."""
        name = "MAY_SUPPLY.telemetry_join:more-claim_expired_boundary"
        change = next(change for change in table_changes() if change.name == name)

        assert "telemetry is refuted" == CHECKS["theorem"](change)


class TestDelivery:
    """The terms by which events are delivered, which the frame theorem is asked of again."""

    def test_unchanged(self) -> None:
        """Of the terms as they are each lemma is proved."""
        assert refuted(DeliveryChange("none", "none", "", DELIVERY)) is None

    def test_lost(self) -> None:
        """A reason that is gone is noticed by the lemma that needs it."""
        change = next(c for c in delivery_changes() if c.name == "claim.due:void-0")

        assert CHECKS["frame"](change) == "claim observers, explicit_acceptance: is refuted"
        assert CHECKS["pins"](change) is None

    def test_subsumed(self) -> None:
        """What another reason delivers anyway is no change of any verdict."""
        change = next(c for c in delivery_changes() if c.name == "claim.due:more-13")
        (fate,) = campaign([change])

        assert ("equivalent", str(Compared.FRAME)) == (fate.result, fate.detail)


class TestTables:
    """Probes of the lowering tables."""

    def test_pinned(self) -> None:
        """The probes come to what is pinned, and the file is as it would be written."""
        assert rows() == probes()
        assert rows_page() == ROWS.read_text(encoding="utf-8")

    def test_undone(self) -> None:
        """A change of a table is in force inside, and undone after it."""
        before = dict(MAY_SUPPLY)
        for change in table_changes()[:: len(table_changes()) // 12]:
            with change.made():
                other = probes(change.table)
            assert other != probes(change.table), change.name
        assert before == MAY_SUPPLY


class TestEquivalent:
    """What is no change at all, and what is one."""

    def test_shown(self) -> None:
        """A register that no event can move otherwise is the same; one that stands still is not."""
        same = said("ledgers", "seen: more, in e.kind in {request_arrived}")
        other = said("ledgers", "committed: it keeps its value")

        assert [True, False] == shown_same([same, other])

    def test_waits(self) -> None:
        """A clause may wait for what never owes anything; one that says less because something is
        owed is another, and a run shows it."""
        same = said("auditor", "best_effort, clause usefulness: it waits for claim_identity")
        other = named("auditor", "offloadable.usefulness:wait-29")
        owed = said(
            "auditor",
            "best_effort, clause usefulness: it does not wait for claim_scoped_telemetry",
        )

        assert [True, False] == shown_same([same, owed])
        found, run = compare_change(other)
        assert (Compared.DIFFERENT, True) == (found, run is not None and distinguishes(other, run))

    def test_kinds(self) -> None:
        """A theorem that speaks of fewer kinds is another, though every term is the same."""
        other = named("world", "best_effort:without-block_cached")

        assert [False] == shown_same([other])
        assert (Compared.DIFFERENT, None) == compare_change(other)

    def test_rest(self) -> None:
        """What the others hold is told with each event: it may not come to something else."""
        other = named("ledgers", "pool.rest:swap-15")
        found, run = compare_change(other)

        assert [False] == shown_same([other])
        assert Compared.DIFFERENT is found
        assert run is not None
        assert run.endswith("claim_retired:mine=0:named=0:footprint=1:rest=2")

    @pytest.mark.parametrize(
        ("part", "same", "other"),
        [
            ("terms", "lifecycle_follows:constant-54", "lifecycle_follows:constant-53"),
            ("auditor", "beliefs.blamed:branch-1", "beliefs.blamed:fewer-6"),
            ("ledgers", "request facts.away:lack-14", "request facts.away:more-29"),
        ],
        ids=["stages that allow the same", "read only when set", "read only when it is the same"],
    )
    def test_searched(self, part: str, same: str, other: str) -> None:
        """Registers that differ where nobody minds are no change; where somebody does a run shows
        it."""
        found, run = compare_change(named(part, other))

        assert [False, False] == shown_same([named(part, same), named(part, other)])
        assert (Compared.RUN, None) == compare_change(named(part, same))
        assert Compared.DIFFERENT is found
        assert run is not None
        assert distinguishes(named(part, other), run)

    def test_campaign(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where no check notices a change the solver is asked: it survives, with a run that tells
        it, or it is no change."""
        for name in CHECKS:
            monkeypatch.setitem(CHECKS, name, lambda _: None)
        wanted = ["lifecycle_follows:constant-53", "lifecycle_follows:constant-54"]
        fates = {f.mutant: f for f in campaign([named("terms", name) for name in wanted])}
        survivor, same = (fates[name] for name in wanted)

        assert "survived" == survivor.result
        assert ": 1 claim_accepted claim_" in survivor.detail
        assert ("equivalent", str(Compared.RUN)) == (same.result, same.detail)
