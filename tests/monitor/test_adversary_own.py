"""Decisions on one claim, by streams that tell two sides apart: copies, reuse, outcomes, actors."""

from __future__ import annotations

import pytest

from spec.claims.states import Mode
from tests.monitor.traces import CLAIM, OTHER, Line, judge, without
from tests.monitor.traces_canonical import canonical
from tests.monitor.traces_promises import (
    GONE,
    HARD,
    OFFLOADABLE,
    accepted,
    arrives,
    back,
    broken,
    cached,
    copied,
    looked_up,
    named,
    of,
    released,
    reused,
    there,
    verdict,
)

DEMOTABLE, EXPIRING = Mode.DEMOTABLE, Mode.EXPIRING


class TestCopies:
    """A copy in the tier makes a claim whole in offloadable, and in no other mode."""

    stored = (named("store_finished"), named("claim_offloaded"))

    @pytest.mark.parametrize(
        ("mode", "said"),
        [
            (OFFLOADABLE, "kept"),
            (DEMOTABLE, "violated"),
            (EXPIRING, "violated"),
            (HARD, "violated"),
        ],
    )
    def test_evicted(self, mode: Mode, said: str) -> None:
        """Its blocks are evicted beside a copy."""
        assert said == verdict(mode, *there(mode=mode), *self.stored, GONE)

    @pytest.mark.parametrize(("mode", "said"), [(OFFLOADABLE, "kept"), (HARD, "inconclusive")])
    def test_reset(self, mode: Mode, said: str) -> None:
        """They are lost to a reset: elsewhere harm is owed, and here it would be invented."""
        trace = [*there(mode=mode), *self.stored, canonical("block_lost")]
        assert said == verdict(mode, *trace)
        assert ("violated" if mode is OFFLOADABLE else "kept") == verdict(
            mode, *trace, named("claim_harmed")
        )

    def test_lost_copy(self) -> None:
        """A copy that is gone before the eviction is none."""
        trace = [*there(mode=OFFLOADABLE), *self.stored, named("host_copy_lost"), GONE]
        assert {"offload_restorability"} == broken(OFFLOADABLE, *trace)


class TestReuse:
    """What a request reuses was there, or was brought back for some request."""

    again = cached(CLAIM, 300, 0, 1, 2, 3, request_id="q")

    def judged(self, *lines: Line) -> str:
        report = judge([*copied(), *lines], OFFLOADABLE)
        return str(report.obligations["offload_restorability"])

    def test_own_computation(self) -> None:
        """A request computes the claim itself, and calls it reused."""
        assert "violated" == self.judged(arrives("q"), self.again, reused("q"))

    def test_unstated(self) -> None:
        """Where no line says who computed, the only request in hand did; of several nobody knows.
        What the line says to be found is nobody's computation."""
        plain = {key: value for key, value in self.again.items() if key != "request_id"}
        assert "violated" == self.judged(arrives("q"), plain, reused("q"))
        both = [arrives("q"), arrives("r")]
        assert "inconclusive" == self.judged(*both, plain, reused("q"))
        found = {**plain, "found": True}
        assert "unexercised" == self.judged(*both, found, reused("q"))

    def test_computed_by_another(self) -> None:
        """What another request has computed may be reused."""
        other = {**self.again, "request_id": "r"}
        assert "unexercised" == self.judged(arrives("r"), arrives("q"), other, reused("q"))

    def test_away_since(self) -> None:
        """There when the request arrived, away since, and not brought back."""
        trace = [*copied(), arrives("r"), *back("r"), reused("r"), of("finished", "r")]
        gone = canonical("block_evicted", block_ids=[200, 201, 202, 203])
        own = [arrives("q"), gone, self.again, reused("q")]
        assert "violated" == judge([*trace, *own], OFFLOADABLE).obligations["offload_restorability"]

    @pytest.mark.parametrize(("asked", "said"), [(4, "violated"), (2, "unexercised")])
    def test_recomputed(self, asked: int, said: str) -> None:
        """The request could have used the copy, and computed the claim instead."""
        look = looked_up("q", min(4, asked), asked)
        assert said == self.judged(arrives("q"), look, self.again, of("finished", "q"))

    def test_recomputed_with_an_outcome(self) -> None:
        """After an outcome that names the claim it may."""
        ends = [named("claim_retired", by="tenant:1"), named("claim_demoted", by="tenant:1")]
        look = looked_up("q", 4)
        assert "unexercised" == self.judged(arrives("q"), look, *ends, self.again)

    def test_recomputed_without_a_copy(self) -> None:
        """A claim that is neither there nor copied asks for nothing."""
        trace = [*accepted(mode=OFFLOADABLE), arrives("q"), looked_up("q", 0), self.again]
        assert set() == broken(OFFLOADABLE, *trace, named("claim_materialized"))


class TestOutcomes:
    """An outcome is what happened, before the request goes on and before it ends."""

    name = "restoration_failure_outcome"
    failed = (arrives("q"), named("claim_restore_required", CLAIM, "q"))
    loss = named("load_failed", CLAIM, "q")
    refused = of("refused", "q", blocking_claim_ids=[CLAIM], restore=True)
    ended = of("finished", "q")

    def stated(self, outcome: str) -> Line:
        said = {"outcome": outcome, "outcome_claim_id": CLAIM}
        return named("claim_restoration_failed", CLAIM, "q", **said)

    def judged(self, *lines: Line) -> str:
        report = judge([*copied(), *self.failed, self.loss, *lines], OFFLOADABLE)
        return str(report.obligations[self.name])

    def test_refusal(self) -> None:
        """A refusal is one where the request is refused, and not served."""
        stated = self.stated("refusal")
        assert "satisfied" == self.judged(stated, self.refused, self.ended)
        assert "satisfied" == self.judged(self.refused, self.ended)
        assert "violated" == self.judged(stated, self.ended)
        assert "violated" == self.judged(stated, self.refused, reused("q"), self.ended)

    @pytest.mark.parametrize(
        ("outcome", "events"),
        [
            ("demotion", ["claim_retired", "claim_demoted"]),
            ("harm", ["claim_harmed"]),
        ],
    )
    def test_events(self, outcome: str, events: list[str]) -> None:
        """Demotion and harm need their own events before the request ends."""
        stated = {"by": "tenant:1"}
        told = [named(kind, **({} if kind == "claim_harmed" else stated)) for kind in events]
        assert "satisfied" == self.judged(self.stated(outcome), *told, self.ended)
        assert "satisfied" == self.judged(*told, self.ended)
        assert "violated" == self.judged(self.stated(outcome), self.ended, *told)

    @pytest.mark.parametrize("fallback", [reused("q"), cached(CLAIM, 300, 0, 1, request_id="q")])
    def test_before_the_fallback(self, fallback: Line) -> None:
        """An outcome after the request went on is too late."""
        assert "violated" == self.judged(fallback, self.stated("refusal"), self.refused, self.ended)

    def test_another_fallback(self) -> None:
        """What another request computes is not this one's fallback."""
        other = cached(CLAIM, 300, 0, 1, 2, 3, request_id="r")
        trace = [arrives("r"), other, self.refused, self.ended]
        assert "satisfied" == self.judged(*trace)

    @pytest.mark.parametrize("harm_first", [True, False])
    def test_one_harm(self, harm_first: bool) -> None:
        """An outcome `harm` and its event are one harm, in either order; a third is invented."""
        said = [self.stated("harm"), named("claim_harmed")]
        lines = [*copied(), *self.failed, self.loss, *(said[::-1] if harm_first else said)]
        assert set() == broken(OFFLOADABLE, *lines, self.ended)
        twice = broken(OFFLOADABLE, *lines, named("claim_harmed"), self.ended)
        assert {"claim_harm_attribution"} == twice

    def test_after_the_release(self) -> None:
        """A load that fails after the owner released the claim may be told, and moves nothing."""
        report = self.stated("refusal")
        trace = [*copied(), *self.failed, *released(), self.loss, report, self.refused, self.ended]
        assert "kept" == verdict(OFFLOADABLE, *trace)
        assert "kept" == verdict(OFFLOADABLE, *without(trace, "claim_restoration_failed"))


class TestWhoActed:
    """Who ended a claim is a fact, which the report must not contradict."""

    def judged(self, fact: str | None, report: str, mode: Mode = DEMOTABLE) -> set[str]:
        ends = [named("claim_retired", by=fact), named("claim_demoted", by=report)]
        return broken(mode, *there(mode=mode), *ends)

    def test_agree(self) -> None:
        """Both name the same; or the fact names nobody."""
        assert set() == self.judged("tenant:1", "tenant:1")
        assert set() == self.judged("runtime", "runtime")
        assert set() == self.judged(None, "runtime")

    def test_differ(self) -> None:
        """The registry was told by one, and the report names another."""
        assert {"ordered_lifecycle_events"} == self.judged("runtime", "tenant:1")
        assert {"ordered_lifecycle_events"} == self.judged("tenant:1", "runtime")

    def test_owner(self) -> None:
        """An owner that the acceptance alone states is not known to be one."""
        trace = [*there(mode=DEMOTABLE), *released()]
        del trace[0]["owner_scope"]
        trace[2] = {**trace[2], "owner_scope": "tenant:1"}
        assert "inconclusive" == verdict(DEMOTABLE, *trace)
        trace[1] = {**trace[1], "owner_scope": "tenant:1"}
        assert "kept" == verdict(DEMOTABLE, *trace)

    @pytest.mark.parametrize("mode", [HARD, DEMOTABLE])
    def test_two_modes(self, mode: Mode) -> None:
        """Accepted in another mode than it was asked for: neither judges it."""
        trace = [*there(), *there(OTHER, 500)]
        trace[2] = {**trace[2], "mode": "demotable"}
        assert "inconclusive" == verdict(mode, *trace)

    def test_withdrawn(self) -> None:
        """Its owner may withdraw a claim before any decision; nobody else may."""
        asked = accepted(OTHER)[0]
        gone = named("claim_released", OTHER, by="tenant:1")
        assert "kept" == verdict(HARD, *there(), asked, gone)
        assert "kept" == verdict(HARD, *there(), asked, named("claim_retired", OTHER), gone)
        stranger = named("claim_released", OTHER, by="runtime")
        assert {"ordered_lifecycle_events"} == broken(HARD, *there(), asked, stranger)
