"""Tests of the records of obligations, and of what is derived from observers."""

import pytest
from msgspec.structs import replace

from spec.claims.states import Mode
from spec.contract.modes import MODES
from spec.contract.obligation import Answer, Place, While
from spec.contract.obligations import OBLIGATIONS, STATED
from spec.contract.observed import facts_of, reading, resting_on
from spec.contract.supply import Depth
from spec.events.alphabet import Kind
from spec.language.terms import TRUE

HARM = STATED["claim_harm_attribution"]


class TestRecord:
    """What a record may say."""

    def test_place(self) -> None:
        """A place is printed in the paper or added with a reason, and not both."""
        for wrong in ({}, {"printed": 1, "added": "why"}):
            with pytest.raises(ValueError, match="printed in the paper's bundle, or added"):
                Place(Mode.EXPIRING, **wrong)  # type: ignore[arg-type]

    def test_strange_state(self) -> None:
        """A state or rule that the observer does not have is refused, wherever it is named."""
        place = Place(Mode.EXPIRING, added="why", unreached={".no_such_rule": "why"})
        for wrong in (
            {"answers": (Answer("tell", Kind.CLAIM_HARMED, ("no such",)),)},
            {"invariants": (While("holds", ("no such",), TRUE),)},
            {"places": (place,)},
        ):
            with pytest.raises(ValueError, match=r"claim_harm_attribution: no such state or rule"):
                replace(HARM, **wrong)

    def test_depths(self) -> None:
        """A backend patch supplies anything, other adapters what is stated."""
        assert {Depth.STORAGE_RESTORABILITY, Depth.ALLOCATOR_HOOK, Depth.BACKEND_PATCH} == {
            depth for depth in Depth if HARM.supplied_by(depth)
        }


class TestTables:
    """What is made from the records."""

    def test_rows(self) -> None:
        """The rows of table 1 are numbered without a gap, and the lists follow them."""
        rows = [stated.row for stated in STATED.values() if stated.row]
        assert list(range(1, len(rows) + 1)) == rows
        assert list(STATED) == list(OBLIGATIONS)

    @pytest.mark.parametrize("mode", Mode)
    def test_printed(self, mode: Mode) -> None:
        """The paper's bundle of a mode is numbered from 1 without a gap."""
        places = [place for each in STATED.values() if (place := each.place(mode))]
        printed = sorted(place.printed for place in places if place.printed)
        assert list(range(1, len(MODES[mode].paper) + 1)) == printed


class TestDerived:
    """What an observer says by itself of facts and fields."""

    def test_resting_on(self) -> None:
        """Those that rest on a fact are found from their rules."""
        assert {"route_cost_attribution", "placement_attribution"} == resting_on(
            Kind.REQUEST_ROUTED
        )
        assert "claim_harm_attribution" in resting_on(Kind.LOAD_FAILED)
        for kind in (Kind.LOAD_FAILED, Kind.REUSE_SERVED):
            assert all(
                (n in resting_on(kind)) == (kind in facts_of(OBLIGATIONS[n])) for n in STATED
            )

    def test_reading(self) -> None:
        """Those whose rules read a field are found, under the constants of the mode."""
        assert {"claim_scoped_telemetry"} == reading("new_loss", Mode.SOFT_PRIORITY)
        assert frozenset() == reading("new_loss", Mode.BEST_EFFORT)
        assert frozenset() == reading("no such field", Mode.SOFT_PRIORITY)
