"""Ids of claims that ended long ago are forgotten: what is given up then, and what is not."""

from __future__ import annotations

from collections import Counter
from random import Random

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from monitor.check.events import EventMonitor
from spec.stream.outcome import ModeVerdict
from monitor.pool.bloom_filter import digest
from monitor.pool.seen import Recent
from monitor.stream import claim_store, retired_claims
from spec.claims.claim import Mode
from spec.events.alphabet import ENDS, Kind
from spec.language.errors import SpecError
from tests.monitor.lives import ENDING, WATCHED, ended_lives, lives
from tests.monitor.stream.test_forget import AFTER, LATE, SETTINGS, conclude
from tests.streams.stories import CLAIMS, accepted, filled
from tests.streams.strategies import Stamped

A, B, C = CLAIMS
MOST = 1_000
_OVER = ENDS | {Kind.CLAIM_RETIRED}
_BEGINS = {Kind.CLAIM_REGISTERED, Kind.CLAIM_COMMITTED, Kind.CLAIM_ACCEPTED, Kind.CLAIM_REJECTED}


def digests(count: int, seed: int = 0) -> list[bytes]:
    chance = Random(seed)
    return [digest("claim_id", f"{seed}:{chance.random()}") for _ in range(count)]


class TestRecent:
    def test_the_last_ones(self) -> None:
        """At least so many are known as were asked for, and at most twice as many."""
        recent, every = Recent(MOST), digests(5 * MOST)
        for number, known in enumerate(every, 1):
            recent.add(known)
            assert known in recent
            assert max(0, (number - 1) // MOST - 1) * MOST == recent.forgotten
        assert all(known in recent for known in every[-MOST:])
        assert not any(known in recent for known in every[: 3 * MOST])

    def test_again(self) -> None:
        """What is known among the last ones takes no room a second time."""
        recent = Recent(MOST)
        for known in digests(MOST) * 5:
            recent.add(known)
        assert 0 == recent.forgotten

    def test_strangers(self) -> None:
        """Hardly any digest is taken for one that was met."""
        recent = Recent(MOST)
        for known in digests(2 * MOST):
            recent.add(known)
        assert not any(known in recent for known in digests(100 * MOST, seed=1))

    def test_memory(self) -> None:
        """It does not grow, and is about 16 bytes for each id that is remembered."""
        recent = Recent(MOST)
        sizes = set()
        for number, known in enumerate(digests(6 * MOST)):
            recent.add(known)
            if number > MOST:
                sizes.add(sum(len(bits or b"") for bits in (recent._older, recent._younger)))
        assert 1 == len(sizes)
        assert 16 * MOST <= sizes.pop() <= 32 * MOST


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is remembered of claims that are over, not even an id."""

    def add(recent: Recent, known: bytes) -> None:
        recent.forgotten += 1

    monkeypatch.setattr(Recent, "add", add)
    monkeypatch.setattr(claim_store, "TROUBLED", 0)


def begins_again(events: list[Stamped]) -> bool:
    """Whether a claim has a second life."""
    over = set()
    for _, event in events:
        if event.kind in _BEGINS and event.claim_id in over:
            return True
        if event.kind in _OVER:
            over.add(event.claim_id)
    return False


@pytest.mark.interpreted
@pytest.mark.usefixtures("forgetful")
class TestGivenUp:
    @pytest.mark.parametrize("watched", [False, True])
    def test_nothing_else(self, *, watched: bool) -> None:
        """Where no claim begins a second time, nothing is concluded that is not so."""
        seen: Counter[tuple[ModeVerdict, ModeVerdict]] = Counter()

        @SETTINGS
        @given(ended_lives(watched=watched), st.sampled_from(WATCHED if watched else ENDING))
        def compare(events: list[Stamped], mode: Mode) -> None:
            assume(not begins_again(events))
            stream = [event for _, event in events]
            whole = conclude(stream, mode, ended=None).verdict
            short = conclude(stream, mode, records=0).verdict
            assert short in (whole, ModeVerdict.INCONCLUSIVE)
            seen[whole, short] += 1

        compare()
        assert seen[ModeVerdict.KEPT, ModeVerdict.KEPT] > 1
        assert seen[ModeVerdict.VIOLATED, ModeVerdict.VIOLATED] > 1

    def test_a_second_life(self) -> None:
        """A claim whose id was forgotten is another claim when it begins again."""
        stream = [*lives(A), AFTER, *accepted(A, ""), *filled(A, "")]
        assert ModeVerdict.VIOLATED is conclude(stream, ended=None).verdict
        assert ModeVerdict.KEPT is conclude(stream, records=0).verdict

    @pytest.mark.parametrize("name", sorted(LATE.keys() - {"second life", "accepted again"}))
    def test_late(self, name: str) -> None:
        """What is said of an id that no event introduces may be about a claim that ended."""
        stream = [*lives(A, B), AFTER, *LATE[name], AFTER]
        assert ModeVerdict.INCONCLUSIVE is conclude(stream, records=0).verdict

    def test_new_claims(self) -> None:
        """Claims that are new are judged as before."""
        found = conclude([*lives(A, B), *accepted(C, ""), *filled(C, "")], records=0)
        assert ModeVerdict.KEPT is found.verdict
        assert [(C, ModeVerdict.KEPT)] == [(j.claim.claim_id, j.verdict) for j in found.claims]


class TestReported:
    def test_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The monitor says so from the event on by which it was, and so does the report."""
        monkeypatch.setattr(retired_claims, "_LONGEST", 0)  # no claim has a record
        monitor, reached = EventMonitor(Mode.DEMOTABLE, ended=0, ids=1), []
        for event in lives(*CLAIMS):
            monitor.feed(msgspec.structs.replace(event, stream="s"))
            reached.append(monitor.limits("s"))
        assert [[], ["ids"]] == [list(each) for each in reached[-2:]]
        report = monitor.finish()
        assert (False, reached[-1]["ids"]) == (report.theorem.applies, report.theorem.because)
        assert "kept" == report.verdict

    @pytest.mark.parametrize("ids", ["many", None, 0, -1, 1.5])
    def test_no_number(self, ids: object) -> None:
        """A limit is a number."""
        with pytest.raises(SpecError, match="ids"):
            EventMonitor(ids=ids)  # type: ignore[arg-type]
