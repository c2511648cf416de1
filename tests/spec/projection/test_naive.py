"""Tests of the naive projection on short streams."""

from __future__ import annotations

from typing import Any

import pytest

from spec.claims.claim import Mode
from spec.contract.modes import MODES
from spec.events.alphabet import FACTS, Kind
from spec.events.canonical import CapacityProof, Event, Mark
from spec.projection.lines import Line
from spec.projection.naive import Naive
from spec.projection.outcome import judge
from tests.spec.projection.stories import (
    arrives,
    begun,
    cached,
    ended,
    event,
    finishes,
    having,
    judged,
    lines,
    refused,
    verdicts,
)

ALL = set(MODES[Mode.HARD_PROTECTED].names())
TWO = (*begun("a"), *begun("b", block=20))


class TestConflicts:
    """Standing and transient conflicts, and whom they may be blamed on."""

    def blame(self, *events: Event) -> str:
        return verdicts(judged(*TWO, *events))["blocking_claim_ids"]

    def test_standing(self) -> None:
        """In a standing conflict those named have to make room, and none too many."""
        found = {
            names: self.blame(arrives("r", 6), refused("r", *names))
            for names in ("", "a", "b", "ab")
        }
        assert {"": "violated", "a": "satisfied", "b": "satisfied", "ab": "violated"} == found

    def test_both(self) -> None:
        """Where only both together make room, both are named."""
        assert "violated" == self.blame(arrives("r", 7), refused("r", "a"))
        assert "satisfied" == self.blame(arrives("r", 7), refused("r", "a", "b"))

    def test_transient(self) -> None:
        """Beside other requests nobody need be named, and one is named rightly (A08, B05)."""
        first = arrives("q", 3)
        assert "unexercised" == self.blame(first, arrives("r", 3), refused("r"))
        assert "satisfied" == self.blame(first, arrives("r", 3), refused("r", "a"))
        assert "violated" == self.blame(first, arrives("r", 1), refused("r", "a"))
        third = (first, arrives("s", 1), arrives("r", 1))
        assert "satisfied" == self.blame(*third, refused("r", "a"))
        assert "violated" == self.blame(first, finishes("q"), arrives("r", 3), refused("r", "a"))

    def test_silent(self) -> None:
        """A standing conflict that ends in silence is a breach, and a transient one is not."""
        standing = judged(*TWO, arrives("r", 6), finishes("r"))
        assert {"explicit_conflict_action"} == having(standing, "violated")
        transient = judged(*TWO, arrives("q", 3), arrives("r", 3), finishes("r"))
        assert set() == having(transient, "violated")

    def test_later(self) -> None:
        """A claim that comes after a request has no part in its conflict (B01, B04)."""
        found = judged(arrives("r", 7), *TWO, finishes("r"))
        assert (set(), set()) == (having(found, "violated"), having(found, "violated", "b"))

    def test_early_blame(self) -> None:
        """An id that is named before anything is known of it explains nothing."""
        found = judged(*begun("b"), arrives("r", 7), refused("r", "a", "b"), *begun("a", block=20))
        assert {"blocking_claim_ids"} == having(found, "violated")
        assert "unexercised" == verdicts(found)["explicit_conflict_action"]

    @pytest.mark.parametrize(
        ("resident", "active", "verdict"),
        [(4, 3, "satisfied"), (4, 6, "satisfied"), (4, 7, "violated"), (3, 3, "violated")],
    )
    def test_proof(self, resident: int, active: int, verdict: str) -> None:
        """What is active is the request's need, and at most what the others need besides."""
        total = resident + active
        proof = CapacityProof(resident, active, total, 8, max(0, total - 8))
        found = judged(*TWO, arrives("q", 3), arrives("r", 3), refused("r", proof=proof))
        assert verdict == verdicts(found)["footprint_accounting"]


class TestSharing:
    """Claims of which nobody knows whether they share."""

    apart = (*begun("a")[:3], *begun("b")[:3])

    def test_agreed(self) -> None:
        """Where both ends agree the verdict stands: kept, or violated."""
        kept = judged(*self.apart, arrives("r", 7), refused("r", "a", "b"), finishes("r"))
        assert "satisfied" == verdicts(kept)["explicit_conflict_action"]
        broken = judged(*self.apart, arrives("r", 7), finishes("r"))
        assert {"explicit_conflict_action"} == having(broken, "violated")

    def test_not_agreed(self) -> None:
        """Where they do not, it is inconclusive, for that obligation alone."""
        found = judged(*self.apart, arrives("r", 6), refused("r", "a"), finishes("r"))
        assert "inconclusive" == verdicts(found)["blocking_claim_ids"]
        assert "satisfied" == verdicts(found)["claim_identity"]

    def test_between_the_ends(self) -> None:
        """A sum that lies between the ends may be right, though it is wrong at both."""
        proof = CapacityProof(3, 1, 4, 8, 0)
        found = judged(*self.apart, arrives("r", 1), refused("r", proof=proof))
        assert "inconclusive" == verdicts(found)["footprint_accounting"]
        wrong = CapacityProof(5, 1, 6, 8, 0)
        found = judged(*self.apart, arrives("r", 1), refused("r", proof=wrong))
        assert "violated" == verdicts(found)["footprint_accounting"]

    def test_blame_between_the_ends(self) -> None:
        """Blame that is wrong at both ends, for another reason each, may be right between them."""
        three = [*begun("a", block=50), *self.apart[3:], *begun("c")[:3]]
        found = judged(*three, arrives("r", 5), refused("r", "a"))
        assert "inconclusive" == verdicts(found)["blocking_claim_ids"]


class TestContent:
    """Claims that hold the same blocks."""

    def test_longer(self) -> None:
        """What a longer claim on the object loses behind the shorter one is not its loss."""
        about = {"object_id": "o", "cache_identity": "cache"}
        short = begun("a", size=1, **about)
        long = [*begun("b", size=2, **about)[:3], cached("b", 10, 11), *begun("b")[4:]]
        gone = Event(kind=Kind.BLOCK_EVICTED, block_ids=(11,))
        found = judged(*short, *long, *ended("b"), gone)
        assert (set(), set()) == (having(found, "violated"), having(found, "violated", "b"))

    def test_new_claim(self) -> None:
        """A claim on an object that is cached is materialized by its commitment, and told so."""
        about = {"object_id": "o", "cache_identity": "cache"}
        events = [*begun("b", **about), *begun("a", **about)[:3]]
        assert "pending" == verdicts(judged(*events))["claim_materialized_event"]
        told = [*events, event(Kind.CLAIM_MATERIALIZED, "a")]
        assert "satisfied" == verdicts(judged(*told))["claim_materialized_event"]
        silent = judged(*events, arrives("r", 1), finishes("r"))
        assert {"claim_materialized_event"} == having(silent, "violated")

    def test_load_for_another(self) -> None:
        """A load in another claim's name brings the blocks back, and is no restore of this one."""
        mode, about = Mode.OFFLOADABLE, {"object_id": "o", "cache_identity": "cache"}
        both = [*begun("a", mode, **about), *begun("b", mode, **about)[:3]]
        both += [event(Kind.CLAIM_MATERIALIZED, "b"), event(Kind.STORE_FINISHED, "b")]
        lost = [Event(kind=Kind.BLOCK_LOST, block_ids=(10, 11)), event(Kind.CLAIM_HARMED, "a")]
        of = {"request_id": "r"}
        back = [
            arrives("r", 1),
            event(Kind.CLAIM_RESTORE_REQUIRED, "b", **of),
            event(Kind.LOAD_FINISHED, "b", **of, block_ids=(20, 21), positions=(0, 1)),
            event(Kind.CLAIM_RESTORED, "b", **of, from_tier=True),
            event(Kind.PREFIX_REUSED, "b", **of),
            event(Kind.PREFIX_REUSED, "a", **of),
            finishes("r"),
        ]
        found = judged(*both, *lost, *back, mode=mode)
        assert (set(), set()) == (having(found, "violated"), having(found, "violated", "b"))
        assert (set(), set()) == (having(found, "inconclusive"), having(found, "inconclusive", "b"))


class TestWhoComputed:
    """Blocks of a claim that was away, cached by nobody says whom."""

    mode = Mode.OFFLOADABLE
    away = (
        *begun("a", Mode.OFFLOADABLE),
        event(Kind.STORE_FINISHED, "a"),
        Event(kind=Kind.BLOCK_EVICTED, block_ids=(10, 11)),
        arrives("r", 1),
        arrives("s", 1),
    )
    looked_up = event(Kind.PREFIX_LOOKUP, "a", request_id="r", held=0, asked=1)
    reused = event(Kind.PREFIX_REUSED, "a", request_id="r")

    def found(self, *events: Event) -> set[str]:
        return having(judged(*self.away, *events, mode=self.mode), "inconclusive")

    def test_several(self) -> None:
        """One of several did, and it is unknown which."""
        both = {"offload_restorability", "restoration_failure_outcome"}
        assert both == self.found(self.looked_up, cached("a", 20, 21))
        assert both == self.found(cached("a", 20, 21), self.reused)
        assert both == self.found(cached("a", 20, 21))

    def test_known(self) -> None:
        """It is said who did, or that the blocks were found, or they were loaded since."""
        assert set() == self.found(cached("a", 20, 21, request_id="s"), self.reused)
        assert set() == self.found(cached("a", 20, 21, found=True), self.reused)

    def test_itself(self) -> None:
        """What a request computed itself it does not reuse (A05)."""
        own = [cached("a", 20, 21, request_id="r"), self.reused]
        found = judged(*self.away, *own, mode=self.mode)
        assert {"offload_restorability"} == having(found, "violated")


class TestOrder:
    """Numbers, times and the promised end."""

    def numbered(self, *numbers: int | None, **more: Any) -> list[Line]:
        told = begun("a")
        return [Line(at + 1, (told[at],), n, **more) for at, n in enumerate(numbers)]

    def test_gap(self) -> None:
        """Of a claim that is alive where lines are missing nothing more is concluded."""
        found = judge(self.numbered(0, 1, 2, 4), Mode.HARD_PROTECTED)
        assert (ALL, 4) == (
            having(found, "inconclusive"),
            found.claims["a"].findings["claim_identity"].at,
        )
        skipping = judge(self.numbered(0, 1, 2, 4, skips=True), Mode.HARD_PROTECTED)
        assert set() == having(skipping, "inconclusive")

    def test_first_number(self) -> None:
        """A stream begins with its first number, or something is missing before it."""
        told, mode = self.numbered(1, 2, 3), Mode.HARD_PROTECTED
        assert set() == having(judge(told, mode, first=(0, 1)), "inconclusive")
        (later,) = judge(told[1:], mode).claims.values()
        assert {"inconclusive"} == {found.verdict for found in later.findings.values()}

    def test_after_a_gap(self) -> None:
        """Of a claim that comes later only which other requests are in the pool is not known."""
        said = [*begun("b"), *begun("a", block=20), arrives("r", 7), refused("r", "a", "b")]
        told = [line._replace(sequence=line.at + (line.at > 2)) for line in lines(*said)]
        found = judge(told, Mode.HARD_PROTECTED, first=(1,))
        rests = {
            *("explicit_conflict_action", "blocking_claim_ids", "footprint_accounting"),
            "victim_exclusion_before_violation",
        }
        assert rests == having(found, "inconclusive")

    def test_stale_blocks(self) -> None:
        """What an object held before a gap may be gone, to a claim that comes after it."""
        about = {"object_id": "o", "cache_identity": "cache"}
        said = [*begun("b", **about), *begun("a", **about)[:3]]
        told = [line._replace(sequence=line.at + (line.at > 5)) for line in lines(*said)]
        found = judge(told, Mode.HARD_PROTECTED, first=(1,))
        assert "claim_materialized_event" in having(found, "inconclusive")

    def test_disorder(self) -> None:
        """A step back breaks the order of every claim that was met before."""
        found = judge(self.numbered(0, 1, 2, 1, 2), Mode.HARD_PROTECTED)
        assert {"ordered_lifecycle_events"} == having(found, "violated")
        assert ALL - {"ordered_lifecycle_events"} == having(found, "inconclusive")

    def test_marks(self) -> None:
        """A stream that promised an end and has none was cut."""
        opened, closed = Line(1, mark=Mark.STREAM_OPENED), Line(9, mark=Mark.STREAM_CLOSED)
        mode = Mode.HARD_PROTECTED
        assert "inconclusive" == judge([opened, *lines(*begun("a"))], mode).verdict
        assert "kept" == judge([opened, *lines(*begun("a")), closed], mode).verdict


class TestClock:
    """Durations on the stream's clock."""

    terms = {"mode": Mode.EXPIRING, "duration": "5 s"}  # noqa: RUF012

    def timed(self, *events: Event, step: int = 1) -> list[Line]:
        return [
            Line(at, (e,), at - 1, at * step * 10**9 if step else None)
            for at, e in enumerate(events, 1)
        ]

    def test_silent(self) -> None:
        """The boundary is where the duration ends, whoever says so."""
        told = [*begun("a", **self.terms), *(arrives(f"r{n}", 1) for n in range(4))]
        found = judge(self.timed(*told, finishes("r0")), Mode.EXPIRING)
        assert {"claim_expired_boundary"} == having(found, "violated")

    def test_told(self) -> None:
        """The runtime may expire a claim that is over, and none before."""
        over = [
            event(Kind.CLAIM_RETIRED, "a", by="runtime"),
            event(Kind.CLAIM_EXPIRED, "a", by="runtime"),
        ]
        late = [*begun("a", **self.terms), arrives("r", 1), *over]
        found = judge(self.timed(*late), Mode.EXPIRING)
        assert (set(), "expired") == (having(found, "violated"), found.claims["a"].state)
        early = judge(self.timed(*begun("a", **self.terms), *over, step=0), Mode.EXPIRING)
        assert "violated" not in verdicts(early).values()
        assert "kept" != early.verdict

    def test_unseen(self) -> None:
        """Without times nobody can see whether a duration was over."""
        found = judge(self.timed(*begun("a", **self.terms), *ended(), step=0), Mode.EXPIRING)
        assert set(MODES[Mode.EXPIRING].names()) == having(found, "inconclusive")


class TestObserved:
    """What the hooks of a stream do not observe."""

    told = (*begun("a"), arrives("r", 7), refused("r", "a"), finishes("r"))

    def open(self, unseen: Kind, mark: Mark | None = Mark.STREAM_OPENED) -> set[str]:
        opened = Line(1, mark=mark, observes=FACTS - {unseen})
        closed = Line(99, mark=Mark.STREAM_CLOSED)
        found = judge([opened, *lines(*self.told), closed], Mode.HARD_PROTECTED)
        return having(found, "inconclusive")

    def test_open(self) -> None:
        """Obligations that rest on it can be neither kept nor broken."""
        assert "victim_exclusion_before_violation" in self.open(Kind.BLOCK_EVICTED)
        assert "blocking_claim_ids" in self.open(Kind.REQUEST_ARRIVED)
        assert "footprint_accounting" not in self.open(Kind.BLOCK_EVICTED)
        assert set() == self.open(Kind.REQUEST_ROUTED)

    def test_recorded(self) -> None:
        """A recorded form is taken on trust where its table has nothing."""
        assert set() == self.open(Kind.BLOCK_EVICTED, mark=None)


class TestModes:
    """Claims of other modes, and of two."""

    def test_guest(self) -> None:
        """A claim of another mode takes room, and is not judged."""
        guest = begun("b", Mode.DEMOTABLE, block=20)
        found = judged(*begun("a"), *guest, arrives("r", 5), finishes("r"))
        assert {"a"} == set(found.claims)
        assert {"explicit_conflict_action"} == having(found, "violated")

    @pytest.mark.parametrize("mode", [Mode.HARD_PROTECTED, Mode.DEMOTABLE])
    def test_two_modes(self, mode: Mode) -> None:
        """One that is accepted in another mode than it asked for is inconclusive in both (A14)."""
        told = begun("a")
        told[2] = event(Kind.CLAIM_ACCEPTED, "a", footprint=2, mode="demotable")
        found = judged(*told, *begun("b", mode, block=20), mode=mode)
        assert "inconclusive" == found.verdict
        assert found.claims["a"].torn
        assert set() == having(found, "inconclusive", "b")

    def test_nobody(self) -> None:
        """Where no claim entered nothing is kept."""
        assert "inconclusive" == judged(*begun("a")[:1]).verdict


class TestRequests:
    """Requests that come again, or never came."""

    def test_again(self) -> None:
        """An id may come again after its end."""
        found = judged(*begun("a"), *(e for _ in "12" for e in (arrives("r", 1), finishes("r"))))
        assert "kept" == found.verdict

    @pytest.mark.parametrize(
        "events",
        [(finishes("r"),), (arrives("r", 1), arrives("r", 1))],
        ids=["never came", "in hand"],
    )
    def test_contradictions(self, events: tuple[Event, ...]) -> None:
        """What contradicts touches every claim alive, closes no deadline, and no claim later."""
        owing = [*begun("a")[:2], *events, *begun("a")[2:], *begun("b", block=20)]
        found = judged(*owing, *begun("c", block=30))
        assert (ALL, set()) == (having(found, "inconclusive"), having(found, "violated"))
        assert set() == having(found, "inconclusive", "c")


def test_one_after_another() -> None:
    """What is found after each line is what the lines so far come to."""
    told = lines(*TWO, arrives("r", 6), refused("r", "a"), finishes("r"))
    naive = Naive(told, Mode.HARD_PROTECTED)
    for line in naive:
        so_far = judge(told[: line.at], Mode.HARD_PROTECTED)
        met = {name: dict(case.findings()) for name, case in naive.cases.items() if case.claim.met}
        assert {name: found.findings for name, found in so_far.claims.items()} == met
