"""The monitor and the naive projection agree, line by line, on streams of a whole runtime."""

from __future__ import annotations

import pytest

from spec.claims import Mode
from tests.differential import BARRED, Tally, rules_of
from tests.differential_run import KEPT, MODES, Found, compare_seed

SEEDS = 100
"""Of each mode, of some twice or more; each is a stream of an honest runtime, and one of any."""

LEAST = 1
"""How often each rule is taken at least; `make differential` asks for a hundred times."""


@pytest.fixture(scope="module")
def every() -> Tally:
    """All streams of the module."""
    return Tally()


class TestWide:
    @pytest.mark.parametrize("mode", Mode)
    def test_equal(self, mode: Mode, every: Tally) -> None:
        """After each line both hold the same verdict of each obligation of each claim. An honest
        runtime is accused by neither, and many of its streams are kept."""
        found = Found(Tally(), Tally())
        seeds = SEEDS * MODES.count(mode)
        for seed in range(seeds):
            compare_seed(mode, seed, found)
        assert 0 == found.honest.streams["violated"]
        assert seeds * KEPT <= 100 * found.honest.streams["kept"]
        assert 0 < found.every.streams["violated"]
        every.add(found.every)
        every.add(found.honest)

    def test_rules(self, every: Tally) -> None:
        """Every rule is taken, but for those that are listed, each with the reason."""
        if every.streams.total() < 2 * SEEDS * len(MODES):
            pytest.skip("not all streams of this module were compared in this run")
        seldom = {ruled for ruled, count in every.taken().items() if count < LEAST}
        assert set() == seldom - BARRED.keys()

    def test_barred(self) -> None:
        """Each rule that is listed is a rule of some contract."""
        assert BARRED.keys() <= {ruled for mode in Mode for ruled in rules_of(mode)}
