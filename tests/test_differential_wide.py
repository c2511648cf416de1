"""The monitor and the naive projection agree, line by line, on streams of a whole runtime.

`make differential` compares more of them, and asks how often each rule is taken.
"""

from __future__ import annotations

import pytest

from spec.claims.claim import Mode
from tests.differential import BARRED, Tally, rules_of
from tests.differential_run import KEPT, MODES, Found, compare_seed

SEEDS = 100
"""Of each mode, of some twice or more; each is a stream of an honest runtime, and one of any."""


class TestWide:
    @pytest.mark.parametrize("mode", Mode)
    def test_equal(self, mode: Mode) -> None:
        """After each line both hold the same verdict of each obligation of each claim. An honest
        runtime is accused by neither, and many of its streams are kept."""
        found = Found(Tally(), Tally())
        seeds = SEEDS * MODES.count(mode)
        for seed in range(seeds):
            compare_seed(mode, seed, found)
        assert 0 == found.honest.streams["violated"]
        assert seeds * KEPT <= 100 * found.honest.streams["kept"]
        assert 0 < found.every.streams["violated"]

    def test_barred(self) -> None:
        """Each rule that is listed is a rule of some contract."""
        assert BARRED.keys() <= {ruled for mode in Mode for ruled in rules_of(mode)}
