"""Tests of monitor.results."""

from __future__ import annotations

from monitor.results import USUAL, limits_reached
from spec.stream.codes import Code, Reason


def test_limits_reached() -> None:
    """The code of a break says which limit was reached, whatever its words are."""
    breaks = [
        Reason(Code.CLAIMS_LIMIT, "requests"),
        Reason(Code.REQUESTS_LIMIT, "claims"),
        Reason(Code.NEW_RUN, "more than 3 requests"),
    ]
    assert {"live": "requests", "requests": "claims"} == limits_reached(breaks, 0, USUAL)
