"""What nobody stated is not judged: the terms of a claim, its owner, and its clock."""

from __future__ import annotations

from typing import Any

import pytest

from spec.claims.states import Mode
from spec.contract.modes import MODES, Bundle
from tests.monitor.traces import OTHER, Trace, claim_of, having, judge, verdicts, without
from tests.monitor.traces_canonical import about, canonical, canonical_claim

IDENTITY = ("cache_identity", "object_id")
PREDICATE = OBJECT = "the object and the predicate of the claim are not stated"
UNTIMED = "it is unknown when the duration of the claim is over"
UNOWNED = "what claim_demoted does not state decides ordered_lifecycle_events (authorised)"


def stripped(trace: Trace, *fields: str) -> Trace:
    """The trace without these fields."""
    return [{k: v for k, v in line.items() if k not in fields} for line in trace]


def why(trace: Trace, mode: Mode = Mode.HARD_PROTECTED, **options: Any) -> set[str]:
    """Why the obligations of the claim are inconclusive; all of them must be."""
    report = judge(trace, mode, **options)
    assert "inconclusive" == report.verdict
    assert set(report.obligations) == having(report, "inconclusive")
    return {found.why for found in claim_of(report).obligations.values()}


class TestTerms:
    """A claim has an identity and a predicate when it is accepted, or it is not judged."""

    def test_predicate(self) -> None:
        """Without a predicate nothing says what "there" means, so nothing is kept."""
        trace = without(stripped(canonical_claim(), "predicate"), "claim_registered")
        assert {PREDICATE} == why(trace)

    @pytest.mark.parametrize("bundle", Bundle)
    @pytest.mark.parametrize("mode", MODES)
    def test_every_bundle(self, mode: Mode, bundle: Bundle) -> None:
        """Every bundle of every mode reads the predicate, so each of them asks for it."""
        trace = without(stripped(canonical_claim(), "predicate"), "claim_registered")
        assert {PREDICATE} == why(trace, mode, bundle=bundle)

    def test_predicate_afterwards(self) -> None:
        """A predicate that is first stated after the acceptance was not fixed by it."""
        trace = without(stripped(canonical_claim(), "predicate"), "claim_registered")
        trace[-1]["predicate"] = "leading_prefix_at_least(1)"
        assert {PREDICATE} == why(trace)

    def test_predicate_at_acceptance(self) -> None:
        """Stated by the acceptance itself it is in time."""
        trace = without(stripped(canonical_claim(), "predicate"), "claim_registered")
        trace[1]["predicate"] = "leading_prefix_at_least(3)"
        assert "kept" == judge(trace, Mode.HARD_PROTECTED).verdict

    def test_identity(self) -> None:
        """A claim on nothing in particular satisfies no identity."""
        assert {OBJECT} == why(stripped(canonical_claim(), *IDENTITY))

    @pytest.mark.parametrize("field", IDENTITY)
    def test_one_identity(self, field: str) -> None:
        """A cache identity or an object is enough to say what the claim is on."""
        trace = stripped(canonical_claim(), field)
        assert "kept" == judge(trace, Mode.HARD_PROTECTED).verdict

    def test_registered(self) -> None:
        """Where a mode owes its telemetry from registration on, the terms are due there."""
        claim = stripped(canonical_claim(mode="best_effort"), *IDENTITY)
        registered = without(claim, "claim_accepted")
        assert {OBJECT} == why(registered, Mode.BEST_EFFORT)

    def test_violated_before(self) -> None:
        """What was violated before the terms were missed stays violated; an acceptance that
        misses them itself concludes nothing, though it was never committed."""
        trace = without(stripped(canonical_claim(), *IDENTITY), "claim_committed")
        assert {OBJECT} == why(trace)
        found = claim_of(judge(trace, Mode.HARD_PROTECTED)).obligations["explicit_acceptance"]
        assert "RC206" == found.code
        early = stripped([about("claim_materialized"), *canonical_claim()], *IDENTITY)
        report = judge(early, Mode.HARD_PROTECTED)
        assert "explicit_acceptance" in having(report, "violated")
        assert "satisfied" not in verdicts(report).values()


OWNED = {"owner_scope": "tenant:1"}


class TestOwner:
    """Only who owns a claim is known may end it; where nobody is known to, nothing is concluded."""

    ended = (about("claim_retired"), about("claim_demoted", by="tenant:1"))

    def test_unknown(self) -> None:
        """An end by somebody is neither right nor wrong where nobody stated the owner."""
        trace = [*stripped(canonical_claim(mode="demotable"), "owner_scope"), *self.ended]
        report = judge(trace, Mode.DEMOTABLE)
        assert {"ordered_lifecycle_events"} == having(report, "inconclusive")
        found = claim_of(report).obligations["ordered_lifecycle_events"]
        assert UNOWNED == found.why

    def test_at_acceptance(self) -> None:
        """Who owns it is the registry's to state; the runtime's own acceptance is not enough."""
        trace = [*stripped(canonical_claim(mode="demotable"), "owner_scope"), *self.ended]
        committed, accepted = ([*trace[:n], {**trace[n], **OWNED}, *trace[n + 1 :]] for n in (1, 2))
        assert "kept" == judge(committed, Mode.DEMOTABLE).verdict
        report = judge(accepted, Mode.DEMOTABLE)
        assert {"ordered_lifecycle_events"} == having(report, "inconclusive")
        found = claim_of(report).obligations["ordered_lifecycle_events"]
        assert UNOWNED == found.why

    def test_still_ordered(self) -> None:
        """Who owns the claim changes nothing about an end that the registry does not know of."""
        trace = [*stripped(canonical_claim(mode="demotable"), "owner_scope"), self.ended[1]]
        assert "violated" == verdicts(judge(trace, Mode.DEMOTABLE))["ordered_lifecycle_events"]

    def test_relaxed(self) -> None:
        """Nor is it known whether the end relaxed a claim that a request does not fit beside."""
        arrived = canonical("request_arrived", request_id="q", needed=9, usable=10)
        finished = canonical("request_finished", request_id="q")
        trace = [*canonical_claim(), arrived, *self.ended, finished]
        name = "explicit_conflict_action"
        assert "satisfied" == verdicts(judge(trace, Mode.HARD_PROTECTED))[name]
        unknown = stripped(trace, "owner_scope")
        assert "inconclusive" == verdicts(judge(unknown, Mode.HARD_PROTECTED))[name]
        early = [*canonical_claim(), arrived, self.ended[1], finished]
        assert "satisfied" == verdicts(judge(early, Mode.HARD_PROTECTED))[name]
        unknown = stripped(early, "owner_scope")
        assert "inconclusive" == verdicts(judge(unknown, Mode.HARD_PROTECTED))[name]


SECOND = 1_000_000_000


def timed(*lines: dict[str, Any], step: int = SECOND // 10) -> Trace:
    """The lines a tenth of a second apart."""
    return [{"time_ns": i * step, **line} for i, line in enumerate(lines)]


class TestClock:
    """A duration that nobody can see the end of is not taken for one that never ends."""

    expired = (about("claim_retired"), about("claim_expired", by="runtime"))

    def lasting(self, duration: str) -> Trace:
        return canonical_claim(mode="expiring", duration=duration)

    def test_known(self) -> None:
        """With a time on every line the end of the duration is known, and that it is not over."""
        trace = timed(*self.lasting("2 s"))
        report = judge(trace, Mode.EXPIRING)
        assert ("kept", "unexercised") == (
            report.verdict,
            report.obligations["claim_expired_boundary"],
        )
        early = judge(timed(*self.lasting("2 s"), *self.expired), Mode.EXPIRING)
        assert {"ordered_lifecycle_events"} == having(early, "violated")
        late = timed(*self.lasting("2 s"), about("claim_expired", by="runtime"), step=SECOND)
        assert "satisfied" == verdicts(judge(late, Mode.EXPIRING))["claim_expired_boundary"]

    def test_commitment_without_time(self) -> None:
        """A commitment without a time starts no clock."""
        trace = timed(*self.lasting("1 s"))
        trace[1]["time_ns"] = None
        assert {UNTIMED} == why(trace, Mode.EXPIRING)

    def test_line_without_time(self) -> None:
        """A line without a time may stand on either side of the end."""
        trace = timed(*self.lasting("1 s"))
        trace[3]["time_ns"] = None
        assert {UNTIMED} == why(trace, Mode.EXPIRING)
        before = timed(*self.lasting("1 s"))
        before[0]["time_ns"] = None
        assert "kept" == judge(before, Mode.EXPIRING).verdict

    def test_stated_late(self) -> None:
        """A duration that is first stated by the acceptance has begun at nobody knows what."""
        trace = timed(*stripped(self.lasting("1 s"), "duration"))
        trace[2]["duration"] = "1 s"
        assert {UNTIMED} == why(trace, Mode.EXPIRING)
        committed = timed(*stripped(self.lasting("1 s"), "duration"))
        committed[1]["duration"] = "1 s"
        assert "kept" == judge(committed, Mode.EXPIRING).verdict

    def test_steps(self) -> None:
        """Steps are over when a fact says so; where none ever does, they are never told."""
        untold = self.lasting("3 steps")
        reason = {UNTIMED}
        assert reason == why(untold, Mode.EXPIRING)
        assert reason == why([*untold, *self.expired], Mode.EXPIRING)
        told = [*untold, about("duration_elapsed"), about("claim_expired", by="runtime")]
        assert "kept" == judge(told, Mode.EXPIRING).verdict

    def test_steps_of_another(self) -> None:
        """A stream that tells the steps of one claim tells those of another, too, but whether the
        other may be expired now it does not state."""
        other = canonical_claim(OTHER, first=500, mode="expiring", duration="9 steps")
        ended = [about("duration_elapsed"), about("claim_expired", by="runtime")]
        trace = [*self.lasting("3 steps"), *other, *ended]
        assert "kept" == judge(trace, Mode.EXPIRING).verdict
        early = [*trace, about("claim_retired", OTHER), about("claim_expired", OTHER, by="runtime")]
        found = claim_of(judge(early, Mode.EXPIRING), OTHER).obligations["ordered_lifecycle_events"]
        assert ("inconclusive", "RC301") == (found.verdict, found.code)

    def test_violated_before(self) -> None:
        """An eviction that breaks the predicate with nothing said comes before the end or after a
        silent one: it is a breach either way."""
        victim = canonical("block_evicted", block_ids=[100])
        report = judge([*self.lasting("3 steps"), victim], Mode.EXPIRING)
        assert {"claim_expired_boundary"} == having(report, "violated")

    def test_other_modes(self) -> None:
        """Where responsibility does not end by itself, only the runtime's right to expire it is
        open."""
        lasting = canonical_claim(mode="demotable", duration="3 steps")
        assert "kept" == judge(lasting, Mode.DEMOTABLE).verdict
        report = judge([*lasting, *self.expired], Mode.DEMOTABLE)
        assert {"ordered_lifecycle_events"} == having(report, "inconclusive")
        owner = [about("claim_retired"), about("claim_expired", by="tenant:1")]
        assert "kept" == judge([*lasting, *owner], Mode.DEMOTABLE).verdict

    def test_no_duration(self) -> None:
        """A claim that states no duration has none to run out."""
        assert "kept" == judge(canonical_claim(mode="expiring"), Mode.EXPIRING).verdict
