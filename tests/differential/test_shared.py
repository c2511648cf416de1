"""All modes in one pass: each claim is judged as by a monitor of its own mode alone."""

from __future__ import annotations

from random import Random

import pytest

from monitor.engine import Monitor
from monitor.stream.keep import Keep
from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.projection.lines import Line
from tests.differential.compare import Differs
from tests.differential.shared import compare_going_on, compare_live, compare_shared
from tests.streams.edited import edited
from tests.streams.mixed import mixed

SEEDS = 4


def claim(mode: Mode | None, name: str = "c", kind: Kind = Kind.CLAIM_REGISTERED) -> Event:
    stated = None if mode is None else mode.value
    return Event(kind=kind, claim_id=name, object_id="o", mode=stated, footprint=1)


def lines(*events: Event) -> list[Line]:
    return [Line(n + 1, (event,), sequence=n) for n, event in enumerate(events)]


class TestShared:
    @pytest.mark.parametrize("mode", Mode)
    def test_mixed(self, mode: Mode) -> None:
        """After each line the findings, and what explains them, are those of separate monitors,
        whether claims are forgotten or not; and most honest streams can be judged so."""
        together = 0
        for seed in range(SEEDS):
            together += compare_shared(mixed(Random(seed), mode, 0))
            compare_shared(mixed(Random(seed), mode))
            compare_shared(mixed(Random(seed), mode), keep=Keep(ended=2))
        assert SEEDS // 2 < together

    @pytest.mark.parametrize("mode", Mode)
    def test_going_on(self, mode: Mode) -> None:
        """A judging that parts where it must says after each line, and in its report, what one
        monitor for each mode says; what comes of claims is news at the same lines."""
        parted = [
            compare_going_on(of(Random(seed), mode))
            for of in (mixed, edited)
            for seed in range(SEEDS)
        ]
        assert not all(parted)

    @pytest.mark.parametrize("mode", Mode)
    def test_live(self, mode: Mode) -> None:
        """The verdicts that a serving process emits are those of separate monitors after each
        line."""
        parted = [compare_live(of(Random(seed), mode)) for of in (mixed, edited) for seed in (0, 1)]
        assert not all(parted)

    def test_parts_late(self) -> None:
        """It parts before a line that states no mode, though claims are in hand and requests are
        followed, and before facts that name nobody."""
        cached = Event(kind=Kind.BLOCK_CACHED, claim_id="a", block_ids=(1,), positions=(0,))
        arrived = Event(kind=Kind.REQUEST_ARRIVED, request_id="r", needed=1, usable=9)
        used = Event(kind=Kind.PREFIX_LOOKUP, claim_id="a", request_id="r", held=1, asked=1)
        begun = [claim(Mode.OFFLOADABLE, "a"), claim(Mode.EXPIRING, "e"), cached, arrived, used]
        unnamed = Event(kind=Kind.PREFIX_REUSED, request_id="r")
        assert not compare_going_on(lines(*begun, used))
        assert compare_going_on(lines(*begun, claim(None, "b"), used, unnamed))
        assert compare_going_on(lines(*begun, unnamed, used, claim(Mode.DEMOTABLE, "d")))

    def test_no_mode(self) -> None:
        """A claim that states no mode is judged by each, so not all are judged in one pass."""
        assert not compare_shared(lines(claim(Mode.EXPIRING, "a"), claim(None, "b")))
        assert not compare_shared(lines(claim(Mode.EXPIRING, kind=Kind.CLAIM_HARMED)))
        assert compare_shared(lines(claim(Mode.EXPIRING, "a"), claim(Mode.DEMOTABLE, "b")))

    def test_two_modes(self) -> None:
        """Nor is one in which a claim is accepted in another mode than it asked for."""
        accepted = claim(Mode.DEMOTABLE, kind=Kind.CLAIM_ACCEPTED)
        assert not compare_shared(lines(claim(Mode.EXPIRING), accepted))

    @pytest.mark.interpreted
    def test_a_difference_is_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Were the claims of one mode judged by another's observers, it would be noticed."""
        from monitor.stream.known_claims import KnownClaims

        made = KnownClaims.make
        monkeypatch.setattr(KnownClaims, "make", lambda self, name, mode=None: made(self, name))
        monkeypatch.setattr(Monitor, "apart", False)
        with pytest.raises(Differs):
            compare_shared(lines(claim(Mode.HARD_PROTECTED)))
