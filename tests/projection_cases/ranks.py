"""Evictions in the order of priorities, as far as these are known."""

from __future__ import annotations

from collections.abc import Iterator

from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from spec.projection.lines import Line
from tests.spec.projection.stories import begun, event, lines

__all__ = ["ranks"]


def ranks() -> Iterator[tuple[str, list[Line]]]:
    """Evictions of one of three claims of different priority."""
    for each in ((0, 3, 5), (1, 3, 5), (5, 5, 5), (5, 3, 0), (0, 1, None)):
        claims = [
            begun(name, Mode.SOFT_PRIORITY, size=2, block=10 * n, priority=rank)
            for n, (name, rank) in enumerate(zip("abc", each, strict=True), 1)
        ]
        told = [said for claim in claims for said in claim]
        for lowest in (None, 0, 1, 3, 4, 6):
            for gone in ((10,), (30,), (10, 30), (20, 30)):
                taken = event(Kind.BLOCK_EVICTED, block_ids=gone, lowest_priority=lowest)
                name = f"priorities {each}, {gone} taken, lowest {lowest}"
                yield name, lines(*told, taken)
        first = event(Kind.BLOCK_LOST, block_ids=(10, 11))
        taken = event(Kind.BLOCK_EVICTED, block_ids=(30,), lowest_priority=0)
        yield f"priorities {each}, the first is gone", lines(*told, first, taken)
    yield from _unknown()


def _unknown() -> Iterator[tuple[str, list[Line]]]:
    """Evictions beside a claim, or of one, of which two priorities are stated, or none."""
    second = event(Kind.CLAIM_ACCEPTED, "a", priority=9)
    for each in ((None, None, 5), (3, None, 5), (1, 3, 5), (9, 3, 5)):
        claims = [
            begun(name, Mode.SOFT_PRIORITY, size=2, block=10 * n, priority=rank)
            for n, (name, rank) in enumerate(zip("abc", each, strict=True), 1)
        ]
        told = [said for claim in claims for said in claim]
        for lowest in (None, 1, 3, 4, 5, 9):
            for gone in ((10,), (30,), (10, 11, 30), (20, 21, 30)):
                taken = event(Kind.BLOCK_EVICTED, block_ids=gone, lowest_priority=lowest)
                name = f"priorities {each}, {gone} taken, lowest {lowest}"
                yield f"{name}, and 9 is stated", lines(*told, second, taken)
                alone = [*claims[0], *claims[2], taken]
                yield f"{name}, the second is not there", lines(*alone)
