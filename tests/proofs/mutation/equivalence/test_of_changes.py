"""Changes of what all modes share that the solver proves equivalent."""

from __future__ import annotations

import pytest

from proofs.mutation.campaign.run import campaign
from proofs.mutation.detection.checks import CHECKS
from proofs.mutation.detection.of_changes import distinguishes
from proofs.mutation.equivalence.of_changes import compare_change, shown_same
from proofs.mutation.equivalence.product import Compared
from tests.proofs.mutation.shared import (
    named,
    saying,
)

pytestmark = pytest.mark.slow


class TestEquivalent:
    """What is no change at all, and what is one."""

    @pytest.mark.deep
    def test_shown(self) -> None:
        """A register that no event can move otherwise is the same; one that stands still is not."""
        same = saying("ledgers", "seen: more, in e.kind in {request_arrived}")
        other = saying("ledgers", "committed: it keeps its value")

        assert [True, False] == shown_same([same, other])

    def test_waits(self) -> None:
        """A clause may wait for what never owes anything; one that says less because something is
        owed is another, and a run shows it."""
        same = saying("auditor", "best_effort, clause usefulness: it waits for claim_identity")
        other = named("auditor", "offloadable.usefulness:wait-29")
        owed = saying(
            "auditor",
            "best_effort, clause usefulness: it does not wait for claim_scoped_telemetry",
        )

        assert [True, False] == shown_same([same, owed])
        found, run = compare_change(other)
        assert (Compared.DIFFERENT, True) == (found, run is not None and distinguishes(other, run))

    def test_kinds(self) -> None:
        """A theorem that is about fewer kinds is another, though every term is the same."""
        other = named("world", "best_effort:without-block_cached")

        assert [False] == shown_same([other])
        assert (Compared.DIFFERENT, None) == compare_change(other)

    def test_rest(self) -> None:
        """What the others hold is reported with each event: it may not come to something else."""
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
    @pytest.mark.deep
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
