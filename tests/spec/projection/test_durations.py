"""Tests of spec.projection.rights: when a duration is over, and for whom that is an end."""

from __future__ import annotations

from msgspec.structs import replace

from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.projection import rights
from spec.projection.pool import Claim
from tests.spec.projection.stories import arrives, begun, event, finishes, having, judged


class TestDurations:
    """Durations of claims, also of those that another mode judges."""

    def test_lapses(self) -> None:
        """Responsibility ends by itself where the claim asks for that, whichever mode judges; a
        mode that nobody knows counts for none.
        """
        for judging in (Mode.EXPIRING, Mode.HARD_PROTECTED):
            found = {
                asks: rights.lapses(Claim("a", mode=asks), judging)
                for asks in ("expiring", "demotable", "lru", None)
            }
            own = judging is Mode.EXPIRING
            assert {"expiring": True, "demotable": False, "lru": own, None: own} == found

    def test_least(self) -> None:
        """A duration in seconds is over no earlier than if it ran from the last time seen."""
        made = {
            (duration, seen): Claim("a", duration=duration)
            for duration in ("2 s", "2 steps", None)
            for seen in (5, None)
        }
        for (_, seen), claim in made.items():
            rights.enter(claim, seen)
        least = {key: claim.least for key, claim in made.items() if claim.least is not None}
        assert {("2 s", 5): 2_000_000_005} == least

    def test_too_soon(self) -> None:
        """What nobody saw begin is over too soon if it is before then; untimed nobody can say."""
        events = begun("a", Mode.EXPIRING, duration="2 s")
        times: dict[str, tuple[int | None, int | None]] = {
            "soon": (5, 2_000_000_004),
            "in time": (5, 2_000_000_005),
            "nothing seen": (None, 4),
            "untimed": (5, None),
        }
        found = {}
        for name, (first, over) in times.items():
            told = [replace(events[0], time_ns=first), *events[1:]]
            told.append(replace(event(Kind.DURATION_ELAPSED, "a"), time_ns=over))
            expired = replace(event(Kind.CLAIM_EXPIRED, "a", by="runtime"), time_ns=over)
            found[name] = str(judged(*told, expired, mode=Mode.EXPIRING).verdict)
        assert found == {name: "inconclusive" if name == "soon" else "kept" for name in times}

    def test_guest(self) -> None:
        """What a claim of another mode takes is free once its duration is over."""
        host, guest = begun("h"), begun("a", Mode.EXPIRING, block=20, duration="2 s")
        asks = [arrives("r", 5), finishes("r")]
        for now, due in ((1, {"explicit_conflict_action"}), (2_000_000_000, set[str]())):
            stream = [replace(each, time_ns=0) for each in (*host, *guest)]
            stream += [replace(each, time_ns=now) for each in asks]
            assert due == having(judged(*stream), "violated", "h")
