"""Tests of the records of obligations, and of what is derived from observers."""

import pytest
from msgspec.structs import replace

from spec.claims.states import Mode
from spec.contract.facts import facts_of
from spec.contract.modes import MODES
from spec.contract.obligation import Answer, Place, While
from spec.contract.obligations import OBLIGATIONS, STATED
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
    """What an observer says by itself of facts."""

    def test_facts(self) -> None:
        """The facts that an observer rests on are found from its rules and their registers."""
        facts = {name: facts_of(observer) for name, observer in OBLIGATIONS.items()}
        assert {"route_cost_attribution", "placement_attribution"} == {
            name for name, of in facts.items() if Kind.REQUEST_ROUTED in of
        }
        assert Kind.LOAD_FAILED in facts["claim_harm_attribution"]
