"""Events are about objects: what names another claim than the one on its object, or none at all."""

from __future__ import annotations

from typing import Any

import pytest

from monitor.input.errors import InputError
from spec.claims.states import Mode
from tests.monitor.traces import (
    CLAIM,
    OTHER,
    Line,
    Trace,
    claim_of,
    having,
    judge,
    verdicts,
    without,
)
from tests.monitor.traces_canonical import about, canonical, canonical_claim


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
        """The same name in another cache, or of other tokens, is another object. Its acceptance
        states no predicate, so that nothing is concluded of what it accepts."""
        registered = [{**line, "token_map": "map:1"} for line in canonical_claim()]
        elsewhere = {**self.accepted, field: "another"}
        assert "satisfied" == self.identity([*registered, elsewhere])
        report = judge([*registered, elsewhere], Mode.HARD_PROTECTED)
        found = claim_of(report, OTHER).obligations
        assert {("inconclusive", "RC206")} == {(each.verdict, each.code) for each in found.values()}

    @pytest.mark.parametrize("field", ["cache_identity", "token_map"])
    def test_said_less(self, field: str) -> None:
        """A report that says less of the object means it all the same."""
        registered = [{**line, "token_map": "map:1"} for line in canonical_claim()]
        less = {**self.accepted, "token_map": "map:1"}
        del less[field]
        assert "violated" == self.identity([*registered, less])


def unnamed(kind: str, **fields: Any) -> Line:
    """A fact of one request that names no claim."""
    return canonical(kind, request_id="q", **fields)


AWAY = (
    *canonical_claim(mode="offloadable"),
    about("store_finished"),
    about("claim_offloaded"),
    canonical("block_evicted", block_ids=[100, 101, 102, 103]),
)
OURS = {"object_id": f"object:{CLAIM}"}
KNOWN = without(
    canonical_claim(mode="routed_reuse"), "claim_committed", "claim_accepted", "claim_materialized"
)


class TestUnnamed:
    """A fact that names no claim is about the claims on its object, or of its blocks."""

    def restorable(self, *lines: Line) -> str:
        report = judge([*AWAY, *lines], Mode.OFFLOADABLE)
        return verdicts(report)["offload_restorability"]

    def routed(self, *lines: Line) -> str:
        arrived = unnamed("request_arrived", needed=1, usable=80)
        trace = [*KNOWN, arrived, *lines, unnamed("request_finished")]
        return verdicts(judge(trace, Mode.ROUTED_REUSE))["route_cost_attribution"]

    def test_reuse(self) -> None:
        """A prefix that was reused and not restored is a breach, if it is known to be the claim's;
        if its block is unknown, nothing is kept."""
        assert "unexercised" == self.restorable()
        assert "violated" == self.restorable(unnamed("prefix_reused", **OURS))
        assert "inconclusive" == self.restorable(unnamed("prefix_reused", block_ids=[7]))
        assert "unexercised" == self.restorable(unnamed("prefix_reused", object_id="another"))

    @pytest.mark.parametrize("cache", ["cache:v1", "cache:v2"])
    def test_cache(self, cache: str) -> None:
        """The object of another cache is another object."""
        mine = "violated" if cache == "cache:v1" else "unexercised"
        reused = unnamed("prefix_reused", **OURS, cache_identity=cache)
        assert mine == self.restorable(reused)

    def test_route(self) -> None:
        """A route of the claim's object is owed its cost; one of another object is not."""
        fields = {"cost": 5, "worker": "w"}
        assert "violated" == self.routed(unnamed("request_routed", **OURS, **fields))
        assert "unexercised" == self.routed(unnamed("request_routed", object_id="x", **fields))
        told = about("route_cost_reported", request_id="q", cost=5)
        assert "satisfied" == self.routed(unnamed("request_routed", **OURS, **fields), told)

    def test_reason(self) -> None:
        """The reason names the fact that says too little, and its line."""
        report = judge([*AWAY, unnamed("load_failed", block_ids=[7])], Mode.OFFLOADABLE)
        found = report.claims[0].obligations["restoration_failure_outcome"]
        assert "load_failed names no claim, object or key, and no known block" == found.why
        assert found.at is not None
        assert len(AWAY) + 1 == found.at.line

    def test_what_is_open(self) -> None:
        """A reuse of an unknown block breaks the stream, in every mode."""
        reuse = unnamed("prefix_reused", block_ids=[7])
        for trace, mode in (
            ([*AWAY, reuse], Mode.OFFLOADABLE),
            ([*canonical_claim(), reuse], Mode.HARD_PROTECTED),
        ):
            report = judge(trace, mode)
            assert ["RC121"] == [each.code for each in report.breaks]
            assert set(report.obligations) == having(report, "inconclusive")

    @pytest.mark.parametrize(
        "fact",
        [
            canonical("store_finished", tier="cpu"),
            unnamed("load_finished", held=2),
            unnamed("load_failed"),
            unnamed("prefix_reused"),
            unnamed("request_routed", cost=5, worker="w"),
            unnamed("reuse_served", hit=True),
        ],
        ids=lambda fact: fact["kind"],
    )
    def test_names_nothing(self, fact: Line) -> None:
        """A store, load, reuse or route that names nothing is bad input, at its line."""
        with pytest.raises(InputError, match="states none of claim_id, object_id") as caught:
            judge([*canonical_claim(), fact], Mode.HARD_PROTECTED)
        assert len(canonical_claim()) + 1 == caught.value.line
        assert "claim_id" == caught.value.field

    def test_before_and_after(self) -> None:
        """A claim that is final keeps its verdict; of one that is registered after the break
        nothing is known."""
        ended = [about("claim_retired"), about("claim_released", by="tenant:1")]
        later = canonical_claim(OTHER, first=500, mode="offloadable")
        reuse = unnamed("prefix_reused", block_ids=[7])
        report = judge([*AWAY, *ended, reuse, *later], Mode.OFFLOADABLE)
        assert ["RC121"] == [each.code for each in report.breaks]
        assert "kept" == claim_of(report, CLAIM).verdict
        found = claim_of(report, OTHER).obligations
        assert {("inconclusive", "RC130")} == {(each.verdict, each.code) for each in found.values()}

    def test_failure(self) -> None:
        """A load of the claim's object that failed is its failure."""
        arrived = unnamed("request_arrived", needed=1, usable=80)
        failed = unnamed("load_failed", **OURS)
        report = judge([*AWAY, arrived, failed, unnamed("request_finished")], Mode.OFFLOADABLE)
        assert "restoration_failure_outcome" in having(report, "violated")

    def test_blocks(self) -> None:
        """A load into blocks that a claim owns is that claim's."""
        required = about("claim_restore_required", request_id="q")
        back = unnamed("load_finished", block_ids=[103], positions=[3], held=3)
        held = [*AWAY[:-1], canonical("block_evicted", block_ids=[100, 101, 102]), required]
        report = judge([*held, back], Mode.OFFLOADABLE)
        assert "inconclusive" not in report.obligations.values()
        back["block_ids"] = [900]
        report = judge([*held, back], Mode.OFFLOADABLE)
        assert "inconclusive" == report.obligations["offload_restorability"]

    def test_cached(self) -> None:
        """Blocks of the claim's object are the claim's; of no object they are ordinary cache."""
        claim = without(canonical_claim(), "block_cached")
        blocks = {"block_ids": [1, 2, 3], "positions": [0, 1, 2]}
        ours = [*claim[:-1], canonical("block_cached", **OURS, **blocks), claim[-1]]
        assert "kept" == judge(ours, Mode.HARD_PROTECTED).verdict
        nobody = [*claim[:-1], canonical("block_cached", **blocks), claim[-1]]
        report = judge(nobody, Mode.HARD_PROTECTED)
        assert {"materialization_predicate"} == having(report, "violated")

    def test_lost(self) -> None:
        """All blocks of an object are lost to the claims on it, and to no other."""
        lost = canonical("block_lost", **OURS)
        both = [*canonical_claim(), *canonical_claim(OTHER, first=500), lost]
        report = judge(both, Mode.HARD_PROTECTED)
        assert {"claim_harm_attribution"} == having(report, "pending")
        assert set() == having(report, "pending", OTHER)

    def test_identity_of_blocks(self) -> None:
        """A loss that names the claim and another object breaks the stream."""
        gone = {**about("block_lost"), "object_id": "another"}
        report = judge([*canonical_claim(), gone], Mode.HARD_PROTECTED)
        assert ["RC118"] == [each.code for each in report.breaks]
        assert set() == having(report, "violated")


class TestLookUp:
    """A look-up shows something of the predicate if it says what it found."""

    registered = without(canonical_claim(mode="best_effort"), "claim_materialized", "block_cached")

    def test_empty(self) -> None:
        """One that does not say shows nothing; one that finds more than is held breaks the
        stream."""
        name = "materialization_predicate"
        for held, verdict, codes in (
            (None, "unexercised", []),
            (0, "satisfied", []),
            (3, "inconclusive", ["RC114"]),
        ):
            looked_up = about("prefix_lookup", request_id="q", held=held)
            report = judge([*self.registered, looked_up], Mode.BEST_EFFORT)
            assert verdict == report.obligations[name]
            assert codes == [each.code for each in report.breaks]

    def test_identity(self) -> None:
        """It still names whom it names."""
        looked_up = {**about("prefix_lookup", request_id="q"), "object_id": "another"}
        report = judge([*self.registered, looked_up], Mode.BEST_EFFORT)
        assert {"claim_identity"} == having(report, "violated")
