"""A monitor that is restored goes on as if it had never stopped, wherever its stream is cut."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monitor.durable.reader import read
from monitor.durable.state import STATE
from monitor.durable.writer import written
from monitor.engine import Monitor
from monitor.stream.keep import Keep
from spec.claims.claim import Mode
from spec.projection.lines import Line
from tests.differential.compare import record
from tests.monitor.whole_state import whole_state
from tests.streams.chains import CHAINS
from tests.streams.edited import edited
from tests.streams.stories import CLAIMS
from tests.streams.wide import told

SETTINGS: Final = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
KEEPS: Final = (None, Keep(ended=0, records=2), Keep(ended=1, records=1), Keep(ended=2))


def chained(chance: Random) -> list[Line]:
    """One of the chains of stories, about one claim or two."""
    chain, claims = chance.choice(CHAINS), chance.sample(CLAIMS, chance.randint(1, 2))
    events = [event for claim in claims for story in chain for event in story(claim, "request:1")]
    return [Line(at, (each,), at - 1, each.time_ns) for at, each in enumerate(events, 1)]


@st.composite
def streams(draw: st.DrawFn, mode: Mode) -> list[Line]:
    """A stream of any kind: chained, edited, of an honest runtime, of any."""
    chance = draw(st.randoms(use_true_random=False))
    return draw(
        st.sampled_from(
            (
                lambda: chained(chance),
                lambda: edited(chance, mode),
                lambda: told(chance, mode),
                lambda: told(chance, mode, 0),
            )
        )
    )()


def restored(monitor: Monitor) -> Monitor:
    """The monitor, written and read back."""
    found: Monitor = read(STATE, written(STATE, monitor), Monitor)
    return found


def standing(monitor: Monitor) -> list[Any]:
    """Each claim's verdict, with the findings and their explanations."""
    return [(each.claim.claim_id, each.verdict, each.findings) for each in monitor.standing()]


def feed(monitor: Monitor, lines: Iterable[Line]) -> None:
    for line in lines:
        monitor.take(record(line))


@pytest.mark.slow
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("mode", Mode)
def test_goes_on(mode: Mode, own: bool) -> None:
    """After the cut, and after each event from there on, the whole state is equal to that of a
    monitor that was not stopped, and so are verdicts and explanations."""

    @SETTINGS
    @given(st.data())
    def compare(data: st.DataObject) -> None:
        lines = data.draw(streams(mode))
        cut = data.draw(st.integers(0, len(lines)))
        whole = Monitor(mode, keep=data.draw(st.sampled_from(KEEPS)), own=own)
        feed(whole, lines[:cut])
        before = whole_state(whole)
        parted = restored(whole)
        assert before == whole_state(whole)
        assert before == whole_state(parted)
        for line in lines[cut:]:
            feed(whole, [line])
            feed(parted, [line])
            assert standing(whole) == standing(parted)
        assert whole_state(whole) == whole_state(parted)
        expected, found = whole.conclude(), parted.conclude()
        assert (expected.verdict, expected.why) == (found.verdict, found.why)
        assert expected.obligations == found.obligations
        assert standing(whole) == standing(parted)

    compare()


@pytest.mark.parametrize("mode", Mode)
def test_at_each_event(mode: Mode) -> None:
    """Stopped and restored between any two events, it comes to the same."""
    chance = Random(mode)
    for lines in (told(chance, mode), edited(chance, mode)):
        parted = Monitor(mode, keep=Keep(ended=1, records=1))
        whole = Monitor(mode, keep=Keep(ended=1, records=1))
        for line in lines:
            feed(whole, [line])
            parted = restored(parted)
            feed(parted, [line])
        assert whole_state(whole) == whole_state(parted)
        assert standing(whole) == standing(parted)
