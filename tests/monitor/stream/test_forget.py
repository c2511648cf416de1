"""Claims that ended are forgotten: what is said of them later is judged as if they were not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monitor.engine import Conclusion, ModeVerdict, Monitor
from monitor.evaluate.claim import ClaimRun
from monitor.evaluate.compile import compile_mode
from monitor.input.records import Doubt, Record, Stamp, at_line
from monitor.stream import claim_store
from monitor.stream.keep import Keep
from monitor.stream.projection import Stream
from monitor.stream.retired_claims import REMEMBERED
from spec.claims.claim import Mode
from spec.contract.modes import Bundle
from spec.events.alphabet import Kind
from spec.events.canonical import CapacityProof, Event
from spec.language.verdicts import Verdict
from tests.differential.compare import asking
from tests.monitor.lives import ENDING, WATCHED, ended_lives, lives
from tests.monitor.reference import interpret
from tests.monitor.test_reference import inside
from tests.streams.stories import (
    CLAIMS,
    accepted,
    at,
    blocks,
    filled,
    finishes,
    fits,
    registered,
    say,
)
from tests.streams.strategies import Stamped

A, B, C = CLAIMS
HARD = Mode.HARD_PROTECTED
AFTER = at(Kind.REQUEST_DEFERRED, "request:after")  # by then what was owed is overdue
SETTINGS = settings(
    max_examples=80,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(autouse=True)
def forgotten_whatever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims that were violated are forgotten like all others."""
    monkeypatch.setattr(claim_store, "TROUBLED", 0)


def numbered(events: Iterable[Event]) -> list[Stamped]:
    return list(enumerate(events))


def read(mode: Mode, events: Iterable[Stamped], keep: Keep | None) -> Stream:
    """A stream that has taken in these events, in which each claim asks for the mode that judges,
    and is over.
    """
    stream = Stream(compile_mode(mode, Bundle.CONTRACT), "run", keep)
    for line, (number, event) in enumerate(asking(list(events), mode), 1):
        place = at_line("f", line, number)
        stream.stamp(Stamp("run", number, event.time_ns), place)
        stream.take(event, place)
    stream.finish()
    return stream


def conclude(
    events: Iterable[Event], mode: Mode = HARD, records: int = REMEMBERED, ended: int | None = 0
) -> Conclusion:
    """The verdict on these events, claims being forgotten as soon as they are over."""
    monitor = Monitor(mode, keep=Keep(ended=ended, records=records))
    for line, (number, event) in enumerate(numbered(events), 1):
        place, asked = at_line("f", line, number), event.mode and str(mode)
        taken = (msgspec.structs.replace(event, mode=asked), place)
        monitor.take(Record(place, Stamp("run", number, event.time_ns), (taken,)))
    return monitor.conclude()


def others(count: int) -> Iterator[list[Event]]:
    """So many lives, each of another claim."""
    for number in range(count):
        name = {"claim_id": f"claim:{number}", "object_id": f"prefix:{number}"}
        yield [
            msgspec.structs.replace(
                event,
                claim_id=name["claim_id"],
                object_id=event.object_id and name["object_id"],
                block_ids=tuple(100 * number + block for block in event.block_ids),
            )
            for event in lives(A)
        ]


def broken(found: Conclusion) -> set[str]:
    """The obligations that were violated."""
    return {name for name, verdict in found.obligations.items() if verdict is Verdict.VIOLATED}


def verdicts(stream: Stream, claim: str) -> dict[str, Verdict]:
    """What is known of a claim, recalled if it was forgotten."""
    found = stream._store.known(claim)
    assert found is not None
    return {name: finding.verdict for name, finding in found.findings()}


class TestSame:
    """The same stream, remembered and forgotten."""

    def test_a_stranger_that_is_recalled(self) -> None:
        """A claim that no registry ever held is on no object, also when it is recalled."""
        about = {"claim_id": "claim:stranger", "object_id": "object of claim:a"}
        told = [
            Event(kind=Kind.CLAIM_RELEASED, by="somebody", **about),
            Event(kind=Kind.CLAIM_REJECTED, **about),
        ]
        stream = read(HARD, numbered(told), Keep(ended=0))
        assert Verdict.SATISFIED is verdicts(stream, "claim:stranger")["claim_identity"]

    @pytest.mark.slow
    @pytest.mark.parametrize("mode", Mode)
    def test_verdicts(self, mode: Mode) -> None:
        """Each obligation of each claim is judged alike, or inconclusive where blocks or requests
        matter that nobody remembers; and nearly no claim that was violated is missed."""
        seen: Counter[str] = Counter()

        @SETTINGS
        @given(ended_lives(watched=mode in WATCHED), st.integers(0, 1))
        def compare(events: list[Stamped], ended: int) -> None:
            whole, short = read(mode, events, None), read(mode, events, Keep(ended=ended))
            seen["forgotten"] += sum(alike.count for alike in short.past)
            assert whole._store.room.bound == short._store.room.bound
            for claim in whole.claims:
                expected, found = verdicts(whole, claim), verdicts(short, claim)
                for name, verdict in found.items():
                    assert verdict in (expected[name], Verdict.INCONCLUSIVE)
                broken = Verdict.VIOLATED in expected.values()
                seen["violated"] += broken
                seen["missed"] += broken and Verdict.VIOLATED not in found.values()
                seen["vaguer"] += expected != found
                seen["same"] += expected == found

        compare()
        assert seen["forgotten"] > 50
        assert seen["violated"] > 10 * seen["missed"]
        assert seen["same"] > seen["vaguer"]

    @pytest.mark.parametrize("records", [0, 1, REMEMBERED])
    def test_conclusion(self, records: int) -> None:
        """However little is remembered, forgetting makes no verdict but an inconclusive one."""
        seen: Counter[tuple[ModeVerdict, ModeVerdict]] = Counter()

        @SETTINGS
        @given(ended_lives(), st.sampled_from(ENDING))
        def compare(events: list[Stamped], mode: Mode) -> None:
            stream = [event for _, event in events]
            whole = conclude(stream, mode, ended=None).verdict
            short = conclude(stream, mode, records).verdict
            assert short in (whole, ModeVerdict.INCONCLUSIVE)
            seen[whole, short] += 1

        compare()
        assert seen[ModeVerdict.KEPT, ModeVerdict.KEPT] > 1
        assert seen[ModeVerdict.VIOLATED, ModeVerdict.VIOLATED] > 20

    @pytest.mark.parametrize("mode", ENDING)
    def test_reference(self, mode: Mode) -> None:
        """The compiled monitor and the interpreted one forget and recall alike."""
        fast, (slow, _) = compile_mode(mode, Bundle.CONTRACT), interpret(mode, Bundle.CONTRACT)

        @settings(SETTINGS, max_examples=20)
        @given(ended_lives())
        def compare(events: list[Stamped]) -> None:
            one, other = Stream(fast, "run", Keep(ended=0)), Stream(slow, "run", Keep(ended=0))
            for line, (number, event) in enumerate(events, 1):
                place = at_line("f", line, number)
                for stream in (one, other):
                    stream.stamp(Stamp("run", number, event.time_ns), place)
                    stream.take(event, place)
                assert {n: inside(c) for n, c in one.claims.items()} == {
                    n: inside(c) for n, c in other.claims.items()
                }
            for claim in CLAIMS:
                if one._store.known(claim) is not None:
                    assert verdicts(one, claim) == verdicts(other, claim)

        compare()


REFUSED: dict[str, Any] = {"needed": 5, "usable": 6}
LATE: dict[str, list[Event]] = {
    "second life": accepted(A, ""),
    "accepted again": [say(Kind.CLAIM_ACCEPTED, A, footprint=3)],
    "harm": [say(Kind.CLAIM_HARMED, A)],
    "materialized": [say(Kind.CLAIM_MATERIALIZED, A)],
    "released again": [say(Kind.CLAIM_RELEASED, A, by="owner")],
    "blame": [
        at(Kind.REQUEST_ARRIVED, "request:9", **REFUSED),
        at(
            Kind.REQUEST_REFUSED,
            "request:9",
            blocking_claim_ids=(A,),
            proof=CapacityProof(3, 5, 8, 6, 2),
        ),
    ],
    "another identity": [say(Kind.PREFIX_LOOKUP, A, object_id="another object", held=1)],
    "misnamed": [
        Event(kind=Kind.CLAIM_REJECTED, claim_id="claim:x", object_id=f"object of {A}"),
    ],
}


def used(*events: Event) -> list[Event]:
    """What comes of a request that arrives and ends."""
    return [*fits(A, "request:9"), *events, *finishes(A, "request:9")]


HARMLESS: dict[str, list[Event]] = {
    "load": [*fits(A, "request:9"), say(Kind.LOAD_FINISHED, A, "request:9", **blocks(A, 0, 1))],
    "load of nobody knows how much": [say(Kind.LOAD_FINISHED, A, "request:9")],
    "failed load": used(say(Kind.LOAD_FAILED, A, "request:9")),
    "failed load of its object": used(
        Event(kind=Kind.LOAD_FAILED, request_id="request:9", object_id=f"object of {A}")
    ),
    "failed load of its block": used(
        Event(kind=Kind.LOAD_FAILED, request_id="request:9", block_ids=blocks(A, 0)["block_ids"])
    ),
    "failed load that is told": used(
        say(Kind.LOAD_FAILED, A, "request:9"),
        say(Kind.CLAIM_RESTORATION_FAILED, A, "request:9", outcome="refusal"),
    ),
    "store": [say(Kind.STORE_FINISHED, A)],
    "lost copy": [say(Kind.HOST_COPY_LOST, A)],
    "look-up": [say(Kind.PREFIX_LOOKUP, A, "request:9", held=2)],
    "reuse": used(say(Kind.PREFIX_REUSED, A, "request:9")),
    "block lost": [say(Kind.CLAIM_BLOCK_LOST, A, block_ids=(10,))],
    "eviction": [Event(kind=Kind.BLOCK_EVICTED, block_ids=blocks(A, 0, 1, 2)["block_ids"])],
    "reset": [Event(kind=Kind.BLOCK_LOST)],
    "cached again": [Event(kind=Kind.BLOCK_CACHED, object_id=f"object of {A}", positions=(0,))],
    "end of a request": used(),
}


class TestLate:
    """What is said of a claim after it was forgotten."""

    @pytest.mark.parametrize("events", LATE.values(), ids=LATE)
    def test_caught(self, events: list[Event]) -> None:
        """It is violated, as it would be had the claim not been forgotten."""
        stream = [*lives(A, B), AFTER, *events, AFTER]
        whole, short = broken(conclude(stream, ended=None)), broken(conclude(stream))
        assert short
        rest_on_blocks = {
            "materialization_predicate",
            "claim_harm_attribution",
            "claim_materialized_event",
        }
        assert short <= whole <= short | rest_on_blocks

    @pytest.mark.parametrize("mode", ENDING)
    def test_second_harm(self, mode: Mode) -> None:
        """In a second life, which is one too many, the harm is reported: nothing else is broken."""
        lost = Event(kind=Kind.BLOCK_LOST, block_ids=blocks(A, 0, 1, 2)["block_ids"])
        again = [*accepted(A, ""), *filled(A, ""), lost, say(Kind.CLAIM_HARMED, A), AFTER]
        stream = [*lives(A, B), AFTER, *again]
        assert {"ordered_lifecycle_events"} == broken(conclude(stream, mode, ended=None))
        assert {"ordered_lifecycle_events"} == broken(conclude(stream, mode))

    @pytest.mark.parametrize("events", LATE.values(), ids=LATE)
    def test_beyond_the_records(self, events: list[Event]) -> None:
        """With no record left it is inconclusive, unless others are witnesses."""
        stream = [*lives(A, B), AFTER, *events, AFTER]
        assert ModeVerdict.INCONCLUSIVE is conclude(stream, records=0).verdict

    @pytest.mark.parametrize("records", [1, REMEMBERED])
    @pytest.mark.parametrize("events", HARMLESS.values(), ids=HARMLESS)
    def test_harmless(self, events: list[Event], records: int) -> None:
        """Completions that come late, and what no promise is about, change nothing."""
        *life, retired, demoted = lives(A)
        copied = [*life, say(Kind.STORE_FINISHED, A), retired, demoted]
        stream = [*lives(B), *copied, AFTER, *events, AFTER]
        assert ModeVerdict.KEPT is conclude(stream, ended=None).verdict
        assert ModeVerdict.KEPT is conclude(stream, records=records).verdict

    @pytest.mark.parametrize(
        "events",
        [
            [say(Kind.CLAIM_RETIRED, A)],
            [say(Kind.LOAD_FAILED, A, "request:9")],
            [say(Kind.HOST_COPY_LOST, A)],
        ],
    )
    def test_contradicted(self, events: list[Event]) -> None:
        """Facts that contradict what was known of it do so still."""
        stream = [*lives(B, A), AFTER, *events]
        assert ModeVerdict.INCONCLUSIVE is conclude(stream, ended=None).verdict
        assert ModeVerdict.INCONCLUSIVE is conclude(stream).verdict

    def test_new_claims(self) -> None:
        """Claims that are new are judged, however many were forgotten for good."""
        found = conclude([*lives(A, B), *accepted(C, ""), *filled(C, "")], records=0)
        assert ModeVerdict.KEPT is found.verdict
        assert [(C, ModeVerdict.KEPT)] == [(j.claim.claim_id, j.verdict) for j in found.claims]

    def test_smear(self) -> None:
        """A restore that failed for a claim of which nothing is known smears nobody for certain."""
        failed = [say(Kind.LOAD_FAILED, claim, "request:9") for claim in (A, C)]
        blame: dict[str, Any] = {"restore": True, "blocking_claim_ids": (A, C)}
        refused = [at(Kind.REQUEST_REFUSED, "request:9", **blame), *finishes(C, "request:9")]
        stream = [*lives(A), AFTER, *accepted(C, ""), *filled(C, ""), *failed, *refused]
        assert "blocking_claim_ids" not in broken(conclude(stream, ended=None))
        assert set() == broken(conclude(stream, records=0))

    def test_disorder(self) -> None:
        """A stream that steps back breaks the order of claims that were forgotten, too."""
        events = [*numbered([*lives(A, B), AFTER]), (3, AFTER)]
        whole, short = read(HARD, events, None), read(HARD, events, Keep(ended=0))
        assert [2] == [alike.count for alike in short.past]
        assert verdicts(whole, A) == verdicts(short, A)
        assert Verdict.VIOLATED is verdicts(short, B)["ordered_lifecycle_events"]

    def test_misnamed(self) -> None:
        """A stranger's report about an object breaks the identity of each claim on it; of those
        that were forgotten, and come back later, nothing is vouched for."""
        object_id = "object of two"
        both = [msgspec.structs.replace(each, object_id=object_id) for each in lives(A, B)]
        said = msgspec.structs.replace(say(Kind.CLAIM_MATERIALIZED, C), object_id=object_id)
        again = say(Kind.PREFIX_LOOKUP, A, "request:9", held=0, asked=0)
        found = []
        for keep in (None, Keep(ended=0)):
            stream = read(HARD, numbered([*both, AFTER, said, again]), keep)
            found.append(verdicts(stream, A)["claim_identity"])
        assert [Verdict.VIOLATED, Verdict.INCONCLUSIVE] == found

    def test_doubt(self) -> None:
        """A line that leaves something unsaid of a forgotten claim makes it inconclusive."""
        for records in (0, REMEMBERED):
            keep = Keep(ended=0, records=records)
            stream = read(HARD, numbered([*lives(A), AFTER]), keep)
            stream.doubt(Doubt("it says too little", A), at_line("f", 99))
            assert {Verdict.INCONCLUSIVE} == set(verdicts(stream, A).values())

    @pytest.mark.parametrize("fact", [Kind.REQUEST_ROUTED, Kind.REUSE_SERVED])
    def test_owed_late(self, fact: Kind) -> None:
        """A request that the claim had in hand comes again after the claim was given up: nothing is
        owed of its route, or its reuse, and where the claim was forgotten nothing is known."""
        more: dict[str, Any] = {"cost": 7, "worker": "w"} if fact is Kind.REQUEST_ROUTED else {}
        found_it: dict[str, Any] = {"held": 3, "asked": 3}
        life = [*registered(A, ""), *filled(A, ""), *fits(A, "request:2")]
        life += [say(Kind.PREFIX_LOOKUP, A, "request:2", **found_it)]
        over = [*finishes(A, "request:2"), say(Kind.CLAIM_RETIRED, A, by="owner"), AFTER]
        late = [*fits(A, "request:2"), say(fact, A, "request:2", **more), *finishes(A, "request:2")]
        found = []
        for keep in (None, Keep(ended=0)):
            stream = read(Mode.ROUTED_REUSE, numbered([*life, *over, *late]), keep)
            found.append(set(verdicts(stream, A).values()))
        assert {Verdict.SATISFIED, Verdict.UNEXERCISED} == found[0]
        assert {Verdict.SATISFIED, Verdict.INCONCLUSIVE} == found[1]

    @pytest.mark.parametrize("records", [0, REMEMBERED])
    def test_torn(self, records: int) -> None:
        """A run that continues in another file without its claims is not kept, also where either
        file's were forgotten."""
        away = [say(Kind.CLAIM_REGISTERED, A), say(Kind.CLAIM_REJECTED, A)]
        for first, second in (
            (lives(A), away),
            (lives(A), [AFTER]),
            ([*lives(A), AFTER], lives(B)),
        ):
            monitor = Monitor(Mode.DEMOTABLE, keep=Keep(ended=0, records=records))
            for file, events in (("one", first), ("two", [*second, AFTER])):
                for number, event in enumerate(events):
                    place = at_line(file, number + 1, number)
                    monitor.take(Record(place, Stamp("run", number, None), ((event, place),)))
            kept = monitor.conclude().verdict is ModeVerdict.KEPT
            assert kept is (second == lives(B))


class TestMemory:
    """What is kept, counted in claims."""

    def many(self, count: int, live: int) -> Iterable[Event]:
        """Claims that come and go, so many at a time, each with a request of its own."""
        for number in range(count + live):
            if number < count:
                claim = f"claim:{number}"
                said: dict[str, Any] = {"object_id": f"prefix {number}", "owner_scope": "owner"}
                predicate = "leading_prefix_at_least(1)"
                yield say(Kind.CLAIM_REGISTERED, claim, predicate=predicate, **said)
                yield say(Kind.CLAIM_COMMITTED, claim, footprint=1)
                yield say(Kind.CLAIM_ACCEPTED, claim, footprint=1)
                yield say(Kind.BLOCK_CACHED, claim, block_ids=(number % live,), positions=(0,))
                yield say(Kind.CLAIM_MATERIALIZED, claim)
                yield from fits(claim, f"request:{number}")
                yield say(Kind.PREFIX_LOOKUP, claim, f"request:{number}", held=1)
                yield at(Kind.REQUEST_FINISHED, f"request:{number}")
            if number >= live - 1 and number - live + 1 < count:
                claim = f"claim:{number - live + 1}"
                yield say(Kind.CLAIM_RETIRED, claim)
                yield say(Kind.CLAIM_RELEASED, claim, by="owner")

    def test_contents(self) -> None:
        """The contents of claims that were forgotten are forgotten."""
        stream = Stream(compile_mode(HARD, Bundle.CONTRACT), "run", Keep(ended=2))
        keyed = stream.store.blocks._keyed
        for number in range(50):
            for event in self.many(1, 1):
                keys = (f"key {number}", "prefix") if event.kind is Kind.CLAIM_COMMITTED else ()
                name = event.claim_id and f"claim:{number}"
                renamed = msgspec.structs.replace(event, claim_id=name, content_keys=keys)
                stream.take(renamed, at_line("f", number))
            assert len(stream.claims) <= 3
            assert len(keyed) <= 4
        assert keyed

    @pytest.mark.interpreted
    def test_bounded(self) -> None:
        """What is in hand is what is live, and the last ones that ended."""
        keep = Keep(ended=10, records=50)
        stream = Stream(compile_mode(HARD, Bundle.CONTRACT), "run", keep)
        most = 0
        for line, event in enumerate(self.many(1_000, 20), 1):
            stream.take(event, at_line("f", line))
            most = max(most, len(stream.claims))
        kept = stream._store
        assert (20 + 10, 10) == (most, len(stream.claims))
        assert [990] == [alike.count for alike in stream.past]
        assert (50, 50) == (len(stream.past._records), len(stream.past._on))
        assert 20 >= len(kept.blocks._owners) == len(kept.blocks._forgotten)
        assert 10 == len(kept.objects._claims)
        assert {} == kept.responsible | kept.owing | kept.unsettled
        assert (0, {}) == (kept.room.bound, kept.blocks.mixed)

    def test_durations(self) -> None:
        """The ends of durations are not kept for claims that are over."""
        stream = Stream(compile_mode(HARD, Bundle.CONTRACT), "run", Keep(ended=0))
        said: dict[str, Any] = {"object_id": "o", "predicate": "leading_prefix_at_least(1)"}
        for number in range(1_500):
            claim = f"claim:{number}"
            for event in (
                say(Kind.CLAIM_REGISTERED, claim, duration="3600 s", **said),
                say(Kind.CLAIM_COMMITTED, claim, footprint=1, time_ns=number),
                say(Kind.CLAIM_ACCEPTED, claim, footprint=1),
                say(Kind.CLAIM_RETIRED, claim),
                say(Kind.CLAIM_RELEASED, claim, by="runtime"),
            ):
                stream.take(event, at_line("f", 1))
        assert 0 == len(stream._clock._running)
        assert 1_000 >= len(stream._clock._ends)

    @pytest.mark.interpreted
    def test_never_over(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Claims of which a request never ends are given up in the end, as inconclusive."""
        monkeypatch.setattr(claim_store, "OPEN", 1)
        stream: list[Event] = []
        for claim in CLAIMS:
            request = f"request of {claim}"
            used = [*fits(claim, request), say(Kind.PREFIX_LOOKUP, claim, request, held=1)]
            stream += [*lives(claim)[:-2], *used, *lives(claim)[-2:]]
        found = conclude(stream)
        assert [C] == [judged.claim.claim_id for judged in found.claims]
        assert [(ModeVerdict.INCONCLUSIVE, 2)] == [(j.verdict, n) for j, n in found.forgotten]

    @pytest.mark.interpreted
    def test_violated(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The first claims that were violated stay to be looked at, however many end after them."""
        monkeypatch.setattr(claim_store, "TROUBLED", 1)
        harmed = [e for c in (A, B) for e in (*lives(c), say(Kind.CLAIM_HARMED, c))]
        found = conclude([*harmed, *lives(C), AFTER])
        assert [(A, ModeVerdict.VIOLATED)] == [(j.claim.claim_id, j.verdict) for j in found.claims]
        assert {(ModeVerdict.VIOLATED, 1), (ModeVerdict.KEPT, 1)} == {
            (judged.verdict, count) for judged, count in found.forgotten
        }

    @pytest.mark.interpreted
    def test_too_many_ways(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Claims that end in more ways than are remembered are counted as inconclusive."""
        monkeypatch.setattr("monitor.stream.retired_claims._MOST_LIKES", 1)
        short = [e for c in (B, C) for e in (*accepted(c, ""), *lives(c)[-2:])]
        found = conclude([*lives(A), *short, AFTER])
        assert [(ModeVerdict.KEPT, 1), (ModeVerdict.INCONCLUSIVE, 2)] == [
            (judged.verdict, count) for judged, count in found.forgotten
        ]
        retired: list[ClaimRun] = []
        keep = Keep(ended=1, on_retired=retired.append)
        (last,) = others(1)
        read(HARD, numbered([*lives(A), *short, *last]), keep)
        assert [False, True, True] == [claim.taint is not None for claim in retired]

    def test_altered(self) -> None:
        """Claims that end after others were put in doubt are not counted among these."""
        stream = Stream(compile_mode(HARD, Bundle.CONTRACT), "run", Keep(ended=1))

        def distrust(run: ClaimRun) -> bool:
            run.distrust(None, "a test")
            return True

        number = 0
        for life, events in enumerate(others(5)):
            for event in events:
                place = at_line("f", number + 1, number)
                stream.stamp(Stamp("run", number, number), place)
                stream.take(event, place)
                number += 1
            if life == 2:
                stream.past.change(distrust)
        assert [(True, 2), (False, 2)] == [(each.troubled, each.count) for each in stream.past]

    @pytest.mark.parametrize("mode", WATCHED)
    @pytest.mark.parametrize(("by", "left"), [("owner", []), ("runtime", [A])])
    def test_watched(self, mode: Mode, by: str, left: list[str]) -> None:
        """In modes without acceptance a claim is forgotten once its owner has ended its entry."""
        end = say(Kind.CLAIM_RETIRED, A, by=by)
        events = numbered([*registered(A, ""), *filled(A, ""), end, AFTER])
        assert left == list(read(mode, events, Keep(ended=0)).claims)

    def test_one(self) -> None:
        """The claim that is judged alone is not forgotten, and no other one is counted."""
        monitor = Monitor(HARD, only=A, keep=Keep(ended=0))
        for number, event in numbered([*lives(A, B), AFTER]):
            place = at_line("f", number)
            monitor.take(Record(place, Stamp("run", number, None), ((event, place),)))
        found = monitor.conclude()
        assert ([A], ()) == ([j.claim.claim_id for j in found.claims], found.forgotten)
