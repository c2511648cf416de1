"""Copies in several tiers, demotions in a conflict, and grants that are smaller than was asked."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from spec.events.alphabet import CONFLICT_ACTIONS, Kind
from spec.events.canonical import CapacityProof, Event
from spec.language.verdicts import Verdict
from spec.stream.breaks import line_of
from spec.stream.judge import Judge


def judged(*events: Event) -> dict[str, Verdict]:
    """The verdict on each obligation of the claim of a stream."""
    judge = Judge()
    for number, event in enumerate(events):
        stamped = msgspec.structs.replace(event, sequence=number, time_ns=number)
        judge.take(line_of(stamped, number + 1))
    judge.finish()
    assert [] == judge.breaks
    return {name: found.verdict for name, found in judge.claims["c"].findings().items()}


def of(kind: Kind, **fields: Any) -> Event:
    """An event about the claim."""
    return Event(kind=kind, claim_id="c", **fields)


def asked(mode: str, **fields: Any) -> Event:
    """A registration of the claim."""
    about = {"cache_identity": "m", "object_id": "o", "owner_scope": "t"}
    predicate = "leading_prefix_at_least(2)"
    return of(Kind.CLAIM_REGISTERED, mode=mode, predicate=predicate, **about, **fields)


def held(mode: str) -> tuple[Event, ...]:
    """A claim of two blocks that is accepted and on the GPU."""
    return (
        asked(mode),
        of(Kind.CLAIM_COMMITTED, footprint=2),
        of(Kind.CLAIM_ACCEPTED, footprint=2),
        of(Kind.BLOCK_CACHED, block_ids=(1, 2), positions=(0, 1)),
        of(Kind.CLAIM_MATERIALIZED),
    )


STORED, LOST = of(Kind.STORE_FINISHED), of(Kind.HOST_COPY_LOST)
EVICTED = of(Kind.BLOCK_EVICTED, block_ids=(1, 2), positions=(0, 1))


class TestTiers:
    """A claim of offloadable is lost with the last copy of a block that its predicate needs."""

    def test_one_of_two(self) -> None:
        """Of two copies one is lost, and the other still counts."""
        found = judged(
            *held("offloadable"), STORED, STORED, LOST, of(Kind.CLAIM_OFFLOADED), EVICTED
        )
        assert Verdict.VIOLATED not in found.values()

    def test_both(self) -> None:
        """Both copies are lost, in two tiers, and then the blocks on the GPU."""
        two = (STORED, of(Kind.STORE_FINISHED, tier="disk"), LOST)
        found = judged(*held("offloadable"), *two, of(Kind.HOST_COPY_LOST, tier="disk"), EVICTED)
        assert Verdict.VIOLATED is found["offload_restorability"]

    def test_parts_in_two_tiers(self) -> None:
        """Each tier has a part of the claim, and both together have all of it."""
        parts = [of(Kind.STORE_FINISHED, positions=(at,), tier=f"tier {at}") for at in (0, 1)]
        found = judged(*held("offloadable"), *parts, of(Kind.CLAIM_OFFLOADED), EVICTED)
        assert Verdict.VIOLATED not in found.values()

    def test_part_on_the_gpu(self) -> None:
        """A tier has what the GPU lacks: nothing is lost, and not all of it is offloaded."""
        part = of(Kind.STORE_FINISHED, positions=(0,), tier="disk")
        first = of(Kind.BLOCK_EVICTED, block_ids=(1,), positions=(0,))
        found = judged(*held("offloadable"), part, first)
        assert Verdict.UNEXERCISED is found["claim_harm_attribution"]
        found = judged(*held("offloadable"), part, of(Kind.CLAIM_OFFLOADED))
        assert Verdict.VIOLATED is found["offload_restorability"]

    def test_copied_before(self) -> None:
        """A claim that begins after its keys were copied has the copy."""
        copy = Event(kind=Kind.STORE_FINISHED, cache_identity="m", keys=("x", "y"), tier="disk")
        begins = (
            asked("offloadable", keys=("x", "y")),
            of(Kind.CLAIM_COMMITTED, footprint=2),
            of(Kind.CLAIM_ACCEPTED, footprint=2),
            of(Kind.CLAIM_OFFLOADED),
        )
        assert Verdict.VIOLATED not in judged(copy, *begins).values()


class TestRelax:
    """The runtime demotes a hard_protected claim by itself."""

    @pytest.mark.parametrize("report", [Kind.CLAIM_DEMOTED, Kind.CLAIM_OFFLOADED])
    @pytest.mark.parametrize(("needed", "verdict"), [(3, "satisfied"), (2, "violated")])
    def test_conflict(self, needed: int, verdict: str, report: Kind) -> None:
        """It may while a request is in hand that does not fit beside the claim."""
        arrived = Event(kind=Kind.REQUEST_ARRIVED, request_id="r", needed=needed, usable=4)
        ends = [of(kind, by="runtime") for kind in (Kind.CLAIM_RETIRED, report)]
        found = judged(*held("hard_protected"), arrived, STORED, *ends, EVICTED)
        assert verdict == found["ordered_lifecycle_events"]
        assert Verdict.VIOLATED is not found["victim_exclusion_before_violation"]

    def test_report_before_loss(self) -> None:
        """The report comes before the loss."""
        arrived = Event(kind=Kind.REQUEST_ARRIVED, request_id="r", needed=3, usable=4)
        ends = [of(kind, by="runtime") for kind in (Kind.CLAIM_RETIRED, Kind.CLAIM_DEMOTED)]
        found = judged(*held("hard_protected"), arrived, ends[0], EVICTED, ends[1])
        assert Verdict.VIOLATED is found["ordered_lifecycle_events"]


class TestGrants:
    """What the registry commits to is what the acceptance has to state."""

    @pytest.mark.parametrize(
        ("committed", "accepted", "verdict"),
        [
            ("30 s", "30 s", Verdict.SATISFIED),
            ("30 s", "20 s", Verdict.SATISFIED),
            ("30 s", None, Verdict.VIOLATED),
            ("30 s", "60 s", Verdict.VIOLATED),
            (None, None, Verdict.SATISFIED),
            ("30 s", "60 steps", Verdict.INCONCLUSIVE),
        ],
    )
    def test_duration(self, committed: str | None, accepted: str | None, verdict: Verdict) -> None:
        """60 s were asked for."""
        found = judged(
            asked("expiring", duration="60 s"),
            of(Kind.CLAIM_COMMITTED, footprint=2, duration=committed),
            of(Kind.CLAIM_ACCEPTED, footprint=2, duration=accepted),
        )
        assert verdict is found["explicit_acceptance"]

    @pytest.mark.parametrize(("accepted", "verdict"), [(2, "satisfied"), (3, "violated")])
    def test_footprint(self, accepted: int, verdict: str) -> None:
        """Five blocks were asked for, and two are committed."""
        found = judged(
            asked("demotable", footprint=5),
            of(Kind.CLAIM_COMMITTED, footprint=2),
            of(Kind.CLAIM_ACCEPTED, footprint=accepted),
        )
        assert verdict == found["explicit_acceptance"]

    def test_restated(self) -> None:
        """The restated commitment has what is left of a duration, and the acceptance all of it."""
        lines = [
            asked("expiring", duration="60 s"),
            of(Kind.CLAIM_COMMITTED, footprint=2, duration="20 s"),
            of(Kind.CLAIM_ACCEPTED, footprint=2, duration="60 s"),
        ]
        restated = [msgspec.structs.replace(each, restated=True) for each in lines]
        judge = Judge()
        judge.restating = True
        for event in restated:
            judge.take(line_of(event, 1))
        found = judge.claims["c"].findings()["explicit_acceptance"]
        assert Verdict.VIOLATED is not found.verdict


@pytest.mark.parametrize("kind", [Kind.CLAIM_ACCEPTED, *sorted(CONFLICT_ACTIONS)])
def test_reasons(kind: Kind) -> None:
    """A reason of an acceptance or of an action changes no verdict."""
    arrived = Event(kind=Kind.REQUEST_ARRIVED, request_id="r", needed=3, usable=4)
    acted = Event(kind=Kind.REQUEST_DEFERRED, request_id="r", blocking_claim_ids=("c",))
    acted = acted if kind is Kind.CLAIM_ACCEPTED else msgspec.structs.replace(acted, kind=kind)
    plain = [*held("hard_protected"), arrived, acted]
    stated = [msgspec.structs.replace(e, reason="full") if e.kind is kind else e for e in plain]
    assert plain != stated
    assert judged(*plain) == judged(*stated)


def test_shown_and_not_judged() -> None:
    """A reason and a capacity change no verdict."""
    room = CapacityProof(resident=2, active=1, total=3, usable=2, shortfall=1)
    lost = of(Kind.BLOCK_LOST, block_ids=(1, 2))
    harmed = of(Kind.CLAIM_HARMED), of(Kind.CLAIM_HARMED, reason="a reset", capacity=room)
    found = [judged(*held("demotable"), lost, each) for each in harmed]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("shortfall", "verdict"), [(19, Verdict.VIOLATED), (18, Verdict.SATISFIED)]
)
def test_published_shortfall(shortfall: int, verdict: Verdict) -> None:
    """The capacity proof of table 10 does not add up as published, and does with 18 blocks."""
    proof = CapacityProof(resident=40, active=46, total=86, usable=68, shortfall=shortfall)
    found = judged(
        asked("hard_protected"),
        of(Kind.CLAIM_COMMITTED, footprint=40),
        of(Kind.CLAIM_ACCEPTED, footprint=40),
        Event(kind=Kind.REQUEST_ARRIVED, request_id="r", needed=46, usable=68),
        Event(kind=Kind.REQUEST_REFUSED, request_id="r", blocking_claim_ids=("c",), proof=proof),
        Event(kind=Kind.REQUEST_FINISHED, request_id="r"),
    )
    assert verdict is found["footprint_accounting"]
