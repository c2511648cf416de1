"""Verdicts on losses, by the allocator dialect: demoted, expired, ranked."""

from __future__ import annotations

import pytest

from spec.claims.states import Mode
from spec.contract.modes import Bundle
from tests.monitor.traces import (
    CLAIM,
    OTHER,
    Trace,
    claim_of,
    having,
    judge,
    verdicts,
    without,
)
from tests.monitor.traces_allocator import (
    allocator_block,
    allocator_end,
    allocator_release,
    allocator_resident,
    allocator_victim,
)

RELEASES = [
    (Mode.DEMOTABLE, "claim_demoted_before_loss", "resident_claim_demoted"),
    (Mode.EXPIRING, "claim_expired_boundary", "resident_claim_expired"),
]


@pytest.mark.parametrize(("mode", "duty", "event"), RELEASES)
class TestLoss:
    """Demotion and expiry must come before the loss that breaks the predicate."""

    @pytest.mark.parametrize("bundle", Bundle)
    def test_before(self, mode: Mode, duty: str, event: str, bundle: Bundle) -> None:
        """Given up explicitly, then lost: kept."""
        report = judge(allocator_release(event), mode, bundle)
        assert "kept" == report.verdict
        assert "satisfied" == verdicts(report)[duty]

    def test_after(self, mode: Mode, duty: str, event: str) -> None:
        """Lost first and given up then: the loss is what counts."""
        losses = [allocator_victim(100 + i) for i in range(59, 30, -1)]
        trace = [*allocator_resident(), *losses, allocator_end(event)]
        assert "violated" == verdicts(judge(trace, mode))[duty]

    @pytest.mark.parametrize(("lost", "verdict"), [(20, "satisfied"), (21, "violated")])
    def test_tail(self, mode: Mode, duty: str, event: str, lost: int, verdict: str) -> None:
        """Of 60 blocks 20 at the tail may go while 40 leading ones are promised; not the next."""
        losses = [allocator_victim(159 - i) for i in range(lost)]
        trace = [*allocator_resident(), *losses, allocator_end(event)]
        assert verdict == verdicts(judge(trace, mode))[duty]

    def test_head(self, mode: Mode, duty: str, event: str) -> None:
        """One loss at the head breaks a leading prefix, however many blocks survive."""
        trace = [*allocator_resident(), allocator_victim(100)]
        report = judge(trace, mode)
        assert duty in having(report, "violated")

    def test_second_copy(self, mode: Mode, duty: str, event: str) -> None:
        """A victim whose position is held by a second cached block breaks no predicate."""
        copy = allocator_block(0, 900)
        trace = [*allocator_resident(), copy, allocator_victim(100), allocator_end(event)]
        assert "satisfied" == verdicts(judge(trace, mode))[duty]

    def test_named_as_released(self, mode: Mode, duty: str, event: str) -> None:
        """A loss "after release" of a claim that nobody released is a loss before it."""
        trace = without(allocator_release(event), event)
        assert "violated" == verdicts(judge(trace, mode))[duty]


def ranked(high: str, low: str, *losses: str) -> Trace:
    """Two claims of different value, and blocks that they lose, in this order."""
    first = {high: 100, low: 500}
    return [
        *allocator_resident(high, 4, 4, first[high], predicted_value=0.9),
        *allocator_resident(low, 4, 4, first[low], predicted_value=0.1),
        *(allocator_victim(first[c] + 3 - losses[:n].count(c), c) for n, c in enumerate(losses)),
    ]


class TestPriority:
    """Of two claims of different priority the lower loses first."""

    def test_lower_first(self) -> None:
        """The lower loses all that it has, then the higher: there was nothing else to take."""
        report = judge(ranked(CLAIM, OTHER, *[OTHER] * 4, CLAIM), Mode.SOFT_PRIORITY)
        assert "unexercised" == verdicts(report)["priority_influence"]
        assert "satisfied" == verdicts(report, OTHER)["priority_influence"]

    @pytest.mark.parametrize("losses", [(CLAIM, OTHER), (OTHER, CLAIM), (OTHER, OTHER, CLAIM)])
    def test_higher_first(self, losses: tuple[str, ...]) -> None:
        """The higher loses while the lower holds blocks: no line says whether they could go."""
        report = judge(ranked(CLAIM, OTHER, *losses), Mode.SOFT_PRIORITY)
        found = claim_of(report).obligations["priority_influence"]
        said = (
            "what block_evicted does not state decides priority_influence "
            "(lower_priority_available)"
        )
        assert ("inconclusive", said) == (found.verdict, found.why)

    def test_one(self) -> None:
        """The lower loses alone: it is judged at once, and the higher was not put to the test."""
        report = judge(ranked(CLAIM, OTHER, OTHER), Mode.SOFT_PRIORITY)
        assert "unexercised" == verdicts(report)["priority_influence"]
        assert "satisfied" == verdicts(report, OTHER)["priority_influence"]
