"""The monitor and the naive projection agree, line by line, on streams of a whole runtime.

`make differential` compares more of them, and asks how often each rule is taken.
"""

from __future__ import annotations

import pytest

from spec.claims.claim import Mode
from tests.differential.compare import BARRED, Tally, rules_of
from tests.differential.run import KEPT, MODES, Found, compare_edited, compare_seed

SEEDS = 25
"""Of each mode, of some twice or more; each is a stream of an honest runtime, and one of any."""

MORE = 100
"""So many with the slow tests, those above left out."""

EDITED = 60
"""Streams of each mode, of some twice or more, that are written by hand but for a few edits."""

MORE_EDITED = 120
"""So many with the slow tests, those above left out."""


class TestWide:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("first", "end"),
        [
            pytest.param(0, SEEDS, id="few"),
            pytest.param(SEEDS, MORE, id="more", marks=pytest.mark.deep),
        ],
    )
    @pytest.mark.parametrize("mode", Mode)
    def test_equal(self, mode: Mode, first: int, end: int) -> None:
        """After each line both hold the same verdict of each obligation of each claim. An honest
        runtime is accused by neither, and many of its streams are kept."""
        found = Found(Tally(), Tally())
        seeds = range(first * MODES.count(mode), end * MODES.count(mode))
        for seed in seeds:
            compare_seed(mode, seed, found)
        assert 0 == found.honest.streams["violated"]
        assert len(seeds) * KEPT <= 100 * found.honest.streams["kept"]
        assert 0 < found.every.streams["violated"]

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("first", "end"),
        [
            pytest.param(0, EDITED, id="few"),
            pytest.param(EDITED, MORE_EDITED, id="more", marks=pytest.mark.deep),
        ],
    )
    @pytest.mark.parametrize("mode", Mode)
    def test_edited(self, mode: Mode, first: int, end: int) -> None:
        """They agree in the same way on short streams that were edited at random."""
        tally, times = Tally(), MODES.count(mode)
        compare_edited(mode, first * times, (end - first) * times, tally)
        assert (end - first) * times == tally.streams.total()
        assert 0 < tally.streams["violated"]

    def test_barred(self) -> None:
        """Each rule that is listed is a rule of some contract."""
        assert BARRED.keys() <= {ruled for mode in Mode for ruled in rules_of(mode)}
