"""Positions held in runs, against plain sets."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.evaluate.positions import Placed, Positions

MOST = 2**53
_positions, _blocks = st.integers(0, 9), st.integers(0, 3)
_pairs = st.lists(st.tuples(_positions, _blocks), max_size=4)
_steps = st.one_of(
    st.tuples(st.sampled_from(("hold", "drop", "place")), _pairs),
    st.tuples(st.just("take"), st.tuples(_positions, _blocks)),
    st.tuples(st.just("hold_run"), st.tuples(_positions, _positions)),
    st.tuples(st.just("drop_unnamed"), _positions),
    st.tuples(st.just("clear"), st.none()),
)


class TestPositions:
    @settings(max_examples=300, deadline=None, derandomize=True, database=None)
    @given(st.lists(_steps, max_size=12), _positions)
    def test_against_sets(self, steps: list[tuple[str, object]], start: int) -> None:
        """Whatever is held and dropped, the lead is that of the plain sets of positions."""
        positions, named, unnamed = Positions(start), set(), set()
        for step, what in steps:
            match step, what:
                case "hold", list(pairs):
                    positions.hold(pairs)
                    named |= set(pairs)
                case "drop", list(pairs):
                    positions.drop(pairs)
                    named -= set(pairs)
                case "place", list(pairs):
                    free = dict(pairs)
                    free = {p: b for p, b in free.items() if not positions.holds(p)}
                    if free:
                        run = Placed("a", (*free.values(),), (*free,))
                        positions.place(run)
                        named |= set(free.items())
                        sole = named == set(free.items()) and not unnamed
                        assert sole >= positions.are_all(run)
                case "take", (int(position), int(block)):
                    named.discard((position, block))
                    there = position in {p for p, _ in named} | unnamed
                    assert there is not positions.take(position, block)
                case "hold_run", (int(begin), int(end)):
                    positions.hold_run(begin, end)
                    unnamed |= set(range(begin, end))
                case "drop_unnamed", int(position):
                    positions.drop_unnamed(position)
                    unnamed.discard(position)
                case _:
                    positions.clear()
                    named, unnamed = set(), set()
            held = {position for position, _ in named} | unnamed
            lead = next(n for n in range(100) if start + n not in held)
            assert lead == positions.lead
            assert bool(unnamed) == positions.unnamed
            assert {block for _, block in named} == positions.blocks

    def test_long_run(self) -> None:
        """A run costs the same whatever its length, and losing one position splits it."""
        positions = Positions(3)
        positions.hold_run(0, MOST)
        assert MOST - 3 == positions.lead
        positions.drop_unnamed(1000)
        assert 997 == positions.lead
        positions.hold([(1000, 7)])
        assert MOST - 3 == positions.lead

    def test_nothing_dropped(self) -> None:
        """To drop no position, within a run of held ones, changes nothing."""
        made = Positions()
        made.hold([(0, 10), (1, 11), (2, 12)])
        assert not made.drop_unnamed(1, 1)
        assert 3 == made.lead
