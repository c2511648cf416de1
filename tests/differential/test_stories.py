"""The monitor and the naive projection agree, line by line, on streams that tell stories."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from monitor.stream.keep import Keep
from spec.claims.claim import Mode
from tests.differential.compare import Tally, asking, compare, lines
from tests.streams.strategies import Stamped, streams

STREAMS = 40
"""Of each mode; `make differential` runs more."""

MODES = [
    mode if mode is Mode.OFFLOADABLE else pytest.param(mode, marks=pytest.mark.slow)
    for mode in Mode
]
"""Each mode; with the fast tests the one that has most kinds of events."""


class TestDifferential:
    @pytest.mark.parametrize("mode", MODES)
    def test_equal(self, mode: Mode) -> None:
        """After each line both hold the same verdict of each obligation of each claim."""
        tally = Tally()

        @settings(
            max_examples=STREAMS,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(streams())
        def agree(stream: list[Stamped]) -> None:
            compare(lines(asking(stream, mode)), mode, tally)

        agree()
        assert STREAMS <= tally.streams.total()
        assert min(tally.streams[verdict] for verdict in ("kept", "violated", "inconclusive")) > 0

    @pytest.mark.slow
    @pytest.mark.parametrize("mode", [Mode.HARD_PROTECTED, Mode.OFFLOADABLE])
    def test_forgetting(self, mode: Mode) -> None:
        """A monitor that forgets what ended is equal or inconclusive, and never says otherwise."""

        @settings(
            max_examples=20,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(streams())
        def agree(stream: list[Stamped]) -> None:
            compare(lines(asking(stream, mode)), mode, keep=Keep(ended=0))

        agree()
