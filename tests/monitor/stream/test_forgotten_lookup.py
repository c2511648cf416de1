"""Look-ups of claims of which blocks were forgotten: what they contradict, nobody remembers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from monitor.stream.keep import Keep
from spec.claims.claim import Mode
from spec.events.alphabet import Kind
from tests.differential.compare import compare
from tests.spec.projection.stories import begun, cached, ended, event, keyed, lines

if TYPE_CHECKING:
    from spec.events.canonical import Event

FILLED = begun("b", Mode.DEMOTABLE)
DEMOTED = [event(kind, "b", by="runtime") for kind in (Kind.CLAIM_RETIRED, Kind.CLAIM_DEMOTED)]
SHARES = keyed(begun("b", Mode.OFFLOADABLE), ("s", "y"))[:3]
FORGOTTEN = keyed(begun("a", Mode.OFFLOADABLE), ("s", "x"))[:3]


@pytest.mark.parametrize(
    ("mode", "told"),
    [
        (Mode.DEMOTABLE, [*FILLED, *DEMOTED, event(Kind.CLAIM_COMMITTED, "b", footprint=2)]),
        (Mode.OFFLOADABLE, [*SHARES, *FORGOTTEN, *ended("a"), cached("a", 20, 21)]),
    ],
    ids=["its own", "such as it shares"],
)
def test_found_fewer(mode: Mode, told: list[Event]) -> None:
    """Where a look-up finds less than a claim may hold, a monitor that forgot blocks is not surer
    of it than the naive projection, which forgets nothing.
    """
    looked = event(Kind.PREFIX_LOOKUP, "b", request_id="r", held=0, asked=2)
    compare(lines(*told, looked), mode, keep=Keep(ended=0))


def test_after_a_gap() -> None:
    """After a gap a monitor that forgot a claim does not know what it holds, whatever others on
    its object hold.
    """
    claims = [begun(name, Mode.EXPIRING, size=1, object_id="o")[0] for name in ("a", "b")]
    turned_away = event(Kind.CLAIM_REJECTED, "a")
    rest = [
        claims[1],
        event(Kind.CLAIM_COMMITTED, "b", footprint=2),
        cached("b", 20),
        event(Kind.REQUEST_ARRIVED, request_id="r", needed=1, usable=8),
        event(Kind.PREFIX_LOOKUP, "a", request_id="r", asked=2),
    ]
    stream = lines(claims[0], turned_away, *rest)
    gap = [line._replace(sequence=n + (n > 2)) for n, line in enumerate(stream, start=1)]
    compare(gap, Mode.EXPIRING, keep=Keep(ended=0))
