"""What a live claim takes of memory, and what claims that came and went leave behind."""

from __future__ import annotations

import tracemalloc

from tests.bench_memory import AT_ONCE, Run, gone

LIVE = 300
MOST = 5_500  # bytes for each claim of four blocks; the aim is 1,024
MOST_MORE = 220  # bytes for each further block; the aim is 100


def traced(blocks: int) -> float:
    """Bytes for each live claim."""
    run = Run()
    run.begin(LIVE, LIVE * blocks, blocks)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(LIVE):
            run.begin(number, number * blocks, blocks)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return (after - before) / LIVE


class TestMemory:
    def test_live(self) -> None:
        """A live claim, and each further block of one, take so much and no more."""
        few, more = traced(4), traced(12)
        assert few < MOST
        assert (more - few) / 8 < MOST_MORE

    def test_gone(self) -> None:
        """All claims that came and went are kept, and those that were forgotten are counted."""
        held, conclusion = gone(3 * AT_ONCE, parts=3, ended=AT_ONCE)
        assert "kept" == conclusion.verdict
        assert [0, AT_ONCE, 2 * AT_ONCE, 3 * AT_ONCE] == [each.claims for each in held]
        assert 2 * AT_ONCE == sum(number for _, number in conclusion.forgotten)
