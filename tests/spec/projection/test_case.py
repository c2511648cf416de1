"""Tests of spec.projection.case, lines and pool: what is stated, in what order, and its course."""

from __future__ import annotations

from typing import Any

import pytest

from spec.claims.claim import Mode
from spec.claims.states import ClaimState
from spec.contract.vocabulary import EVENT_FIELDS
from spec.events.alphabet import Kind
from spec.events.canonical import Event, Mark
from spec.language.verdicts import Verdict
from spec.projection.blocks import placed
from spec.projection.case import Case, Finding, View
from spec.projection.lines import Line, Order
from spec.projection.pool import (
    Claim,
    Object,
    Pool,
    Request,
    TooLarge,
    alike,
    attributed,
    bind,
    held_by,
    is_over,
    is_tracked,
    means,
    meant,
    same_object,
    tell,
)
from spec.projection.unknown import NEED
from tests.spec.projection.pools import claim, pool


def event(kind: Kind, name: str | None = None, **fields: Any) -> Event:
    return Event(kind=kind, claim_id=name, **fields)


class TestStated:
    """What is told of a claim: the first statement of everything holds."""

    def told(self, *events: Event) -> Claim:
        made = Claim("a")
        for each in events:
            tell(made, each)
        return made

    def test_nothing(self) -> None:
        """A claim of which nothing is stated has no position, and takes no blocks."""
        assert (0, 0, 0) == (Claim("a").extent, Claim("a").size, Claim("a").start)

    def test_predicate(self) -> None:
        """Another predicate than the first, of the same claim, changes nothing."""
        made = self.told(
            event(Kind.CLAIM_REGISTERED, predicate="contiguous_range(1, 3)"),
            event(Kind.CLAIM_COMMITTED, predicate="leading_prefix_at_least(9)"),
        )
        assert (1, 3, 4) == (made.start, made.threshold, made.extent)

    def test_modes(self) -> None:
        """The first mode holds; the other one is the first that differs."""
        made = self.told(
            *(event(Kind.CLAIM_ACCEPTED, mode=f"{m}") for m in (*"xx", "expiring", "demotable"))
        )
        assert ("x", "expiring") == (made.mode, made.other_mode)

    def test_torn(self) -> None:
        """A claim is torn between two modes that there are, and between nothing else."""
        hard, soft = str(Mode.HARD_PROTECTED), str(Mode.SOFT_PRIORITY)
        found = [
            Claim("a", mode=one, other_mode=other).torn
            for one, other in ((hard, soft), (hard, None), ("x", soft), (None, None))
        ]
        assert [True, False, False, False] == found

    def test_owner(self) -> None:
        """Whom the acceptance alone names as the owner owns nothing."""
        accepted = event(Kind.CLAIM_ACCEPTED, owner_scope="o")
        assert (None, False) == (self.told(accepted).owner, self.told(accepted).known)
        registered = event(Kind.CLAIM_REGISTERED, owner_scope="p")
        both = self.told(accepted, registered)
        assert ("p", True) == (both.owner, both.known)

    def test_footprint(self) -> None:
        """The footprint is the most that was stated; what states none changes nothing."""
        assert 0 == self.told(event(Kind.CLAIM_REGISTERED)).footprint
        sizes = (3, 5, None, 4)
        committed = (event(Kind.CLAIM_COMMITTED, footprint=size) for size in sizes)
        assert 5 == self.told(*committed).footprint

    def test_accepted(self) -> None:
        """A claim that was accepted stays so when it is committed to again."""
        taken = event(Kind.CLAIM_COMMITTED)
        assert not self.told(taken).accepted
        assert self.told(event(Kind.CLAIM_ACCEPTED), taken).accepted

    def test_keys(self) -> None:
        """The content keys are those of the first commitment that means the object."""
        one: dict[str, Any] = {"object_id": "o", "content_keys": ("x",)}
        other: dict[str, Any] = {"object_id": "p", "content_keys": ("y",)}
        again: dict[str, Any] = {"object_id": "o", "content_keys": ("z",)}
        registered = event(Kind.CLAIM_REGISTERED, object_id="o")
        kinds = Kind.CLAIM_ACCEPTED, Kind.CLAIM_RETIRED, Kind.CLAIM_REGISTERED
        assert () == self.told(registered, *(event(kind, **one) for kind in kinds)).keys
        assert () == self.told(registered, event(Kind.CLAIM_COMMITTED, **other)).keys
        both = (event(Kind.CLAIM_COMMITTED, **said) for said in (one, again))
        assert ("x",) == self.told(registered, *both).keys

    def test_known(self) -> None:
        """A registry that holds another object under the name of a claim does not know it."""
        first = event(Kind.CLAIM_ACCEPTED, object_id="o")
        assert not self.told(first, event(Kind.CLAIM_COMMITTED, object_id="p")).known
        assert self.told(first, event(Kind.CLAIM_COMMITTED, object_id="o")).known

    def test_bound(self) -> None:
        """What agrees with all that was stated is bound, too; what does not binds nothing."""
        made = Claim("a")
        assert bind(made, event(Kind.CLAIM_ACCEPTED, object_id="o"))
        assert bind(made, event(Kind.CLAIM_ACCEPTED, token_map="m"))
        assert not bind(made, event(Kind.CLAIM_ACCEPTED, object_id="p", cache_identity="c"))
        assert not bind(made, event(Kind.CLAIM_ACCEPTED, token_map="n"))
        assert {"object_id": "o", "token_map": "m"} == made.stated

    def test_bound_predicate(self) -> None:
        """Two texts of one predicate agree."""
        made = Claim("a")
        assert bind(made, event(Kind.CLAIM_ACCEPTED, predicate="leading_prefix_at_least(2)"))
        wide = event(Kind.CLAIM_ACCEPTED, predicate=" leading_prefix_at_least( 2 blocks )")
        assert bind(made, wide)
        other = event(Kind.CLAIM_ACCEPTED, predicate="leading_prefix_at_least(3)")
        assert not bind(made, other)


class TestObjects:
    """Which claims are on one object."""

    def same(self, one: dict[str, Any], other: dict[str, Any]) -> bool | None:
        first, second = Claim("a", stated=one), Claim("b", stated=other)
        assert same_object(first, second) is same_object(second, first)
        return same_object(first, second)

    def test_same_object(self) -> None:
        """One object of one cache is the same; in two caches nothing is."""
        here, there = {"object_id": "o", "cache_identity": "c"}, {"cache_identity": "d"}
        assert self.same(here, {**here}) is True
        assert self.same(here, {**here, **there}) is False
        assert self.same({"cache_identity": "c"}, there) is False

    def test_unknown_object(self) -> None:
        """Where an object or a cache is not stated, nobody knows."""
        here = {"object_id": "o", "cache_identity": "c"}
        assert self.same(here, {"object_id": "o"}) is None
        assert self.same(here, {**here, "object_id": "p"}) is None
        assert self.same({}, {}) is None
        assert self.same({"cache_identity": "c"}, {"cache_identity": "c"}) is None

    def test_alike(self) -> None:
        """Keys decide of each position for which both claims state one, and else the object."""
        (one, _), (other, _) = claim("a", on="o", keys="xyz"), claim("b", on="o", keys="xw")
        assert [True, False, True] == [alike(one, other, at) for at in range(3)]

    def test_meant(self) -> None:
        """A fact that names no object means no claim, not even one without an object."""
        made = pool(claim("a"), claim("b", on="o"))
        del made.claims["a"].stated["object_id"]
        assert [] == meant(made, Event(kind=Kind.LOAD_FINISHED))
        found = meant(made, Event(kind=Kind.LOAD_FINISHED, object_id="o"))
        assert ["b"] == [each.claim_id for each in found]

    def test_unwatched(self) -> None:
        """A claim that is watched no more is meant by nothing, and holds nothing."""
        made, blocks = claim("a", on="o", held="7 8")
        about = Object("o", "cache", None)
        assert (True, 2) == (means(about, made), len(held_by(pool((made, blocks)), made)))
        made.unwatched = True
        assert (False, 0) == (means(about, made), len(held_by(pool((made, blocks)), made)))


class TestFollowed:
    """Of which claims something is followed still."""

    def watching(self, *, watched: bool = True, **fields: Any) -> tuple[Pool, Claim]:
        made, _ = claim("a", responsible=False)
        for name, value in fields.items():
            setattr(made, name, value)
        return Pool({"a": made}, watched=watched), made

    def test_tracked(self) -> None:
        """Where claims are watched hooks follow one that was introduced, until it is refused."""
        refused = ClaimState.REFUSED
        assert is_tracked(*self.watching())
        assert not is_tracked(*self.watching(watched=False))
        assert not is_tracked(*self.watching(introduced=False))
        assert not is_tracked(*self.watching(unwatched=True))
        assert not is_tracked(*self.watching(state=refused))
        taken, _ = claim("a")
        taken.state = refused
        assert is_tracked(Pool({"a": taken}), taken)

    def test_over(self) -> None:
        """A claim is over once its end was reported, where nobody answers for it or watches it."""
        gone = ClaimState.RELEASED
        assert is_over(*self.watching(watched=False, state=gone))
        assert not is_over(*self.watching(watched=False))
        assert not is_over(*self.watching(state=gone))
        taken, _ = claim("a")
        taken.state = gone
        assert not is_over(Pool({"a": taken}), taken)

    def test_unwatched_pool(self) -> None:
        """A pool watches nothing of which nobody says that it does."""
        registered, _ = claim("a", responsible=False)
        assert not is_tracked(Pool({"a": registered}), registered)

    def test_request(self) -> None:
        """A request of which nothing is known needs nothing, and an event belongs to its own."""
        made = pool(r=Request(1, 8), s=Request())
        assert made.request_of(Event(kind=Kind.LOAD_FAILED, request_id="r")) == Request(1, 8)
        assert made.request_of(Event(kind=Kind.LOAD_FAILED, request_id="t")) is None
        assert made.request_of(Event(kind=Kind.LOAD_FAILED)) is None
        new = Request()
        assert (0, 0, 0, False) == (new.needed, new.usable, new.since, new.unsure)

    def test_attributed(self) -> None:
        """Blocks that go belong to no request that is not stated."""
        made = pool(claim("a"), r=Request(1, 8))
        kinds = Kind.BLOCK_CACHED, Kind.BLOCK_EVICTED, Kind.PREFIX_REUSED
        assert [["r"], [], []] == [attributed(made, event(kind, "a")) for kind in kinds]

    def test_largest(self) -> None:
        """No more than 4096 blocks that a load counts are looked at one by one."""
        made = pool(claim("a"))
        assert 4096 == len(placed(made, event(Kind.LOAD_FINISHED, "a", held=4096)))
        with pytest.raises(TooLarge):
            placed(made, event(Kind.LOAD_FINISHED, "a", held=4097))


class TestOrder:
    """In what order lines stand."""

    def taken(self, *lines: Line) -> tuple[Order, list[tuple[bool, bool]]]:
        order = Order()
        return order, [order.take(line) for line in lines]

    def test_first(self) -> None:
        """A stream begins with the number 0 where nothing else is stated."""
        assert [(False, False), (False, False)] == self.taken(Line(1), Line(2, sequence=0))[1]
        assert [(False, True)] == self.taken(Line(1, sequence=1))[1]

    def test_again(self) -> None:
        """A number that occurs twice steps back; times may stand twice."""
        lines = (Line(1, sequence=0, time_ns=5), Line(2, sequence=1, time_ns=5))
        assert (False, False) == self.taken(*lines)[1][1]
        assert (True, False) == self.taken(*lines, Line(3, sequence=1))[1][2]
        assert (True, False) == self.taken(*lines, Line(3, sequence=2, time_ns=4))[1][2]

    def test_promise(self) -> None:
        """A stream is cut at the first line that promised an end, if its last line is none."""
        opened = [Line(at, mark=Mark.STREAM_OPENED) for at in (2, 3)]
        order, _ = self.taken(Line(1), *opened)
        assert (2, "the stream was cut: stream_closed is not its last line") == (
            order.cut,
            order.why,
        )
        assert self.taken(*opened, Line(4, mark=Mark.STREAM_CLOSED))[0].cut is None
        assert (None, 1) == (Order().cut, Order(opened=1).cut)

    def test_mixed(self) -> None:
        """From the first line of another form on lines may be missing anywhere."""
        foreign = [Line(at, sequence=at - 1, foreign=at in (2, 4)) for at in range(1, 6)]
        order, found = self.taken(*foreign)
        assert [(False, False), *[(False, True)] * 4] == found
        assert (2, "two dialects in one stream") == (order.cut, order.why)


def view(**fields: Any) -> View:
    """An event of the claim, with these fields, and none else that anybody knows."""
    return {**dict.fromkeys(EVENT_FIELDS), "mine": True, "named": True, **fields}


ELSEWHERE: dict[str, Any] = {"mine": False, "named": False}


class Course:
    """A claim under judgement, of two blocks, and the lines that it has seen."""

    def __init__(
        self,
        *names: str,
        mode: Mode = Mode.HARD_PROTECTED,
        requests: str = "r",
        responsible: bool = True,
        lead: int = 2,
    ) -> None:
        self.claim, _ = claim("a", responsible=responsible)
        self.claim.facts["lead"] = lead
        self.case = Case(self.claim, names, mode, requests)
        self.at = 0

    def take(self, kind: Kind, *views: View, here: str = "") -> None:
        self.at += 1
        self.case.take(kind, views or (view(),), set(here), self.at)

    def arrives(self, needed: int, usable: int, **fields: Any) -> None:
        said = view(**ELSEWHERE, needed=needed, usable=usable, **fields)
        self.take(Kind.REQUEST_ARRIVED, said, here="r")

    def found(self, name: str) -> Finding:
        return dict(self.case.findings())[name]


BLAME, CONFLICT, ROOM = "blocking_claim_ids", "explicit_conflict_action", "footprint_accounting"
RESTORE, TOLD = "offload_restorability", "claim_materialized_event"


class TestCase:
    """How the observers of one claim are moved."""

    def test_taken(self) -> None:
        """A rule of the claim itself is taken once, however many requests there are."""
        course = Course("explicit_acceptance", requests="rs")
        course.take(Kind.CLAIM_ACCEPTED, view(footprint=2))
        assert {("explicit_acceptance", "acceptance_reported"): 1} == course.case.taken

    def test_unstated(self) -> None:
        """A count that is not stated is 0 to the ledgers."""
        course = Course("explicit_acceptance")
        course.take(Kind.CLAIM_COMMITTED, view(footprint=None))
        assert 0 == course.claim.facts["footprint"]

    def test_followed(self) -> None:
        """The state of a claim follows reports that name it, and are about its object."""
        course, late = Course("explicit_acceptance"), Kind.CLAIM_RELEASED
        course.take(late, view(named=False))
        course.take(late, view(mine=False))
        assert str(ClaimState.ACCEPTED) == course.claim.state
        course.take(late)
        assert str(ClaimState.RELEASED) == course.claim.state

    def proved(self, resident: int, *rests: int) -> Finding:
        """A request that needs 3 of 6 blocks is refused, with a proof, beside so many blocks."""
        course = Course(ROOM)
        course.arrives(3, 6)
        said = {"said_resident": resident, "said_active": 3, "said_total": resident + 3}
        said |= {"said_usable": 6, "said_shortfall": resident - 3}
        ends = [view(**ELSEWHERE, proof=True, rest=rest, **said) for rest in rests]
        course.take(Kind.REQUEST_REFUSED, *ends, here="r")
        return course.found(ROOM)

    def test_one_end(self) -> None:
        """Where all is known a proof is right or wrong."""
        assert Finding(Verdict.SATISFIED, 2, "footprint_reported") == self.proved(4, 2)
        assert Finding(Verdict.VIOLATED, 2, "wrong_capacity_proof") == self.proved(5, 2)

    def test_two_ends(self) -> None:
        """It is wrong where it is wrong for all that may be, and else nobody knows."""
        assert Finding(Verdict.VIOLATED, 2, "wrong_capacity_proof") == self.proved(7, 4, 2)
        assert Finding(Verdict.INCONCLUSIVE, 2) == self.proved(6, 4, 2)
        assert Finding(Verdict.INCONCLUSIVE, 2) == self.proved(5, 4, 2)

    def test_right_at_both_ends(self) -> None:
        """Between two ends that agree, and on no breach, nothing is asked."""
        course = Course(BLAME)
        course.arrives(3, 6)
        blame = {**ELSEWHERE, "blamed": True, "accuses": True, "rest": 2, "others": 2}
        standing, transient = view(**blame), view(**blame, shared=1, shared_unblamed=1)
        course.take(Kind.REQUEST_REFUSED, standing, transient, here="r")
        assert Verdict.SATISFIED is course.found(BLAME).verdict

    def test_two_rules(self) -> None:
        """Where two ends come to the same by different rules, it is by that of the first."""
        course = Course(CONFLICT)
        course.arrives(3, 6, rest=2)
        crowded, roomy = view(**ELSEWHERE, rest=2), view(**ELSEWHERE, rest=1)
        course.take(Kind.REQUEST_DEFERRED, crowded, here="r")
        course.take(Kind.REQUEST_DEFERRED, crowded, roomy, here="r")
        assert Finding(Verdict.SATISFIED, 3, "conflict_action_reported") == course.found(CONFLICT)

    def reused(self, course: Course) -> Verdict:
        """What the reuse by the request comes to, which computes the claim before."""
        course.take(Kind.BLOCK_CACHED, view(lead=2), here="r")
        course.take(Kind.PREFIX_REUSED, here="r")
        return course.found(RESTORE).verdict

    def test_measured(self) -> None:
        """The claim was away at the arrival of a request if it holds less than it was known to."""
        for then, now, found in ((2, 1, Verdict.VIOLATED), (1, 2, Verdict.UNEXERCISED)):
            course = Course(RESTORE, mode=Mode.OFFLOADABLE, lead=then)
            course.arrives(1, 8)
            course.claim.facts["lead"] = now
            course.case.measure()
            assert found is self.reused(course)

    def test_measured_before(self) -> None:
        """From a request that has not arrived it is not away."""
        course = Course(RESTORE, mode=Mode.OFFLOADABLE, lead=1)
        course.case.measure()
        assert Verdict.UNEXERCISED is self.reused(course)


class TestUnknown:
    """What is left open of a claim."""

    def test_doubt(self) -> None:
        """An obligation of which nothing more is concluded stays so, whatever is doubted after."""
        course = Course(ROOM)
        course.case.leave_open([ROOM], 1)
        course.case.doubt(NEED, 2)
        course.take(Kind.CLAIM_ACCEPTED, view(footprint=7))
        assert Finding(Verdict.INCONCLUSIVE, 1) == course.found(ROOM)

    def test_doubted(self) -> None:
        """A breach that does not rest on what is doubted is found."""
        course = Course(ROOM)
        course.case.doubt(NEED, 2)
        assert Finding(Verdict.INCONCLUSIVE, 2) == course.found(ROOM)
        course.take(Kind.CLAIM_ACCEPTED, view(footprint=7))
        assert Verdict.VIOLATED is course.found(ROOM).verdict

    def test_attributed(self) -> None:
        """It is unknown who computed a claim that was away if one of several requests did."""
        cached, gone = (Event(kind=k) for k in (Kind.BLOCK_CACHED, Kind.BLOCK_EVICTED))
        for said, among, course, found in (
            (cached, "rs", self.away(), {RESTORE: 3}),
            (cached, "r", self.away(), {}),
            (gone, "rs", self.away(), {}),
            (cached, "rs", self.away(lead=2), {}),
            (cached, "rs", self.away(responsible=False), {}),
        ):
            course.case.attribute(said, among, 3)
            assert found == course.case.open

    def away(self, lead: int = 1, *, responsible: bool = True) -> Course:
        return Course(RESTORE, mode=Mode.OFFLOADABLE, lead=lead, responsible=responsible)


class TestFindings:
    """What obligations of one claim come to."""

    def test_settled(self) -> None:
        """A claim whose end was reported is settled once nothing is owed of it in any request."""
        course = Course("claim_identity", CONFLICT)
        course.claim.met = 1
        course.arrives(5, 6)
        course.take(Kind.CLAIM_RETIRED)
        course.take(Kind.CLAIM_RELEASED)
        assert (False, False) == (course.claim.alive, course.case.settled)
        course.take(Kind.REQUEST_FINISHED, view(**ELSEWHERE), here="r")
        assert course.case.settled

    def test_exercised_no_more(self) -> None:
        """What is back where it began was found by no event."""
        course = Course(TOLD, lead=0)
        course.take(Kind.BLOCK_CACHED, view(lead=2))
        assert Finding(Verdict.PENDING, 1, "predicate_became_true") == course.found(TOLD)
        course.take(Kind.BLOCK_LOST, view(lead=0))
        assert Finding(Verdict.UNEXERCISED) == course.found(TOLD)

    def test_satisfied_again(self) -> None:
        """What the claim itself came to last stands before what it came to earlier."""
        course = Course(TOLD, lead=0)
        for _ in range(2):
            course.take(Kind.BLOCK_CACHED, view(lead=2))
            course.take(Kind.CLAIM_MATERIALIZED)
            course.take(Kind.BLOCK_EVICTED, view(lead=0))
        assert Finding(Verdict.SATISFIED, 5, "materialization_reported") == course.found(TOLD)

    def test_satisfied_before(self) -> None:
        """What was satisfied in a state that is left stands before what requests come to."""
        course = Course(CONFLICT)
        course.arrives(5, 6)
        course.take(Kind.REQUEST_DEFERRED, view(**ELSEWHERE), here="r")
        course.take(Kind.REQUEST_DEFERRED, view(**ELSEWHERE), here="r")
        assert Finding(Verdict.SATISFIED, 3, "conflict_action_reported") == course.found(CONFLICT)
        course.take(Kind.REQUEST_FINISHED, view(**ELSEWHERE), here="r")
        assert Finding(Verdict.SATISFIED, 3, "conflict_action_reported") == course.found(CONFLICT)
