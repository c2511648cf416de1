"""The checks that kill changes of what all modes share, and of the lowering tables."""

from __future__ import annotations

import pytest

from proofs.mutation.campaign.run import campaign
from proofs.mutation.detection.checks import CHECKS
from proofs.mutation.detection.frame import refuted
from proofs.mutation.detection.probes import ROWS, probes, rows, rows_page
from proofs.mutation.equivalence.product import Compared
from proofs.mutation.mutants.changes import changes
from proofs.mutation.mutants.delivery import DeliveryChange, delivery_changes
from proofs.mutation.mutants.tables import table_changes
from proofs.mutation.mutants.trusted import ORIGINAL, Change
from spec.contract.interpretations import CLOSES
from spec.contract.modes import Depth
from spec.language.terms import FALSE
from spec.lowering.depths import MAY_SUPPLY
from spec.stream.scopes import DELIVERY
from tests.proofs.mutation.shared import (
    named,
    saying,
)

pytestmark = pytest.mark.slow


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
        assert CHECKS["pins"](saying(part, says)) is not None

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

    @pytest.mark.deep
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
