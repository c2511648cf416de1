"""Events are about objects: what names another claim than the one on its object, or none at all."""

from __future__ import annotations

from typing import Any

import pytest

from spec.claims import Mode
from tests.monitor.traces import CLAIM, OTHER, Line, Trace, having, judge, verdicts
from tests.monitor.traces_canonical import about, canonical_claim


def misnamed(kind: str, **fields: Any) -> Line:
    """A report about the first claim's object under the other claim's id."""
    return {**about(kind, OTHER), "object_id": f"object:{CLAIM}", **fields}


class TestMisnamed:
    """A report about the object of a registered claim names that claim, or it is misnamed."""

    accepted = misnamed("claim_accepted", footprint=4)

    def identity(self, trace: Trace, claim: str = CLAIM) -> str:
        return verdicts(judge(trace, Mode.HARD_PROTECTED), claim)["claim_identity"]

    def test_acceptance(self) -> None:
        """An acceptance under an id that nobody registered misnames the claim that was meant."""
        assert "violated" == self.identity([*canonical_claim()[:2], self.accepted])
        assert "violated" == self.identity([*canonical_claim(), self.accepted])

    def test_afterwards(self) -> None:
        """So does whatever is reported under that id after its acceptance."""
        trace = [self.accepted, *canonical_claim()]
        assert "satisfied" == self.identity(trace)
        assert "violated" == self.identity([*trace, misnamed("claim_harmed")])

    def test_both_registered(self) -> None:
        """Two claims on one object are two claims, if a registry holds both."""
        for known in ("claim_registered", "claim_committed"):
            other = misnamed(known, footprint=4, predicate="leading_prefix_at_least(3)")
            trace = [*canonical_claim(), other, self.accepted]
            assert "satisfied" == self.identity(trace)
            assert "satisfied" == self.identity(trace, OTHER)

    @pytest.mark.parametrize("field", ["cache_identity", "token_map"])
    def test_another_object(self, field: str) -> None:
        """The same name in another cache, or of other tokens, is another object."""
        registered = [{**line, "token_map": "map:1"} for line in canonical_claim()]
        elsewhere = {**self.accepted, field: "another"}
        assert "satisfied" == self.identity([*registered, elsewhere])
        report = judge([*registered, elsewhere], Mode.HARD_PROTECTED)
        assert {"explicit_acceptance"} == having(report, "violated", OTHER)

    @pytest.mark.parametrize("field", ["cache_identity", "token_map"])
    def test_said_less(self, field: str) -> None:
        """A report that says less of the object means it all the same."""
        registered = [{**line, "token_map": "map:1"} for line in canonical_claim()]
        less = {**self.accepted, "token_map": "map:1"}
        del less[field]
        assert "violated" == self.identity([*registered, less])
