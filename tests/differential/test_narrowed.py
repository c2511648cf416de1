"""A stream that observes less from some line on: what was found before that stays found."""

from __future__ import annotations

import pytest

from spec.claims.claim import Mode
from spec.events.alphabet import FACTS, Kind
from spec.events.canonical import Event, Mark
from spec.projection.lines import Line
from tests.differential.compare import compare
from tests.spec.projection.stories import arrives, begun, finishes, lines, refused

MODE = Mode.HARD_PROTECTED
A, C = begun("a", MODE), begun("c", MODE, block=30)
NAMED = [arrives("s", 8), refused("s", "c"), finishes("s")]
"""A request that does not fit is refused in the name of a claim that is not there yet."""


def narrowed(before: list[Event], after: list[Event]) -> list[Line]:
    """From the second events on evictions are not observed."""
    opened = Line(0, mark=Mark.STREAM_OPENED, observes=FACTS - {Kind.BLOCK_EVICTED})
    every = [*lines(*before), opened, *lines(*after)]
    return [line._replace(at=at, sequence=None) for at, line in enumerate(every, 1)]


class TestNarrowed:
    @pytest.mark.parametrize(
        ("before", "after", "verdict"),
        [([*A, *NAMED], C, "violated"), (A, [*NAMED, *C], "inconclusive")],
    )
    def test_named(self, before: list[Event], after: list[Event], verdict: str) -> None:
        """An action that names a claim before that is there is judged by what was observed then."""
        assert verdict == compare(narrowed(before, after), MODE)
