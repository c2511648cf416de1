"""Live verdicts on claims that come and go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from monitor.engine import Monitor
from monitor.pool.seen import Seen
from monitor.stream import retired_claims
from monitor.stream.projection import Stream

from monitor.input.records import Record, Stamp, at_line
from monitor.live import feed as live
from monitor.live import follow
from monitor.live.feed import Live
from monitor.live.follow import Followed, live_line
from monitor.live.lines import LiveEnd, LiveLimit, LiveLine, LiveVerdict
from spec.claims.claim import Mode
from spec.events.alphabet import CONFLICT_ACTIONS, Kind
from spec.events.canonical import Event
from spec.language.verdicts import Verdict, pool
from tests.monitor.lives import ENDING, ended_lives, lives
from tests.streams.stories import CLAIMS, accepted, at, say
from tests.streams.strategies import Stamped

A, B, C = CLAIMS
AFTER = Event(kind=Kind.BLOCK_LOST, block_ids=(999,))


class Told:
    """A monitor of few claims, and what it has told so far."""

    def __init__(self, most: int = 2, ended: int = 0, modes: Sequence[Mode] = ENDING) -> None:
        self.live = Live("run", modes, most=most, ended=ended)
        self.number, self.limits = 0, list[LiveLimit]()

    def take(self, events: Iterable[Event]) -> list[LiveVerdict]:
        """The verdicts that are told of these events; limits are put aside."""
        for event in events:
            self.live.take(msgspec.structs.replace(event, sequence=self.number))
            self.number += 1
        self.live._next = 0.0
        found = self.live.changes()
        self.limits += [line for line in found if isinstance(line, LiveLimit)]
        return [line for line in found if isinstance(line, LiveVerdict)]


def streams(told: Told) -> list[Stream]:
    """The stream, as each mode judges it."""
    return [stream for each in told.live._monitors.values() for stream in each._streams.values()]


def arrived(request: str) -> Event:
    return at(Kind.REQUEST_ARRIVED, request, needed=1, usable=10)


def known(told: list[LiveVerdict]) -> list[tuple[str, Verdict, bool]]:
    return [(each.claim_id, each.verdict, each.forgotten) for each in told]


class TestForgotten:
    def test_once(self) -> None:
        """A claim that ended is reported for the last time, and then no more."""
        told = Told()
        assert [(A, Verdict.SATISFIED, True)] == known(told.take([*lives(A), AFTER]))
        assert [] == told.take([AFTER])
        assert [] == told.live.changes(final=True)

    def test_without_end(self) -> None:
        """What counts is how many claims are live, not how many there were."""
        told = Told()
        for number in range(20):
            claims = [f"claim:{number}:{each}" for each in range(10)]
            new = [
                msgspec.structs.replace(event, claim_id=claim, object_id=claim)
                for claim in claims
                for event in lives(A)
            ]
            assert [(claim, Verdict.SATISFIED, True) for claim in claims] == known(told.take(new))
        assert not told.live._full
        assert {} == told.live._emitted

    @pytest.mark.parametrize("ended", [0, 5])
    def test_harm_of_a_forgotten_claim(self, ended: int) -> None:
        """What is said of a claim that has ended is told where it changes its verdict."""
        told = Told(ended=ended)
        told.take([*lives(A, B), AFTER])
        assert [] == told.take([say(Kind.STORE_FINISHED, A)])
        (late,) = told.take([say(Kind.CLAIM_HARMED, A)])
        assert (A, Verdict.VIOLATED) == (late.claim_id, late.verdict)
        assert [] == told.take([AFTER])

    def test_second_life_in_another_mode(self) -> None:
        """It is reported once, as a violation of the mode that the claim had."""
        told = Told()
        told.take([*lives(A), AFTER])
        again = [msgspec.structs.replace(event, mode="hard_protected") for event in accepted(A, "")]
        late = told.take([*again, AFTER])
        assert [(A, Verdict.VIOLATED, Mode.DEMOTABLE)] == [
            (each.claim_id, each.verdict, each.mode) for each in late if each.claim_id == A
        ]

    @pytest.mark.parametrize("mode", ["demotable", None])
    def test_entered_no_more(self, mode: str | None) -> None:
        """A watched claim that is accepted in another mode, or rejected, after it was told of is
        inconclusive then, as in a check."""
        told = Told(ended=1, modes=(Mode.BEST_EFFORT,))
        known, _, said = (
            msgspec.structs.replace(event, mode=event.mode and "best_effort")
            for event in accepted(A, "")
        )
        told.take([known])
        late = msgspec.structs.replace(said, mode=mode)
        (now,) = told.take([late if mode else say(Kind.CLAIM_REJECTED, A)])
        why = "it was accepted in another mode, demotable" if mode else "not registered"
        assert (A, Verdict.INCONCLUSIVE, why) == (now.claim_id, now.verdict, now.why)
        (last,) = told.live.changes(final=True)
        assert (Verdict.INCONCLUSIVE, True) == (last.verdict, last.final)
        assert live_line(last).endswith(f"inconclusive  {why}  (final)\n")

    def test_those_who_come_late(self) -> None:
        """They are told of the claims that ended last, too."""
        told = Told(ended=1)
        told.take([*lives(A, B, C), AFTER])
        assert [B, C] == [verdict.claim_id for verdict in told.live.standing]


class TestBounds:
    """What a stream may say without end, and never close."""

    def test_never_registered(self) -> None:
        """Ids that nobody registered count as claims: beyond the bound nothing is concluded."""
        told = Told()
        told.take(accepted(A, ""))
        for number in range(9):
            told.take([say(Kind.CLAIM_MATERIALIZED, f"claim:{number}")])
        held = [len(stream.claims) for stream in streams(told)]
        assert [2] * len(ENDING) == held
        verdicts = {each.claim_id: each.verdict for each in told.live.changes(final=True)}
        assert Verdict.INCONCLUSIVE is verdicts[A]

    def test_at_the_bound(self) -> None:
        """More may be said of claims that are in hand, and of those that ended."""
        told = Told()
        told.take([*lives(C), *accepted(A, ""), *accepted(B, "")])
        told.take([say(Kind.CLAIM_MATERIALIZED, each) for each in CLAIMS])
        assert not told.live._full

    def test_told_of_again(self) -> None:
        """A request of which more is said after it finished, or that never came, is not held."""
        told = Told(most=9)
        told.take(lives(A))
        for number in range(9):
            request = f"request:{number}"
            told.take([arrived(request), at(Kind.REQUEST_FINISHED, request)])
            told.take([at(kind, request) for kind in CONFLICT_ACTIONS])
            told.take([at(Kind.REQUEST_FINISHED, f"another:{number}")])
        assert [0] * len(ENDING) == [len(stream.requests) for stream in streams(told)]

    def test_of_a_tainted_claim(self) -> None:
        """Neither is one that is told of a claim of which nothing is concluded."""
        told = Told(most=9)
        told.take(accepted(A, ""))
        told.number += 1
        for number in range(9):
            told.take([say(Kind.PREFIX_LOOKUP, A, f"request:{number}", held=1)])
        assert [0] * len(ENDING) == [len(stream.requests) for stream in streams(told)]

    def test_ids(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """That ids are forgotten is stated once, and changes no exit code."""
        monkeypatch.setattr(retired_claims, "_LONGEST", 0)  # no claim has a record
        monkeypatch.setattr(live, "Seen", lambda: Seen(1))
        told, found = Told(), []
        for claim in (A, B, C, "claim:other"):
            told.take([] if claim not in CLAIMS else [*lives(claim), AFTER])
            found.append([each for each in told.limits if each.limit == "ids"])
        assert [0, 0, 1, 1] == list(map(len, found))
        (limit,) = found[-1]
        followed = Followed()
        followed.take(limit)
        assert msgspec.json.decode(msgspec.json.encode(limit), type=LiveLine) == limit
        assert live_line(limit).startswith("limit  ids  ")
        followed.take(LiveEnd("run"))
        assert 3 == followed.code

    def test_never_finished(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of more requests in hand than are followed nothing is concluded, and no more come in."""
        monkeypatch.setattr(live, "REQUESTS", 3)
        monkeypatch.setattr(live, "LOOK", 1)
        told = Told()
        told.take(lives(A))
        told.take(accepted(B, ""))
        told.take([arrived(f"request:{number}") for number in range(3)])
        told.take([at(Kind.REQUEST_DEFERRED, "request:0"), arrived("request:3")])
        assert not told.live._full
        told.take([arrived("request:4"), arrived("request:5")])
        assert told.live._full
        assert [4] * len(ENDING) == [len(stream.requests) for stream in streams(told)]
        verdicts = {each.claim_id: each.verdict for each in told.live.changes(final=True)}
        assert Verdict.INCONCLUSIVE is verdicts[B]


class TestFollowed:
    """What following comes to."""

    @pytest.mark.parametrize(
        ("told", "ended", "code"),
        [
            ([], True, 3),
            ([("satisfied", False)], False, 3),
            ([("satisfied", True)], False, 3),
            ([("satisfied", False)], True, 0),
            ([("satisfied", True)], True, 0),
            ([("satisfied", True), ("inconclusive", False)], True, 3),
            ([("inconclusive", True), ("satisfied", False)], True, 3),
            ([("violated", True), ("satisfied", False)], True, 1),
            ([("violated", False)], False, 1),
        ],
    )
    def test_code(self, told: list[tuple[str, bool]], ended: bool, code: int) -> None:
        """Kept is only a stream that ended, all of whose claims were kept."""
        followed = Followed()
        for number, (verdict, forgotten) in enumerate(told):
            claim, mode, known = f"claim:{number}", Mode.DEMOTABLE, Verdict(verdict)
            followed.take(LiveVerdict("run", claim, mode, "", known, forgotten=forgotten))
        if ended:
            followed.take(LiveEnd("run"))
        assert code == followed.code

    @pytest.mark.parametrize("forgotten", [False, True])
    def test_stays_violated(self, forgotten: bool) -> None:
        """What is reported later of a claim that was violated does not undo it."""
        followed = Followed()
        for verdict in (Verdict.VIOLATED, Verdict.SATISFIED):
            told = LiveVerdict("run", A, Mode.DEMOTABLE, "", verdict, forgotten=forgotten)
            followed.take(told)
        followed.take(LiveEnd("run"))
        assert 1 == followed.code

    def test_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of more claims than are kept it is not said that they are kept."""
        monkeypatch.setattr(follow, "OPEN", 2)
        codes = []
        for count in (2, 3):
            followed = Followed()
            for number in range(count):
                told = LiveVerdict("run", f"claim:{number}", Mode.DEMOTABLE, "", Verdict.SATISFIED)
                followed.take(told)
                followed.take(told)
            followed.take(LiveEnd("run"))
            assert 2 == len(followed._open)
            codes.append(followed.code)
        assert [0, 3] == codes

    def test_nothing_kept(self) -> None:
        """What is forgotten there is forgotten here; a verdict on it that comes later counts."""
        followed = Followed()
        for verdict, forgotten in ((Verdict.SATISFIED, True), (Verdict.VIOLATED, True)):
            told = LiveVerdict("run", A, Mode.DEMOTABLE, "", verdict, forgotten=forgotten)
            followed.take(told)
        assert (1, {}) == (followed.code, followed._open)


class TestOwnMode:
    @pytest.mark.slow
    def test_same_verdicts(self) -> None:
        """Claims of several modes in one pool are judged as if each mode judged them all, unless
        what is said of the others comes after they were dropped."""
        seen: Counter[bool] = Counter()

        @given(ended_lives(), st.tuples(*[st.sampled_from(ENDING)] * 3), st.sampled_from((0, 9)))
        @settings(
            max_examples=150,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        def compare(stamped: list[Stamped], modes: tuple[Mode, ...], ended: int) -> None:
            asked = dict(zip(CLAIMS, modes, strict=True))
            live, monitors = Live("run", ENDING, ended=ended), {m: Monitor(m) for m in ENDING}
            for line, (number, plain) in enumerate(stamped, 1):
                mode = asked.get(plain.claim_id or "") if plain.mode else None
                event = msgspec.structs.replace(plain, sequence=number, mode=mode)
                live.take(event)
                place = at_line("run", line, number)
                for monitor in monitors.values():
                    monitor.take(Record(place, Stamp("run", number, None), ((event, place),)))
            told = {each.claim_id: each for each in live.changes(final=True)}
            for mode, monitor in monitors.items():
                monitor.finish()
                for claim in monitor.claims():
                    found = told.get(claim.claim_id)
                    if claim.declared_mode == mode and found is not None:
                        expected = pool(finding.verdict for _, finding in claim.findings())
                        assert mode == found.mode
                        assert found.verdict in (expected, Verdict.INCONCLUSIVE)
                        seen[found.verdict is expected] += 1

        compare()
        assert seen[True] > 20 * seen[False]
