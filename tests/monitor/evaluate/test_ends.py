"""Which assumptions about facts an event breaks, after the first of them."""

from __future__ import annotations

import pytest

from monitor.engine import Monitor
from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from spec.projection.lines import Line
from tests.differential.compare import record

REGISTERED = Event(kind=Kind.CLAIM_REGISTERED, claim_id="a", predicate="leading_prefix_at_least(2)")
SEEN = frozenset(Kind) - {Kind.CLAIM_RETIRED}  # so nobody knows whether an entry has ended


def contradictions(observes: frozenset[Kind] | None, *footprints: int | None) -> list[str]:
    """What contradicts where a claim is committed to with these footprints, one after another."""
    monitor = Monitor(Mode.HARD_PROTECTED)
    commits = [Event(kind=Kind.CLAIM_COMMITTED, claim_id="a", footprint=n) for n in footprints]
    for at, event in enumerate([REGISTERED, *commits], 1):
        monitor.take(record(Line(at, (event,), observes=observes)))
    return [why for _, why in monitor.contradicted()]


@pytest.mark.parametrize("footprint", [2, 1, None])
def test_second_commitment(footprint: int | None) -> None:
    """It contradicts the first, whether or not it states a footprint."""
    (why,) = contradictions(None, 2, footprint)
    assert "already holds" in why


def test_unstated() -> None:
    """A commitment that states no footprint is not too small."""
    assert [] == contradictions(None, None)
    assert [] == contradictions(SEEN, 2, None)


def test_after_one_that_is_not_observed() -> None:
    """Where nobody would have seen the entry end, a second commitment may still be too small."""
    assert [] == contradictions(SEEN, 2, 2)
    (why,) = contradictions(SEEN, 2, 1)
    assert "smaller than what the predicate needs" in why
