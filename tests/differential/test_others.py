"""Claims of other modes beside those that are judged: no honest runtime is accused for them."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from monitor.stream.keep import Keep
from spec.claims.claim import Mode
from tests.differential.compare import compare
from tests.projection_cases.others import beside_others, honest_beside_others
from tests.streams.mixed import mixed

SEEDS = 12


class TestOthers:
    @pytest.mark.slow
    @pytest.mark.parametrize("mode", Mode)
    def test_kept(self, mode: Mode) -> None:
        """Whatever became of a claim of another mode, one to which all was done that was owed is
        kept: also where its object, or blocks, were those of a claim that ended, of which nothing
        was said since."""
        for _, lines in honest_beside_others(mode):
            assert "kept" == compare(lines, mode)

    @pytest.mark.slow
    @pytest.mark.parametrize("mode", Mode)
    def test_forgetful(self, mode: Mode) -> None:
        """A monitor that forgets what ended says the same of some written cases, or less."""
        for _, lines in Random(0).sample([*beside_others(mode)], 60):
            compare(lines, mode, keep=Keep(ended=0))

    @pytest.mark.slow
    @pytest.mark.parametrize("mode", Mode)
    def test_mixed(self, mode: Mode) -> None:
        """Whichever mode judges a pool of claims of several modes, an honest runtime is accused of
        nothing, and is often kept."""
        found = Counter(
            compare(mixed(Random(seed), of, 0), mode)
            for of in (mode, Mode.OFFLOADABLE, Mode.SOFT_PRIORITY)
            for seed in range(SEEDS)
        )
        assert 0 == found["violated"]
        assert SEEDS // 2 < found["kept"]
