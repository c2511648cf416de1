"""Missing lines, more than once in the life of a claim."""

from __future__ import annotations

import pytest

from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.events.canonical import Event
from tests.differential.compare import compare, lines
from tests.differential.test_copies import cached, entry, evicted, there

ENDS = (
    Event(kind=Kind.CLAIM_REJECTED, claim_id="a"),
    Event(kind=Kind.CLAIM_RELEASED, claim_id="a", by="owner"),
)


class TestMissing:
    @pytest.mark.parametrize("mode", [Mode.BEST_EFFORT, Mode.SOFT_PRIORITY, Mode.ROUTED_REUSE])
    @pytest.mark.parametrize("end", ENDS)
    def test_owing_again(self, mode: Mode, end: Event) -> None:
        """Of a claim that owed nothing where lines were missing, and owes a report where others
        are, that report may be among them.
        """
        before = [entry("a", "x", mode), cached("a", 100), there("a"), end]
        events = [*before, evicted(100), cached("a", 101), evicted(101)]
        numbers = (0, 1, 2, 3, 5, 7, 8)  # lines are missing before and after block 100 is evicted
        assert "inconclusive" == compare(lines(zip(numbers, events, strict=True)), mode)
